#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# identification.sh - parallel basin hopping finds the constants of a double pendulum from random starts, down to the noise of
# the recording, with the same record for 1, 2 and 8 jobs. lm finds masses, damping and dry friction of an arm from positions of
# its joints that its own task recorded.
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

# arm LOSS: a task that known torques drive
arm() {
	cat <<-END
		[task]
		model = $(realpath "$DS_TOP_SRC/examples/robots/arm.urdf")
		duration = 1
		step = 0.005
		control_step = 0.05
		[start]
		joint2 = 0.4
		joint4 = -0.8
		[controls]
		joint1 = -20 20
		joint2 = -20 20
		joint4 = -10 10
		file = torques.csv
		[variables]
		mass.link3 = 0.5 2 log
		mass.link5 = 0.5 2 log
		damping.joint2 = 0.1 5 log
		friction.joint4 = 0.01 1 log
		[loss.a]
		$1
	END
}
awk 'BEGIN { for (k = 0; k <= 20; k++)
	printf "%g,%g,%g,%g\n", 0.05 * k, 1.6 * sin(0.9 * k), 2.4 * cos(0.5 * k), 1.2 * sin(0.6 * k + 1) }' > torques.csv
arm "what = joint
of = joint1" > truth.ini
"$dshost" eval --env robot --set env.task=truth.ini --x 0.12,-0.1,-0.3,-0.9 --channels --json > out.json
sed 's/.*"shape": \[21, 14\][^[]*\[//; s/\].*//' out.json | tr ',' '\n' | awk '{ v[NR - 1] = $1 }
	END { for (k = 0; k <= 20; k++) { row = 0.05 * k; for (j = 0; j < 7; j++) row = row "," v[14 * k + j]; print row } }' > joints.csv
arm "what = recording
file = joints.csv
joints = joint1 joint2 joint3 joint4 joint5 joint6 joint7" > fit.ini
status 0 "lm fits an arm to positions of its joints" "$dshost" run --env robot --set env.task=fit.ini --opt lm --seed 1 \
	--budget 60 --pictures no --jobs 1 --out arm
sed -n '/best_x/,/\]/p' arm/summary.json | tr -d ' ,' | awk 'BEGIN { split("0.12 -0.1 -0.3 -0.9", truth) }
	/^-?[0-9]/ { bad += ($1 - truth[++n])^2 > 1e-12 } END { exit !(n == 4 && !bad) }'
result $? "and finds two masses, damping and dry friction"
finish
