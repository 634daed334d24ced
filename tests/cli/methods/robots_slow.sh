#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# robots_slow.sh - racer with 500 episodes: the hopper hops 2 m in 4 s and stays upright, the quadruped walks 0.8 m without
# sliding; what the episodes show, not the loss alone.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

# walk TASK: the frames of the best episode, walk.csv
walk() {
    "$dshost" run --env robot --set "env.task=$DS_TOP_SRC/examples/robots/$1.ini" --opt racer --budget 500 --pictures false \
        --jobs 1 --out "$1" > out 2>&1 &&
        "$dshost" eval --env robot --set "env.task=$DS_TOP_SRC/examples/robots/$1.ini" --x "$1" --trajectory walk.csv > out 2>&1
}

walk hopper
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
    { force = $at["metrics/contact_force"]; flights += force == 0 && before > 0; before = force
      x = $at["b3_foot.x"]; if (NR == 2) first = x; if ($at["b0_torso.y"] < 0.8) low = 1 }
    END { printf "# %d flights, the foot moves %.2f m\n", flights, x - first
          exit !(flights >= 3 && x - first > 1.8 && x - first < 2.3 && !low) }' walk.csv
result $? "the hopper leaves the ground and comes 2 m far without a fall"

walk quadruped
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
    { split("b4_fl b8_fr b12_rl b16_rr", foot, " ")
      for (k = 1; k <= 4; k++) {
          x = $at[foot[k] "_shank.x"]; y = $at[foot[k] "_shank.y"]
          lifts[k] += y > 0.01 && was[k] <= 0.01 && NR > 2
          if (NR > 2 && y < 0 && was[k] < 0) slid[k] += x > last[k] ? x - last[k] : last[k] - x
          if (NR == 2) first[k] = x
          was[k] = y; last[k] = x
      } }
    END { for (k = 1; k <= 4; k++) {
              printf "# foot %d: lifted %d times, slid %.2f of %.2f m\n", k, lifts[k], slid[k], last[k] - first[k]
              bad = bad || lifts[k] < 2 || slid[k] > 0.3 || last[k] - first[k] < 0.7
          }
          exit bad }' walk.csv
result $? "the quadruped lifts each foot and comes 1 m far"
finish
