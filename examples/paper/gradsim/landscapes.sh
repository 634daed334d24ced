#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The landscapes of gradSim's figures 4, 11 and 12: the loss of pictures along the mass of a pushed cube (each frame, each
# fifth, first and middle, first and last), and along the two Lame parameters of a sagging beam. Published points
# (landscapes.csv) are drawn in, in proportion to the largest loss of each figure.
#
#     examples/paper/gradsim/landscapes.sh               results/gradsim_landscapes; ten minutes on two cores
#     examples/paper/gradsim/landscapes.sh FOLDER --grid 41
#
# The same command again goes on. DSHOST: the program (../dshost.sh).
here=$(dirname "$0")
default=results/gradsim_landscapes
. "$here/../dshost.sh"
. "$here/../slice.sh"

# slice NAME ENV AXIS FLAGS: along one variable through the truth, the variable being a logarithm
slice() {
    name=$1 env=$2 axis=$3
    shift 3
    awk -F, -v name="$name" '$1 == name { printf "published,%.6f,%s%%\n", log($2) / log(10), 100 * $3 }' \
        "$here/landscapes.csv" > "$out/$name.csv"
    landscape "$out/$name" --env "$env" --axes "$axis" --samples 0 --jumps 0 --marks "$out/$name.csv" \
        --set env.obs=rgba --set env.antialias=true "$@"
}

# Figures 4 (left) and 12: the mass of all vertices from 0.1 to 5 kg; the truth is 1 kg. Raw colours, as in the paper.
mass() {
    name=$1
    shift
    slice "$name" rigid_mass mass --grid 200 --range -1:0.69897 --set env.parity=true --set env.image_size=256 "$@"
}
mass every_frame "$@"
mass every_fifth --set env.frames=0,5,10,15 "$@"
mass first_middle --set env.frames=0,10 "$@"
mass first_last --set env.frames=0,19 "$@"

# Figures 4 (right) and 11a: mu and lambda of the beam from 210 to 2000 Pa, the other at its truth of 1000 Pa.
printf '3\n3\n' > "$out/truth.txt"
for name in mu lambda; do
    slice "beam_$name" beam "$name" --grid 61 --range 2.3222:3.3010 --center "$out/truth.txt" "$@"
done
