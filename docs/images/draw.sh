#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# draw.sh - draws the pictures of the documentation anew: runs, episodes and landscapes as the pages name them, made small.
#
#     docs/images/draw.sh                           all; half an hour on two cores that also do other work
#     docs/images/draw.sh writer landscape/torus    these
#
# DSHOST  the program (./dshost)
# WORK    folder for runs and landscapes, which are kept: the same command again draws only (results/images)
#
# Needs ImageMagick (convert).
set -eu
images=$(cd "$(dirname "$0")" && pwd)
dshost=${DSHOST-$images/../../dshost}
export DSHOST="$dshost"
work=${WORK-results/images}
mkdir -p "$work"

# small FILE WIDTH COLOURS: into the folder of the pictures
small() {
	convert "$1" -filter Lanczos -resize "$2x" +dither -colors "$3" -strip -define png:compression-level=9 "PNG8:$images/$name.png"
}

# run FLAGS: once, in $work/$name
run() {
	[ -f "$work/$name/summary.json" ] || "$dshost" --portable --pictures false --out "$work/$name" "$@" > "$work/$name.txt" 2>&1
}

# episode FLAGS of eval
episode() {
	"$dshost" eval --portable --picture "$work/$name.png" "$@" > "$work/$name.txt"
	small "$work/$name.png" 1100 128
}

# Of plasticine, the best episode of a search on the small preset, drawn with all particles.
task() {
	run --env "$name" --set env.preset=small --set env.steps=50 --set env.precision=f32 --opt bo --budget 200
	episode --env "$name" --set env.precision=f32 --x "$work/$name"
}

# camera FLAGS of a search: the last compared state as the camera sees it, at the start, in the best episode of the search,
# the target, and where the two differ
camera() {
	run "$@"
	mkdir -p "$work/$name.seen"
	for x in start best; do
		case $x in
		start) set -- --config "$work/$name/run.ini" --x start ;;
		best) set -- --x "$work/$name" ;;
		esac
		"$dshost" eval --portable "$@" --set env.image_size=200 --images "$work/$name.seen" > "$work/$name.txt" 2>&1
		convert "$work/$name.seen/pictures.png" -gravity East -crop 200x0+0+0 +repage -background black -alpha remove "$work/$name.seen/$x.png"
	done
	convert "$work/$name.seen/target.png" -gravity East -crop 200x0+0+0 +repage -background black -alpha remove "$work/$name.seen/goal.png"
	convert "$work/$name.seen/best.png" "$work/$name.seen/goal.png" -compose difference -composite "$work/$name.seen/off.png"
	convert "$work/$name.seen/start.png" "$work/$name.seen/best.png" "$work/$name.seen/goal.png" "$work/$name.seen/off.png" \
		-bordercolor '#808080' -border 2 +append "$work/$name.png"
	small "$work/$name.png" 816 64
}

# slice WIDTH FLAGS of landscape
slice() {
	width=$1
	shift
	[ -f "$work/$name/landscape.png" ] ||
		"$dshost" landscape --portable --out "$work/$name" "$@" > "$work/$name.txt" 2>&1
	"$dshost" landscape "$work/$name" > "$work/$name.txt"
	small "$work/$name/landscape.png" "$width" 256
}

# line FLAGS -- SETTING...: a landscape of one axis for each of the settings (their parts joined by +), without words, two in
# a row.
line() {
	flags=
	while [ "$1" != -- ]; do
		flags="$flags $1"
		shift
	done
	shift
	parts=
	for setting; do
		part=$work/$name.$setting
		# shellcheck disable=SC2046,SC2086
		[ -f "$part/landscape.png" ] ||
			"$dshost" landscape --portable --out "$part" $flags $(echo "+$setting" | sed 's/+/ --set env./g') > "$work/$name.txt" 2>&1
		parts="$parts $part/landscape.png"
	done
	# shellcheck disable=SC2086
	tiles $parts
}

# curves FILE.ini FLAGS -- ENV...: an experiment of examples/paper, the FLAGS are those of bench, and the best loss so far on each
# of its environments, two in a row; $pool is for plot
curves() {
	ini=$images/../../examples/paper/$1
	shift
	flags=
	while [ "$1" != -- ]; do
		flags="$flags $1"
		shift
	done
	shift
	set -f # flags have patterns
	# shellcheck disable=SC2086
	"$dshost" bench "$ini" --out "$work/$name" $flags > "$work/$name.txt" 2>&1
	set +f
	for env; do
		# shellcheck disable=SC2086
		"$dshost" plot "$work/$name" ${pool-} --kind curves --env "$env" --width 110mm --height 75mm --no-title \
			--out "$work/$name.$env.png" > /dev/null
		set -- "$@" "$work/$name.$env.png"
		shift
	done
	montage "$@" -tile 2x -geometry +4+4 "$work/$name.png"
	small "$work/$name.png" 886 64
}

# tiles PICTURE...: of landscapes, without words, two in a row
tiles() {
	convert "$@" -crop 870x748+20+100 +repage "$work/$name.part%02d.png"
	montage "$work/$name".part*.png -tile 2x -geometry 435x374+4+4 "$work/$name.png"
	rm "$work/$name".part*.png
	small "$work/$name.png" 886 64
}

# from AZIMUTH,ELEVATION: the best episode of a run, seen from there
from() {
	"$dshost" picture --best --camera "$1" "$work/$name" > "$work/$name.txt"
	small "$work/$name/best.png" 1100 128
}

plane() { # plane I,J: of a plasticine task
	slice 720 --env "${name#landscape/}" --set env.preset=small --axes "$1" --grid 31x31 --samples 40 --jumps 20
}

draw() {
	case $name in
	cartpole3)
		run --env cartpole --set env.links=3 --opt leaprefine --budget 1000
		episode --x "$work/$name"
		;;
	pinball16)
		run --env pinball --set env.variant=pinball16 --opt cmaes --budget 1000
		episode --x "$work/$name"
		;;
	bounce)
		run --env bounce --opt lbfgsb --budget 300
		episode --x "$work/$name"
		;;
	assembly | chopsticks | move | pinch | rollingpin | rope | table | triplemove | writer) task ;;
	torus-best)
		[ -f "$work/$name/best.png" ] ||
			"$dshost" --env torus --opt boleap --budget 20 --jobs 2 --out "$work/$name" > "$work/$name.txt" 2>&1
		"$dshost" picture --best "$work/$name" > "$work/$name.txt"
		small "$work/$name/best.png" 1100 128
		;;
	press)
		run --env particles --set env.scene="$images/../../examples/scenes/press.ini" --opt racer --budget 100
		from 30,8
		;;
	letter)
		run --env particles --set env.scene="$images/../../examples/scenes/letter.ini" --opt racer --budget 50
		from -20,45
		;;
	fluid) episode --env fluid --x 0,-0.62,0.7,0,0,0,0,0.6,0,0.6 ;;
	drape)
		run --env cloth --set "env.scene=$images/../../examples/scenes/drape.ini" --opt racer --budget 100
		episode --x "$work/$name"
		convert "$work/$name.png" -gravity North -chop 0x165 "$work/$name.cut.png" # the title is the path of the file
		small "$work/$name.cut.png" 1100 128
		;;
	flip)
		run --env flip --opt leaprefine --budget 1000
		episode --x "$work/$name"
		;;
	seen/rigid_mass) camera --env rigid_mass --set env.obs=over --opt leaprefine --budget 100 ;;
	seen/rigid_contact) camera --env rigid_contact --set env.obs=over --opt leaprefine --budget 300 ;;
	seen/beam) camera --env beam --set env.obs=over --opt leaprefine --budget 40 ;;
	seen/soft_ball) camera --env soft_ball --set env.obs=over --opt leaprefine --budget 40 ;;
	seen/cloth_velocity) camera --env cloth_velocity --set env.obs=over --opt lm --budget 12 ;;
	seen/cloth_throw) camera --env cloth_throw --opt leaprefine --budget 60 ;;
	seen/walker) camera --env walker --opt leaprefine --budget 60 ;;
	seen/gear) camera --env gear --set env.observe=image --opt leaprefine --budget 60 ;;
	jellyfish)
		run --env jellyfish --opt lm --budget 20
		episode --x "$work/$name"
		;;
	seen/pendulum_id) camera --env pendulum_id --set env.obs=over --opt leaprefine --budget 300 ;;
	seen/double_pendulum) camera --env double_pendulum --set env.obs=over --opt leaprefine --budget 300 ;;
	seen/ball2d) camera --env ball2d --set env.obs=over --opt leaprefine --budget 300 ;;
	seen/torus) camera --env torus --set env.loss=image --set env.precision=f32 --set env.preset=small --set env.steps=50 --opt leaprefine --budget 60 ;;
	seen/rope) camera --env rope --set env.loss=image --set env.precision=f32 --set env.preset=small --set env.steps=50 --opt leaprefine --budget 60 ;;
	landscape/cartpole3) slice 600 --env cartpole --set env.links=3 --axes random,random ;;
	landscape/pinball2) slice 600 --env pinball ;;
	landscape/pinball16)
		point=$name-point
		[ -f "$work/$point/summary.json" ] || "$dshost" --portable --pictures false --out "$work/$point" --env pinball \
			--set env.variant=pinball16 --opt rand --budget 400 --seed 39 > "$work/$point.txt" 2>&1
		slice 600 --env pinball --set env.variant=pinball16 --axes 13,14 --center "$work/$point"
		;;
	landscape/bounce) slice 600 --env bounce ;;
	landscape/gradsim-reinforce)
		"$images/../../examples/paper/gradsim/reinforce.sh" "$work/$name" --portable > "$work/$name.txt" 2>&1
		small "$work/$name/figure/landscape.png" 560 128
		;;
	landscape/gradsim-*)
		"$images/../../examples/paper/gradsim/landscapes.sh" "$work/gradsim" --portable > "$work/$name.txt" 2>&1
		small "$work/gradsim/${name#landscape/gradsim-}/landscape.png" 560 128
		;;
	landscape/bounce1) slice 560 --env bounce --axes 1 ;;
	landscape/assembly | landscape/pinch | landscape/triplemove) plane 0,1 ;;
	landscape/chopsticks) plane 1,6 ;;
	landscape/move) plane 0,3 ;;
	landscape/rollingpin | landscape/rope | landscape/table) plane 0,2 ;;
	landscape/writer) plane 1,4 ;;
	landscape/torus) slice 600 --env torus --set env.preset=small --grid 31x31 --samples 40 ;;
	landscape/fluid) slice 720 --env fluid --set env.preset=small --grid 21x21 --samples 20 --jumps 20 ;;
	landscape/swing) slice 600 --env swing --grid 21x21 --samples 20 --jumps 10 ;;
	landscape/swing-velocity)
		slice 600 --env swing --set env.variables=velocity --grid 41x41 --samples 40 --jumps 20
		;;
	landscape/flip)
		point=$name-point
		[ -f "$work/$point/summary.json" ] || "$dshost" --portable --pictures false --out "$work/$point" --env flip \
			--opt rand --budget 300 > "$work/$point.txt" 2>&1
		slice 600 --env flip --center "$work/$point" --grid 25x25 --samples 0 --jumps 0
		;;
	landscape/realtosim) slice 600 --env realtosim --grid 31x31 --samples 40 --jumps 20 ;;
	contact/pusher1d)
		line --env pusher1d --grid 401 -- softness=none softness=softplus softness=barrier softness=gaussian \
			contact_grad=distance contact_grad=distance+grad_softness=barrier
		;;
	contact/push_far)
		awk 'BEGIN { for (i = 0; i < 200; i++) printf "%s3", i ? "," : "" }' > "$work/forward.txt"
		line --env push_far --from center --to "$work/forward.txt" --range -0.5:1 --grid 301 --samples 100 -- softness=none \
			contact_loss=1 softness=softplus softness=barrier+width=0.01 softness=gaussian contact_grad=distance
		;;
	contact/pinball)
		echo "0,0.7" > "$work/through.txt"
		line --env pinball --set env.start=4,9.5 --set env.half_length=1.9 --axes 0 --center "$work/through.txt" --grid 401 \
			--samples 100 -- softness=none contact_loss=1 softness=softplus \
			softness=barrier+softness_width=0.01 softness=gaussian contact_grad=distance
		;;
	contact/flip)
		line --env flip --set env.duration=0.4 --axes pan.tilt.2 --center random:5 --grid 61 --samples 8 --jumps 4 -- softness=none contact_loss=1 softness=softplus \
			softness=barrier+width=2e-4 softness=gaussian contact_grad=distance
		;;
	landscape/ball_wall_soft)
		line --env ball_wall_soft --grid 401 -- variant=hard variant=hard+dome=true width=1e-10 width=0.1
		;;
	curves/descents) curves control/descents.ini -- tennis lqr roomba lp_norm ;;
	curves/lift) curves lift.ini -- cloth paper ;;
	curves/reinforce)
		pool="--pool object"
		curves gradsim/reinforce.ini --only 'box*,cone*' -- box cone
		pool=
		;;
	curves/control)
		curves gradsim/control.ini --only '[tw]*_state/adam,[tw]*_state/rand,[tw]*_state/reinforce' -- walker_state throw_state
		;;
	basins-double_pendulum) # needs bench/bench_basins, beside dshost
		top=$(dirname "$dshost")
		mkdir -p "$work/$name"
		[ -f "$work/$name/rates-pbh.png" ] ||
			DS_TOP_BUILD=$top DS_PLUGIN_PATH=$top/plugins "$top/bench/bench_basins" "$work/$name" 100 lengths rates lm lm-scalar \
				pbh pbh-scalar > "$work/$name.txt"
		tiles "$work/$name"/lengths-lm-scalar.png "$work/$name"/lengths-pbh-scalar.png "$work/$name"/rates-lm.png "$work/$name"/rates-pbh.png
		;;
	landscape/analytic) slice 600 --env analytic --set env.function=rugged --set env.dim=2 ;;
	*)
		echo "$0: $name: no such picture" >&2
		exit 2
		;;
	esac
	echo "$name.png"
}

[ $# -gt 0 ] || {
	cd "$images"
	set -- *.png */*.png
	cd "$OLDPWD"
}
for name; do
	name=${name%.png}
	mkdir -p "$(dirname "$work/$name")"
	draw
done
