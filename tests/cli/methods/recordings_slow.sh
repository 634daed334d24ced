#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recordings_slow.sh - the recipe of docs/experiments/recorded-motion.md finds the constants of every real recording at 100, 200 and 400 samples.
. "$(dirname "$0")/../lib.sh"
recordings=$DS_SHARED/data/double-pendulum
if [ ! -d "$recordings" ]; then
    echo "1..0 # SKIP recordings of the double pendulum are missing"
    exit 0
fi
cd "$tmp" || exit 99

# Root mean square errors of the fits in docs/experiments/recorded-motion.md, rad, at 100, 200 and 400 samples.
while read -r r fit; do
    start=
    for stage in 100:400 200:200 400:200; do
        n=${stage%:*}
        "$dshost" run --env double_pendulum --opt lm --isolation none --pictures no --set env.variant=recording \
            --set env.file="$recordings/$r.csv.gz" --set env.wrap=false --set env.n_samples="$n" --budget "${stage#*:}" \
            --set "env.start=$start" --out "$r-$n" > out 2> err
        result $? "recording $r, $n samples: a run"
        start=$("$dshost" eval --x "$r-$n" --json | tr -d ' \n' | sed 's/.*"x":\[\([^]]*\)\].*/\1/')
        field "$r-$n/summary.json" best_loss |
            awk -v n="$n" -v most="${fit%% *}" '{ exit !(sqrt($1 / (2 * n)) < most + 6e-5) }'
        result $? "recording $r, $n samples: fits to ${fit%% *} rad"
        fit=${fit#* }
    done
done <<TXT
0 0.0023 0.0061 0.0084
1 0.0025 0.0108 0.0141
2 0.0014 0.0037 0.0084
3 0.0019 0.0025 0.0099
4 0.0014 0.0019 0.0030
5 0.0013 0.0031 0.0038
6 0.0015 0.0044 0.0045
7 0.0013 0.0039 0.0134
8 0.0018 0.0030 0.0086
9 0.0016 0.0022 0.0059
10 0.0017 0.0024 0.0074
11 0.0014 0.0034 0.0076
12 0.0012 0.0029 0.0106
13 0.0021 0.0093 0.0110
TXT
finish
