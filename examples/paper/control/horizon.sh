#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Long horizons: how long are gradients, do they have the sign of the trend of the loss, and do descents along them
# succeed? For cartpoles with one and three links and for a block pushed by a soft contact, over the number of steps.
#
#     examples/paper/control/horizon.sh                   # into results/horizon: a minute or two
#     examples/paper/control/horizon.sh results/other
#
# Prints, for each scene and horizon: the median length of the gradient (in [-1, 1]) on a random line through the middle
# of the box; the share of its points where the slope has another sign than the difference of the losses of two
# neighbours, 1/100 of the line apart; how many of five searches by L-BFGS-B from random starts, 100 episodes each, end
# below a tenth of the loss of the suggested start.
. "$(dirname "$0")/../dshost.sh"
out=${1-results/horizon}
number() { tr ',{' '\n\n' | sed -n "s/.*\"$1\": *\([^ }]*\).*/\1/p"; }

printf '%-10s %6s %12s %12s %8s\n' scene steps gradient 'wrong sign' success
for scene in cartpole1 cartpole3 pusher; do
	case $scene in
	cartpole1) set -- --env cartpole --set env.links=1 ;;
	cartpole3) set -- --env cartpole --set env.links=3 ;;
	pusher) set -- --env push_far --set env.softness=softplus ;;
	esac
	for steps in 25 50 100 200 400; do
		dir=$out/$scene-$steps
		mkdir -p "$dir" || exit 1
		[ -s "$dir/line.json" ] ||
			"$dshost" landscape "$@" --set env.steps=$steps --axes random --center center --grid 101 --samples 10 --jumps 0 \
				--pictures no --json --out "$dir/line" >"$dir/line.json" 2>/dev/null || exit 1
		[ -d "$dir/runs" ] || "$dshost" "$@" --set env.steps=$steps --opt lbfgsb --runs 5 --seed 1000 --budget 100 --pictures no \
			--out "$dir/runs" >/dev/null 2>&1 || exit 1
		start=$("$dshost" eval "$@" --set env.steps=$steps --json | number loss | head -1)
		good=0
		for run in "$dir"/runs/seed-*; do
			best=$(number best_loss <"$run/summary.json" | head -1)
			good=$((good + $(awk -v a="$best" -v b="$start" 'BEGIN { print a < 0.1 * b }')))
		done
		length=$(tr '\n' ' ' <"$dir/line.json" | sed 's/.*"norm": {[^}]*"median": \([^,]*\),.*/\1/')
		wrong=$(tr '\n' ' ' <"$dir/line.json" | sed 's/.*"trend": {[^}]*"wrong_sign_share": \([^,]*\),.*/\1/')
		printf '%-10s %6d %12.3g %12.3g %6d/5\n' $scene $steps "$length" "$wrong" $good
	done
done
