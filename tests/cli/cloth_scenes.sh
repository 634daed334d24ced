#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cloth_scenes.sh - scene files of environment cloth: those of the tasks give the results of the tasks, bit for bit; each
# mistake in a file is one line with file and line, and the nearest name.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99
HOME=$tmp
export HOME
scenes=$DS_TOP_SRC/examples/scenes

# same TASK: the scene file has the loss, gradient and names of the task.
same() {
    "$dshost" eval --env "$1" --x random:3 --gradient | grep -v '^env\|^time' > task.txt
    "$dshost" eval --env cloth --set "env.scene=$scenes/$1.ini" --x random:3 --gradient 2> err | grep -v '^env\|^time' > out
    grep -q '^loss' task.txt && cmp -s task.txt out
    result $? "$1: the scene file is the task"
}
# shellcheck disable=SC2046
for t in swing flip $(all realtosim); do
    same "$t"
done
# The variables start where those of the task do, which is not always the middle.
for t in swing flip realtosim; do
    "$dshost" eval --env "$t" --x start | grep -v '^env\|^time' > task.txt
    "$dshost" eval --env cloth --set "env.scene=$scenes/$t.ini" --x start 2> err | grep -v '^env\|^time' > out
    grep -q '^loss' task.txt && cmp -s task.txt out
    result $? "$t: and its start"
done

# wrong SCENE PATTERN TEXT EDIT: the scene changed by a sed command is refused with that text, at the first line with the
# pattern ("": without a line).
wrong() {
    line=
    [ -z "$2" ] || line=:$(grep -n "$2" "$scenes/$1.ini" | head -n 1 | cut -d: -f1)
    sed "$4" "$scenes/$1.ini" > own.ini
    run "$dshost" eval --env cloth --set env.scene=own.ini
    [ "$status" -eq 3 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -qF "own.ini$line: " err && grep -qF -- "$3" err
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   exit status $status, expected 3 with 'own.ini$line' and '$3'"
    result "$passed" "$1: $3"
}
wrong swing ^model "model = 'spring': expected one of springs, membrane; did you mean 'springs'?" 's/^model.*/model = spring/'
wrong swing ^mass "mass = -1 is out of range: use a value from 1e-09 to 1000000" 's/^mass.*/mass = -1/'
wrong swing ^mass "unknown key 'mas' in [cloth sheet]: expected one of" 's/^mass/mas/'
wrong swing '^stiffness = 80' "unknown key 'stifness' in [target]: expected one of" 's/^stiffness = 80/stifness = 80/'
wrong swing '^.target' "[target] needs the key 'stiffness', its value in the target" '/^stiffness = 80/d'
wrong swing '^.cloth' "stiffness or velocity of the cloth must be a variable" 's/^stiffness = variable.*/stiffness = 50/'
wrong swing ^velocity "and not both" 's/^velocity.*/velocity = variable -1..1 truth 0/'
wrong swing '^stiffness' "add 'log'" 's/200 log/200/'
wrong swing ^gravity "with model = springs it must be along y" 's/^gravity.*/gravity = 1 0 0/'
wrong swing ^compare "compare = 'mash': expected one of single, corner, mesh, image; did you mean 'mesh'?" 's/^compare.*/compare = mash/'
wrong swing '^.hold' "unknown section [pam]: expected one of" 's/^\[hold\]/[pam]/'
wrong swing '^.hold' "a second section [cloth]" 's/^\[hold\]/[cloth b]/'
wrong swing "" "give whole numbers from 1 to the number of cells, 16" 's/^patches.*/patches = 40/'
wrong swing "" "give 5e+08 steps: 1 to 1e5 are allowed" 's/^duration = 1 .*/duration = 50/; s/^step.*/step = 1e-7/'
wrong flip ^flat "flat = 0.5 must be below radius = 0.2" 's/^flat.*/flat = 0.5/'
wrong flip ^cells "cells = 0 is out of range" 's/^cells.*/cells = 0/'
wrong flip ^lower "lower = low: expected numbers" 's/^lower.*/lower = low/'
wrong flip "" "lower must be at most upper" 's/^lower.*/lower = 1 1 1/'
wrong realtosim ^norm "norm = 'l3': expected one of l2, sq; did you mean 'l2'?" 's/^norm.*/norm = l3/'
wrong realtosim '^.floor' "unknown section [cloth]: expected one of" 's/^\[floor\]/[cloth]/'
sed 's/^\[recording\].*/[recording]\ndata = none.lift/' "$scenes/realtosim.ini" > own.ini
bad 6 "none.lift: cannot be read" eval --env cloth --set env.scene=own.ini

# Another radius, pan and size of the variables.
sed 's/^cells.*/cells = 5/; s/^radius.*/radius = 0.15/; s/^flat.*/flat = 0.1/; s/^segments.*/segments = 2/' "$scenes/flip.ini" > small.ini
good "a smaller slab and pan" eval --env cloth --set env.scene=small.ini --x random:1 --gradient
has "env       cloth, 6 variables" "two segments"
sed 's/^stiffness = variable.*/stiffness = 60/; s/^velocity.*/velocity = variable -1..1 -2..0 0..1 start 0 -1 0.5 truth 0 -0.4 0.6/; s/^size.*/size = variable 0.15..0.25 truth 0.2/; /^\[floor\]/,/^friction/d; /^\[target\]/,/^stiffness/d; s/^compare.*/compare = single/' \
    "$scenes/swing.ini" > free.ini
good "velocity and size as variables, without a floor" eval --env cloth --set env.scene=free.ini --x start --gradient --fd
has "gradient agrees with differences in 5 of 5 components" "exact derivatives"
has "velocity.y" "their names"

good "without a file there is a scene" eval --env cloth --x start --gradient
finish
