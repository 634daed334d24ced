#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Optimizers of stepwise control: the unit and the zero of the loss change no action, and a start is evaluated first
# (tests/optimizers/test_invariance.c has all others).
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
faulty_rl=$DS_TOP_BUILD/tests/plugins/.libs/faulty_rl.so

# learn NAME UNIT OFFSET OPT SETTINGS: the points of the run, in NAME.
learn() {
	name=$1 unit=$2 offset=$3 opt=$4
	shift 4
	"$dshost" run --env "$faulty_rl" --set env.unit="$unit" --set env.offset="$offset" --opt "$opt" "$@" --seed 3 --budget 40 \
		--pictures no --out "$name.run" >"$name.out" 2>&1 || cat "$name.out"
	"$dshost" export "$name.run" --format csv --out "$name.csv" >/dev/null 2>&1
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^x[0-9]+$/) at[++n] = i; next }
		{ for (i = 1; i <= n; i++) printf "%s ", $at[i]; print "" }' "$name.csv" >"$name"
	[ -s "$name" ]
}

# near A B: the same points to 1e-3.
near() {
	paste -d ' ' "$1" "$2" | awk '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d > 1e-3 || d < -1e-3) exit 1 } }'
}

for case in "apg --set opt.envs=4" "apg --set opt.envs=4 --set opt.window=5" "ppo --set opt.episodes=8" \
	"ppo --set opt.episodes=8 --set opt.normalise_reward=true" "ppo --set opt.n_steps=5 --set opt.envs=4" \
	"sac --set opt.hidden=16 --set opt.batch=32" "shac --set opt.envs=4 --set opt.window=5"; do
	# shellcheck disable=SC2086
	set -- $case
	rm -rf ./*.run one two three four
	learn one 1 0 "$@" && learn two 1099511627776 0 "$@" && cmp -s one two && rm -rf two.run &&
		learn two 9.094947017729282379e-13 0 "$@" && cmp -s one two
	result $? "$case: in units of 2^40 and 2^-40 the same actions, bit for bit"
	learn three 1e-12 0 "$@" && near one three && learn four 1e12 3e12 "$@" && near one four
	result $? "$case: in units of 1e-12 and 1e12, with an offset, the same actions"
done

# ilqr has no unit of the loss in its parameters: weights of the cost 2^12 times as large, the same controls.
hand() {
	name=$1
	shift
	rm -rf "$name.run"
	"$dshost" run --env planar_hand --set env.steps=8 "$@" --opt ilqr --seed 3 --budget 40 --pictures no --out "$name.run" >"$name.out" 2>&1 &&
		"$dshost" export "$name.run" --format csv --out "$name.csv" >/dev/null 2>&1
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^(left|right)/) at[++n] = i; next }
		{ for (i = 1; i <= n; i++) printf "%s ", $at[i]; print "" }' "$name.csv" >"$name"
	[ -s "$name" ]
}
hand one --set env.q=1,1,0.125,0,0,0,0 --set env.qd=128,128,16,0,0,0,0 --set env.r=0.125,0.125,0.125,0.125 &&
	hand two --set env.q=4096,4096,512,0,0,0,0 --set env.qd=524288,524288,65536,0,0,0,0 \
		--set env.r=512,512,512,512 &&
	cmp -s one two
result $? "ilqr: in units of 2^12 the same controls, bit for bit"
hand one --set opt.x0=0.0625 && head -1 one | grep -q '^0.0625 0.0625 '
result $? "ilqr: a start is evaluated first"
# Steps that are linear, a quadratic cost: the first law is the optimum.
for feedback in true false; do
	rm -rf linear one.run
	"$dshost" run --env push --set env.k=0 --set env.steps=60 --set env.limit=1000 --opt ilqr --set opt.feedback=$feedback \
		--budget 2 --pictures no --out linear >/dev/null 2>&1 &&
		"$dshost" run --env push --set env.k=0 --set env.steps=60 --set env.limit=1000 --opt lbfgsb --set opt.use_x0=true \
			--budget 400 --pictures no --out one.run >/dev/null 2>&1
	awk -F'[:,]' '/"best_loss"/ { loss[FILENAME] = $2 }
		END { exit !(loss["linear/summary.json"] <= loss["one.run/summary.json"] * (1 + 1e-9)) }' \
		linear/summary.json one.run/summary.json
	result $? "ilqr, feedback $feedback: a linear task in one iteration, as good as 400 evaluations of lbfgsb"
done
# At the minimum a search makes no more trials: after the five evaluations of the first one comes a random start.
rm -rf wall
"$dshost" run --env spring_wall --opt ilqr --budget 10 --pictures no --out wall >out 2>err &&
	"$dshost" export wall --format csv --no-times --out wall.csv >/dev/null 2>err &&
	[ "$(awk -F, 'NR > 1 { print $2 }' wall.csv | sort -u | wc -l)" -ge 5 ]
result $? "ilqr: where the model predicts no decrease a search ends"
# A step that failed isn't tried again with a larger mu that doesn't change it.
rm -rf friction
"$dshost" run --env friction --opt ilqr --budget 100 --pictures no --out friction >out 2>err &&
	"$dshost" export friction --format csv --no-times --out friction.csv >/dev/null 2>err &&
	[ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) tag = $i == "tag" ? i : tag } NR > 1 && $tag == "model"' friction.csv | wc -l)" -ge 12 ]
result $? "ilqr: few trials fail"
# no gradient; no controls
"$dshost" run --env cartpole_gym --opt ilqr --budget 9 --pictures no --out none >out 2>err
[ $? -ne 0 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'ilqr' err
result $? "ilqr: an environment without gradients is refused in one line"
"$dshost" run --env push --fix u.0=0 --opt ilqr --budget 9 --pictures no --out fixed >out 2>err
[ $? -ne 0 ] && grep -q 'fix none' err
result $? "ilqr: fixed controls are refused"

for opt in apg ppo sac shac; do
	rm -rf ./*.run one
	learn one 1 0 $opt --set opt.x0=0.12345678901234566 && head -1 one | grep -q '^0.12345678901234566 0.12345678901234566 '
	result $? "$opt: a start is evaluated first"
done
finish
