#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# identification.sh - parallel basin hopping finds the constants of a double pendulum from random starts, down to the noise of
# the recording, with the same record for 1, 2 and 8 jobs.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

run="$dshost run --env double_pendulum --set env.variant=synthetic --set env.wrap=false --opt pbh --set opt.workers=8"
run="$run --set opt.use_x0=false --set opt.cost_limit=0.005 --budget 6000 --pictures no"
for seed in 1 2 3; do
	# shellcheck disable=SC2086
	status 0 "eight workers from random starts, seed $seed" $run --seed $seed --jobs 1 --out seed$seed
	# 400 squares of an error of 0.0024 rad
	awk -v loss="$(field seed$seed/summary.json best_loss)" 'BEGIN { rmse = sqrt(loss / 400); exit !(rmse > 0.0021 && rmse < 0.0027) }'
	result $? "what remains is the noise of the recording"
done
for jobs in 2 8; do
	# shellcheck disable=SC2086
	status 0 "with $jobs jobs" $run --seed 1 --jobs $jobs --out jobs$jobs
	same "the same record" seed1 jobs$jobs
done
finish
