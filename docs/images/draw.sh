#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# draw.sh - draws the pictures of the documentation anew: runs, episodes and landscapes as the pages name them, made small.
#
#     docs/images/draw.sh                     all; half an hour on two cores that also do other work
#     docs/images/draw.sh writer landscape-*  these
#
# DSHOST  the program (./dshost)
# WORK    folder for runs and landscapes, which are kept: the same command again draws only (results/images)
#
# Needs ImageMagick (convert).
set -eu
images=$(cd "$(dirname "$0")" && pwd)
dshost=${DSHOST-$images/../../dshost}
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

# slice WIDTH FLAGS of landscape
slice() {
	width=$1
	shift
	[ -f "$work/$name/landscape.png" ] ||
		"$dshost" landscape --portable --out "$work/$name" "$@" > "$work/$name.txt" 2>&1
	"$dshost" landscape "$work/$name" > "$work/$name.txt"
	small "$work/$name/landscape.png" "$width" 256
}

plane() { # plane I,J: of a plasticine task
	slice 720 --env "${name#landscape-}" --set env.preset=small --axes "$1" --grid 31x31 --samples 40 --jumps 20
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
	fluid) episode --env fluid --x 0,-0.62,0.7,0,0,0,0,0.6,0,0.6 ;;
	flip)
		run --env flip --opt leaprefine --budget 1000
		episode --x "$work/$name"
		;;
	landscape-cartpole3) slice 600 --env cartpole --set env.links=3 --axes random,random ;;
	landscape-pinball2) slice 600 --env pinball ;;
	landscape-pinball16)
		point=$name-point
		[ -f "$work/$point/summary.json" ] || "$dshost" --portable --pictures false --out "$work/$point" --env pinball \
			--set env.variant=pinball16 --opt rand --budget 400 --seed 39 > "$work/$point.txt" 2>&1
		slice 600 --env pinball --set env.variant=pinball16 --axes 13,14 --center "$work/$point"
		;;
	landscape-bounce) slice 600 --env bounce ;;
	landscape-bounce1) slice 560 --env bounce --axes 1 ;;
	landscape-assembly | landscape-pinch | landscape-triplemove) plane 0,1 ;;
	landscape-chopsticks) plane 1,6 ;;
	landscape-move) plane 0,3 ;;
	landscape-rollingpin | landscape-rope | landscape-table) plane 0,2 ;;
	landscape-writer) plane 1,4 ;;
	landscape-torus) slice 600 --env torus --set env.preset=small --grid 31x31 --samples 40 ;;
	landscape-fluid) slice 720 --env fluid --set env.preset=small --grid 21x21 --samples 20 --jumps 20 ;;
	landscape-swing) slice 600 --env swing --grid 21x21 --samples 20 --jumps 10 ;;
	landscape-swing-velocity)
		slice 600 --env swing --set env.variables=velocity --grid 41x41 --samples 40 --jumps 20
		;;
	landscape-flip)
		point=$name-point
		[ -f "$work/$point/summary.json" ] || "$dshost" --portable --pictures false --out "$work/$point" --env flip \
			--opt rand --budget 300 > "$work/$point.txt" 2>&1
		slice 600 --env flip --center "$work/$point" --grid 25x25 --samples 0 --jumps 0
		;;
	landscape-realtosim) slice 600 --env realtosim --grid 31x31 --samples 40 --jumps 20 ;;
	landscape-analytic) slice 600 --env analytic --set env.function=rugged --set env.dim=2 ;;
	*)
		echo "$0: $name: no such picture" >&2
		exit 2
		;;
	esac
	echo "$name.png"
}

[ $# -gt 0 ] || {
	cd "$images"
	set -- *.png
	cd "$OLDPWD"
}
for name; do
	name=${name%.png}
	draw
done
