#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where a falling, sliding box comes to rest, as a function of its tilt at the start: with contact at a point, at all
# corners, and by a pressure field (hydro2d, scene C). Draws each landscape with its gradient and prints the verdict.
#
#     examples/paper/contact/fall.sh                all, in results/fall: about 10 s
#     examples/paper/contact/fall.sh results/x      into another folder
#
# Before each: the torque of the box in the ground (scene A) at tilts of -1e-6 and 1e-6 rad, which jumps for a point.
. "$(dirname "$0")/../dshost.sh"
out=${1-results/fall}
for contact in point corners hydroelastic; do
    echo "$contact:"
    for tilt in -1e-6 1e-6; do
        "$dshost" eval --env hydro2d --set env.contact=$contact --set env.loss=second --x 0.24,$tilt |
            sed -n "s/^loss  */torque at tilt $tilt: /p"
    done
    "$dshost" landscape --env hydro2d --set env.scene=C --set env.contact=$contact --axes tilt --out "$out/$contact" |
        grep -E '^verdict|gradient is their limit|differences converge'
done
