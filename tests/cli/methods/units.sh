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

for opt in apg ppo sac shac; do
	rm -rf ./*.run one
	learn one 1 0 $opt --set opt.x0=0.12345678901234566 && head -1 one | grep -q '^0.12345678901234566 0.12345678901234566 '
	result $? "$opt: a start is evaluated first"
done
finish
