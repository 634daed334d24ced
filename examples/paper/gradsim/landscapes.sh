#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The landscapes of gradSim's figures 4, 11 and 12: the loss of pictures along the mass of a pushed cube (each frame, each
# fifth, first and middle, first and last), and along the two Lame parameters of a sagging beam.
#
#     examples/paper/gradsim/landscapes.sh               results/gradsim_landscapes; a quarter of an hour on two cores
#     examples/paper/gradsim/landscapes.sh FOLDER --grid 41
#
# The same command again goes on. DSHOST: the program (dshost).
set -eu
out=${1-results/gradsim_landscapes}
[ $# -eq 0 ] || shift
dshost=${DSHOST-dshost}
mkdir -p "$out"

# slice NAME ENV AXIS FLAGS: a landscape along one variable through the truth
slice() {
    name=$1 env=$2 axis=$3
    shift 3
    if [ -f "$out/$name/landscape.sqlite" ]; then
        "$dshost" landscape "$out/$name"
    else
        "$dshost" landscape --env "$env" --axes "$axis" --samples 0 --jumps 0 --out "$out/$name" "$@"
    fi
}

# Figures 4 (left) and 12: the mass of all vertices from 0.1 to 5 kg; the truth is 1 kg. Raw colours, as in the paper.
mass() {
    name=$1
    shift
    slice "$name" rigid_mass mass --grid 200 --range -1:0.69897 --set env.obs=rgba --set env.antialias=true --set env.parity=true "$@"
}
mass every_frame "$@"
mass every_fifth --set env.frames=0,5,10,15 "$@"
mass first_middle --set env.frames=0,10 "$@"
mass first_last --set env.frames=0,19 "$@"

# Figures 4 (right) and 11a: mu and lambda of the beam from 100 to 3000 Pa, the other at its truth of 1000 Pa.
printf '3\n3\n' > "$out/truth.txt"
for name in mu lambda; do
    slice "beam_$name" beam "$name" --grid 61 --range 2:3.4771 --center "$out/truth.txt" --set env.obs=rgba --set env.antialias=true "$@"
done
