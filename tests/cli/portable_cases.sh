# SPDX-License-Identifier: Apache-2.0
# For portable.sh and portable_slow.sh: one small run for every environment and every optimizer of the tree, and
# records of all of them under some condition. Source it after lib.sh.

# ENVIRONMENT OPTIMIZER BUDGET SETTING...
portable_cases() {
	mpm="env.preset=small env.steps=4 env.segments=2"
	for env in torus rope rollingpin table pinch writer chopsticks; do
		echo "$env adam 3 $mpm env.precision=f32"
	done
	for env in assembly triplemove move fluid; do
		echo "$env lbfgsb 3 env.preset=small env.steps=4 env.segments=2 env.precision=f64"
	done
	echo "torus cmaes 6 $mpm env.precision=f64"
	echo "swing randdescents 6 env.cells=6 env.duration=0.2"
	echo "flip leaprefine 3 env.duration=0.1"
	echo "realtosim lbfgsb 4"
	echo "bounce boleap 60"
	echo "smoke lbfgsb 6 env.size=32 env.steps=20"
	echo "beam lbfgsb 3 env.duration=0.1 env.image_size=32 env.obs=over"
	echo "gear adam 3 env.duration=0.05"
	echo "cloth_throw lbfgsb 3 env.duration=0.1 env.image_size=32 env.target=-4"
	echo "pinball turbo 60"
	echo "analytic bo 60 env.function=ackley env.dim=6"
	echo "analytic cmaes 400 env.function=bbob_f21 env.dim=10"
	echo "analytic pbh 60 env.function=rosenbrock env.dim=5"
	echo "analytic lm 40 env.function=rosenbrock env.dim=5"
	echo "analytic alphaorder 60"
	echo "analytic cem 240 opt.samples=40"
	echo "analytic mppi 100"
	echo "planar_hand ilqr 12 env.contact=smooth"
	echo "analytic racer 200 env.function=rugged env.dim=5"
	echo "analytic rand 40 env.function=bbob_f15"
	echo "cartpole_gym nlopt 20"
	echo "cartpole ppo 12 opt.hidden=32"
	echo "pendulum sac 8 opt.learning_starts=300 opt.hidden=32 opt.batch=32"
	echo "pendulum boleap 20"
	echo "pivot lbfgsb 6"
	echo "push adam 6 env.softness=softplus"
	echo "tennis lbfgsb 4"
}

# records NAME: all cases, by the words in $runner, with those in $flags; their records in $tmp/NAME.
records() {
	to=$tmp/$1
	shift
	mkdir -p "$to"
	portable_cases | while read -r env opt budget settings; do
		[ "$opt" = nlopt ] && [ ! -e "$DS_TOP_BUILD/plugins/optimizers/nlopt.so" ] && continue
		out=$to/$env-$opt-$budget
		sets=
		for s in $settings; do
			sets="$sets --set $s"
		done
		# shellcheck disable=SC2086 # words
		${runner:-} "$dshost" --env "$env" --opt "$opt" --budget "$budget" $sets --pictures false \
			${flags:-} --out "$out.run" > /dev/null 2> "$out.err" </dev/null || tail -n 2 "$out.err" | sed "s/^/# $env $opt: /"
		table "$out.run" > "$out" 2> /dev/null || echo "no record" > "$out"
		rm -rf "$out.run" "$out.err"
	done
}
