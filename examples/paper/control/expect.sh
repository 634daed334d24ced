#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A cartpole whose length and start are uncertain: open-loop controls that are optimal for the nominal cartpole, against
# controls for the expected loss over 8 draws, at equal numbers of episodes. Both are judged on 256 other draws.
#
#     examples/paper/control/expect.sh                    # into results/expect: two minutes
#     examples/paper/control/expect.sh results/other
. "$(dirname "$0")/../dshost.sh"
out=${1-results/expect}
over='length*=uniform(0.8,1.2), start_theta[0]+=normal(0,0.1)'
number() { tr ',{' '\n\n' | sed -n "s/.*\"$1\": *\([^ }]*\).*/\1/p"; }

mkdir -p "$out" || exit 1
printf '%-8s %4s %14s %20s\n' minimised seed 'loss found' 'on 256 new draws'
for seed in 1000 1001 1002 1003 1004; do
	for which in nominal expected; do
		dir=$out/$which-$seed
		set -- --env cartpole
		[ $which = nominal ] || set -- "$@" --set env.expect=8 --set "env.expect_over=$over"
		[ -d "$dir" ] || "$dshost" "$@" --opt racer --budget 1000 --seed $seed --pictures no --out "$dir" >/dev/null 2>&1 || exit 1
		found=$(number best_loss <"$dir/summary.json" | head -1)
		new=$("$dshost" eval --env cartpole --x "$dir" --set env.expect=256 --set env.expect_seed=1 \
			--set "env.expect_over=$over" --json 2>/dev/null | number loss | head -1)
		printf '%-8s %4d %14.3g %20.3g\n' $which $seed "$found" "$new"
	done
done
