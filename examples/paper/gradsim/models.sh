#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Table 4 (left) of gradSim, wrong models of body and light: the mass of rigid cubes, deformable cubes and cloths where the
# model is right, where a rigid cube is taken for a deformable one and the other way round, and where the targets are drawn by
# another renderer with highlights and a texture (squares.png). Targets are 8-bit images of `dshost eval --images`, except
# where the model is right. `lm` from the middle of the range, 30 evaluations, and `leaprefine`, 60.
# (imperfect.ini has missing friction and damping.) Prints the mean relative errors with 95 % intervals; the numbers are in
# FOLDER/errors.csv.
#
#     examples/paper/gradsim/models.sh                 results/models, 10 objects each; three minutes of processor time
#     examples/paper/gradsim/models.sh FOLDER 3        3 objects each
#
# The same command again goes on. DSHOST: the program (../dshost.sh).
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../dshost.sh"
out=${1-results/models}
objects=${2-10}
mkdir -p "$out" || exit 6

# Settings of each kind of object.
settings() {
    case $1 in
    rigid) echo "--env rigid_contact --set env.variables=density" ;;
    deformable) echo "--env soft_ball --set env.shape=cube --set env.variables=density --set env.contact=3267,10,33,0.3 \
--set env.substeps=16 --set env.frames=9 --set env.camera=10,30,0" ;;
    cloth) echo "--env cloth_velocity --set env.variables=mass --set env.duration=0.75 --set env.frames=6" ;;
    esac
}

# fit NAME KIND TARGET-FLAGS: all objects of a kind; the targets are images where flags make them
fit() {
    name=$1 kind=$2
    shift 2
    for opt in lm leaprefine; do
        budget=60
        [ $opt = lm ] && budget=30
        : > "$out/$name.$opt"
        object=0
        while [ $((object += 1)) -le "$objects" ]; do
            run=$out/$name/$opt/$object
            target=
            if [ $# -gt 0 ]; then
                target="--set env.target_image=$out/$name/targets/$object/target.png"
                [ -f "$out/$name/targets/$object/target.png" ] ||
                    "$dshost" eval "$@" --set env.object=$object --images "$out/$name/targets/$object" > /dev/null || exit
            fi
            # shellcheck disable=SC2046,SC2086
            [ -f "$run/summary.json" ] || "$dshost" run $(settings "$kind") $colours $target --set env.object=$object --opt $opt \
                --budget $budget --seed 1000 --portable --pictures false --out "$run" > "$out/$name.log" 2>&1 || exit
            "$dshost" eval --x "$run" --metrics | awk '$1 == "error" { print $2 }' >> "$out/$name.$opt"
        done
        echo "$name,$opt,$(sh "$here/errors.sh" < "$out/$name.$opt")" >> "$out/errors.csv"
        tail -n 1 "$out/errors.csv" |
            awk -F, '{ printf "%s, %s: %.2g [%.2g, %.2g], median %.2g, %d objects\n", $1, $2, $4, $5, $6, $7, $3 }'
    done
}

echo "model,optimizer,objects,mean,low95,high95,median,most" > "$out/errors.csv"
colours=
for kind in rigid deformable cloth; do
    fit "$kind" $kind
done
# shellcheck disable=SC2046
fit rigid_as_deformable deformable $(settings rigid)
# shellcheck disable=SC2046
fit deformable_as_rigid rigid $(settings deformable)
colours="--set env.obs=over"
for kind in rigid deformable cloth; do
    # shellcheck disable=SC2046
    fit "${kind}_photorealistic" $kind $(settings $kind) --set env.obs=over --set env.renderer=dibr \
        --set env.light=0.3,0.6,0.5,30 --set env.light_from=60,40 --set "env.texture=$here/squares.png"
done
