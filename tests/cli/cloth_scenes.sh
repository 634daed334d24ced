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
for t in swing flip cloth_throw cloth_velocity $(all realtosim); do
    same "$t"
done
# The variables start where those of the task do, which is not always the middle.
for t in swing flip realtosim cloth_throw cloth_velocity; do
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
wrong swing ^model "model = 'spring': expected one of membrane, springs; did you mean 'springs'?" 's/^model.*/model = spring/'
wrong swing ^mass "mass = -1 is out of range: use a value from 1e-09 to 1000000" 's/^mass.*/mass = -1/'
wrong swing ^mass "unknown key 'mas' in [cloth sheet]: expected one of" 's/^mass/mas/'
wrong swing '^stiffness = 80' "unknown key 'stifness' in [target]: expected one of" 's/^stiffness = 80/stifness = 80/'
wrong swing '^.target' "[target] needs the key 'stiffness', its value in the target" '/^stiffness = 80/d'
wrong swing '^.cloth' "no number of this scene is a variable: write 'variable LOWER..UPPER'" 's/^stiffness = variable.*/stiffness = 50/'
wrong swing ^mass "mass is a variable: add 'truth VALUE', its value in the target" 's/^mass.*/mass = variable 0.01..0.03/'
wrong swing ^cells "cells cannot be a variable: give a number (variables can be: gravity; stiffness," 's/^cells.*/cells = variable 8..16/'
wrong swing ^gravity "a variable gravity is one number, downward" 's/^gravity.*/gravity = variable 0 -11..-8 0/'
wrong flip ^mass "mass has a truth, but the target is not an episode: remove 'truth'" 's/^mass.*/mass = variable 0.08..0.15 truth 0.1/'
wrong flip ^thickness "thickness cannot be a variable: give a number (variables can be: gravity; stiffness," 's/^thickness.*/thickness = variable 0.01..0.03/'
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

sed '$a [camera]\norbit = 1 20 0 1' "$scenes/flip.ini" > own.ini
bad 3 "own.ini:$(grep -n ^orbit own.ini | cut -d: -f1): orbit has 4 values: give distance, elevation and azimuth of each camera" \
    eval --env cloth --set env.scene=own.ini

# Pictures have the camera of the scene, whose azimuth counts from -z.
mkdir turned
cp "$scenes/swing.ini" swing.ini
printf '[scene]\ninclude = ../swing.ini\n[camera]\norbit = 0 20 60\n' > turned/swing.ini
good "a picture" scene swing.ini -o side.png --camera 120,20
good "a scene with a camera" scene turned/swing.ini -o own.png
cmp -s side.png own.png
result $? "it has the scene's camera"

# Another radius, pan and size of the variables.
sed 's/^cells.*/cells = 5/; s/^radius.*/radius = 0.15/; s/^flat.*/flat = 0.1/; s/^segments.*/segments = 2/' "$scenes/flip.ini" > small.ini
good "a smaller slab and pan" eval --env cloth --set env.scene=small.ini --x random:1 --gradient
has "env       cloth, 6 variables" "two segments"
sed 's/^stiffness = variable.*/stiffness = 60/; s/^velocity.*/velocity = variable -1..1 -2..0 0..1 start 0 -1 0.5 truth 0 -0.4 0.6/; s/^size.*/size = variable 0.15..0.25 truth 0.2/; /^\[floor\]/,/^friction/d; /^\[target\]/,/^stiffness/d; s/^compare.*/compare = single/' \
    "$scenes/swing.ini" > free.ini
good "velocity and size as variables, without a floor" eval --env cloth --set env.scene=free.ini --x start --gradient --fd
has "gradient agrees with differences in 5 of 5 components" "exact derivatives"
has "velocity.y" "their names"

# Every constant of the slab and its pan is a variable beside the motion of the pan.
sed 's/^mass.*/mass = variable 0.08..0.15/; s/^stiffness.*/stiffness = variable 50..120 log/; s/^damping.*/damping = variable 0.01..0.02/
    s/^drag.*/drag = variable 0.2..1/; s/^friction.*/friction = variable 0.1..0.5/; s/^gravity.*/gravity = variable 8..11/
    s/^duration.*/duration = 0.1/; s/^segments.*/segments = 2/; s/^flat.*/flat = variable 0.03..0.06/; s/^curve.*/curve = variable 10..20/
    s/^\[loss\]/&\nproximity_weight = 100/' "$scenes/flip.ini" > pan.ini
good "constants of a slab and its pan" eval --env cloth --set env.scene=pan.ini --x random:1 --gradient --fd
has "gradient agrees with differences in 14 of 14 components" "exact derivatives"
has "stiffness [log10 N/m]" "their names"
has "pan.curve [1/m]" "those of its profile"
has "pan.friction" "with the section"

# Springs touch spheres, boxes, capsules and meshes.
sed "s|@|$scenes|" > solid.ini << 'END'
[scene]
model = springs
step = 5e-4
duration = 0.3
[cloth sheet]
cells = 8
mass = 0.02
stiffness = 60
velocity = variable -1..1 -1..0 0..1 start 0.1 -0.4 0.6
size = variable 0.15..0.25 truth 0.2
[hold]
duration = 0.2
[floor]
friction = 0.3
[obstacle ball]
shape = sphere
position = 0 0.08 0.16
radius = 0.06
friction = 0.4
[obstacle block]
shape = box
position = 0.05 0.03 0.3
size = 0.1 0.06 0.1
rotation = 0.9659258 0 0.258819 0
[obstacle bar]
shape = capsule
position = -0.1 0.06 0.25
radius = 0.03
length = 0.1
rotation = 0.70710678 0.70710678 0 0
[obstacle star]
shape = mesh
file = @/star.obj
scale = 0.15
position = 0.12 0.05 0.2
[target]
velocity = 0 -0.4 0.6
[loss]
compare = mesh
END
for k in 2 4; do
    good "springs on four obstacles" eval --env cloth --set env.scene=solid.ini --x random:$k --gradient --fd
    has "gradient agrees with differences in 5 of 5 components" "exact derivatives at point $k"
done
# On a box as floor the cloth lies at the offset from its top.
sed 's/^duration = 0.3/duration = 0.6/; s/^position = 0.05 0.03 0.3/position = 0 0 0/; s/^size = 0.1 0.06 0.1/size = 3 0.1 3/; /^.obstacle bar/,/^position = 0.12/d; /^.obstacle ball/,/^friction = 0.4/d; /^rotation/d; /^.floor/,/^friction/d' solid.ini > table.ini
good "a box as floor" eval --env cloth --set env.scene=table.ini --x start --metrics
awk '$1 == "lowest" { found = $3 > 0.0535 && $3 < 0.0551 } END { exit !found }' out
result $? "carries the cloth"
solid() { # solid LINE TEXT EDIT
    sed "$3" solid.ini > own.ini
    bad 3 "$1$2" eval --env cloth --set env.scene=own.ini
}
solid "" "the cloth begins 0.0041 m inside obstacle 1, at -0.05 0.225 0" 's/^position = 0 0.08.*/position = 0 0.2 0/'
solid own.ini:18: " radius is a variable: add 'truth VALUE'" 's/^radius = 0.06/radius = variable 0.05..0.07/'
solid own.ini:19: " unknown key 'stiffness' in [obstacle ball]: expected one of shape" 's/^radius = 0.06/&\nstiffness = 3/'

# Every number of an obstacle that springs touch is a variable.
sed "s|@|$scenes|" > posts.ini << 'END'
[scene]
model = springs
step = 1e-3
duration = 0.3
[cloth sheet]
cells = 5
mass = 0.02
stiffness = 40
velocity = 0.1 -0.4 0.6
size = 0.2
[hold]
duration = 0.2
[floor]
friction = 0.3
[obstacle ball]
shape = sphere
position = variable -0.02..0.02 0.07..0.08 0.13..0.15 truth 0.01 0.075 0.14
radius = variable 0.04..0.05 truth 0.045
friction = variable 0.1..0.4 truth 0.3
offset = variable 0.002..0.01 log truth 0.005
[obstacle block]
shape = box
position = variable 0.06..0.08 0.05 0.15..0.17 truth 0.07 0.16
size = variable 0.05..0.07 0.1..0.13 0.03..0.05 truth 0.06 0.11 0.04
rotation = variable 0.9..1 0 0.1..0.3 0 truth 0.95 0.25
friction = variable 0.1..0.4 truth 0.3
[obstacle bar]
shape = capsule
position = variable -0.08..-0.06 0.06..0.07 0.15 truth -0.07 0.065
radius = variable 0.03..0.04 truth 0.035
length = variable 0.09..0.12 truth 0.1
rotation = variable 0.6..0.8 0.6..0.8 0 -0.1..0.1 truth 0.7 0.7 0
[obstacle star]
shape = mesh
file = @/star.obj
scale = variable 0.14..0.17 truth 0.15
position = variable 0.1..0.13 0.05 0.2 truth 0.12
rotation = variable 1 -0.1..0.1 -0.1..0.1 0 truth 0 0
offset = variable 0.004..0.006 truth 0.005
[target]
[loss]
compare = mesh
END
for k in 13 $(all 2 3 4 8); do
    good "numbers of obstacles, point $k" eval --env cloth --set env.scene=posts.ini --x random:$k --gradient --fd
    has "gradient agrees with differences in 26 of 26 components" "exact derivatives at point $k"
    [ "$k" -ne 13 ] || ! grep -q ' 0  *[-0-9.e]* *[-0-9.e]*$' out
    result $? "all of them count at point 13"
done
has "block.size.y [m]" "their names"
has "star.rotation.x" "parts of a quaternion"
good "the truth" eval --env cloth --set env.scene=posts.ini --x 0.01,0.075,0.14,0.045,0.3,-2.3010299956639813,0.07,0.16,0.95,0.25,0.06,0.11,0.04,0.3,-0.07,0.065,0.7,0.7,0,0.035,0.1,0.12,0,0,0.15,0.005
grep -q '^loss *0$' out
result $? "leaves no loss"

# Sides of cells and the rotation of a cloth.
sed 's/^cells = .*/cells = 6 6/; s/^cell_a.*/cell_a = variable 0.1..0.15 0.05..0.07 -0.0625/; s/^cell_b.*/cell_b = variable 0.05..0.07 0.03 0.1..0.15/
    s/^corner.*/&\naxis = variable -1..1 start 0.1 0.9 0.2\nangle = variable 0..1/; s/^duration.*/duration = 0.2/; s/^compare.*/compare = points/' \
    "$scenes/cloth_throw.ini" > sides.ini
good "sides of cells and a rotation as variables" eval --env cloth --set env.scene=sides.ini --x random:1 --gradient --fd
has "gradient agrees with differences in 11 of 11 components" "exact derivatives"

# ---- membranes: everything in one scene, a mesh as cloth ----
cat > all.ini << 'END'
[scene]
model = membrane
duration = 0.25
substeps = 16
[material]
law = membrane
stretch = variable 30..120 log start 60
area = 60
damping = 0.3
bend = variable 0.01..0.1 log
bend_damping = 0.002
lift = 0.1
drag = variable 0..1
density = 1
[cloth sheet]
size = 1 1
cells = 6 6
center = 0 0.45 0
velocity = 0 -2 0
[region hem]
box = 0.3 0 -1 1 1 1
stiffness = 2
density = 2
[drive left]
box = -0.51 0.4 -0.51 -0.49 0.5 -0.49
velocity = variable -1..1 start 0
segments = 2
[force gust]
box = 0 0 0 1 1 1
force = variable -1..1
move = x
[anchor right]
near = 0.5 0.45 -0.5
offset = 0 0.2 0
stiffness = 20
damping = 0.1
[ground]
stiffness = 300
damping = 0.5
sliding = 0.5
friction = 0.5
[obstacle ball]
shape = sphere
position = -0.2 0.2 -0.2
radius = 0.12
stiffness = 300
damping = 0.5
sliding = 0.5
friction = 0.5
[obstacle block]
shape = box
position = 0.25 0.2 0
rotation = 0.9659258 0 0.258819 0
size = 0.3 0.3 0.3
stiffness = 300
damping = 0.5
sliding = 0.5
friction = 0.5
[obstacle bar]
shape = capsule
position = -0.2 0.2 0.3
rotation = 0.70710678 0.70710678 0 0
radius = 0.1
length = 0.2
stiffness = 300
damping = 0.5
sliding = 0.5
friction = 0.5
[target sheet]
shift = 0.1 -0.2 0
[loss]
compare = points
END
good "regions, drives, forces, anchors, obstacles, the ground" eval --env cloth --set env.scene=all.ini --x random:1 --gradient --fd
has "gradient agrees with differences in 10 of 10 components" "exact derivatives by all of them, in contact"
has "stretch [log10 N/m]" "names of materials"
has "left.velocity.1.z [m/s]" "names of drives"
good "its picture" scene all.ini
has "fixed     bar              capsule" "three obstacles, by their names"
sed 's/^velocity = 0 -2 0/velocity = variable -1..1 -3..-1 -1..1/; s/^compare.*/compare = centre/' all.ini > start.ini
good "a variable start, the centre" eval --env cloth --set env.scene=start.ini --x random:2 --gradient --fd
has "gradient agrees with differences in 13 of 13 components" "exact derivatives"

sed 's/^velocity = 0 -2 0/velocity = variable -1..1 -2 -1..1/' all.ini > some.ini
good "two of three numbers vary" eval --env cloth --set env.scene=some.ini --x random:2 --gradient --fd
has "gradient agrees with differences in 12 of 12 components" "exact derivatives"
has "sheet.velocity.z [m/s]" "the axis of the second"
sed 's/^velocity = variable -1..1 start 0/velocity = variable -1..1 0 0/' all.ini > own.ini
bad 3 "give a range for each of the 3 numbers; key 'move' names the axes" eval --env cloth --set env.scene=own.ini

# Two membranes, wind, and every key that can be a variable.
for k in 1 2; do
    good "everything is a variable" eval --env cloth --set "env.scene=$DS_TOP_SRC/tests/data/scenes/membranes.ini" --x random:$k --gradient --fd
    has "gradient agrees with differences in 65 of 65 components" "exact derivatives at point $k"
done
# The same material twice, once for a region, changes no result but for rounding.
sed 's/^\[cloth/[material same]\nlaw = membrane\nstretch = 60\narea = 60\ndamping = 0.3\nbend = 0.05\nbend_damping = 0.002\nlift = 0.1\ndrag = 0.5\ndensity = 1\n&/
    s/^\[material\]/[material one]/; s/^stretch = variable.*/stretch = 60/; s/^bend = variable.*/bend = 0.05/; s/^drag = variable.*/drag = 0.5/; s/^size = 1 1/material = one\n&/; /^\[region/,/^density/d' all.ini > plain.ini
sed 's/^\[drive/[region half]\nbox = 0 0 -1 1 1 1\nmaterial = same\n&/' plain.ini > half.ini
for f in plain half; do
    "$dshost" eval --env cloth --set env.scene=$f.ini --x random:1 2> err | awk '$1 == "loss" { printf "%.12f\n", $2 }' > $f.txt
done
[ -s half.txt ] && cmp -s plain.txt half.txt
result $? "a region with an equal material"

# The goal as a table of vertices, of one or both compared states.
awk 'BEGIN { for (f = 0; f < 2; f++) for (y = 0; y < 7; y++) for (x = 0; x < 7; x++)
    printf "%.17g,%.17g,%.17g\n", x / 6 - 0.4, 0.25 - 0.05 * f, 0.5 - y / 6 }' > two.csv
head -n 49 two.csv > one.csv
sed 's/^shift.*/file = one.csv/' all.ini > one.ini
for f in all one; do
    "$dshost" eval --env cloth --set env.scene=$f.ini --x random:1 2> err | awk '$1 == "loss" { printf "%.12f\n", $2 }' > $f.txt
done
[ -s one.txt ] && cmp -s all.txt one.txt
result $? "recorded vertices of one state"
sed 's/^shift.*/file = two.csv/; s/^compare.*/compare = points\nframes = 2/' all.ini > two.ini
good "recorded vertices of two states" eval --env cloth --set env.scene=two.ini --x random:1 --gradient --fd
has "gradient agrees with differences in 10 of 10 components" "exact derivatives"
sed 's/^frames = 2/frames = 3/' two.ini > own.ini
bad 3 "own.ini:70: the file has 98 points: give one for each of the 49 vertices of [sheet], in one state or in each of the 3" \
    eval --env cloth --set env.scene=own.ini
sed 's/^file = two.csv/file = none.csv/' two.ini > own.ini
bad 3 "none.csv: there is no such file" eval --env cloth --set env.scene=own.ini

cat > tri.obj << 'END'
v 0 0.5 0
v 1 0.5 0
v 1 0.5 1
v 0 0.5 1
v 0.5 0.5 0.5
f 1 5 2
f 2 5 3
f 3 5 4
f 4 5 1
END
cat > mesh.ini << 'END'
[scene]
duration = 0.1
[material]
law = membrane
stretch = variable 30..120 log
area = 60
bend = 0.01
damping = 0.3
density = 1
[cloth sheet]
shape = mesh
file = tri.obj
[obstacle ball]
shape = sphere
position = 0 0.2 0
radius = 0.12
[target sheet]
shift = 0.1 0 0
[loss]
compare = points
END
cp tri.obj good.obj
good "a cloth from a mesh with holes" eval --env cloth --set env.scene=mesh.ini --x start --gradient
# torn TEXT EDIT, odd TEXT EDIT: the mesh, or the scene, changed by a sed command is refused with that text.
torn() {
    sed "$2" good.obj > tri.obj
    bad 3 "$1" eval --env cloth --set env.scene=mesh.ini
}
torn "tri.obj:2: a coordinate is 'nan', not a finite number" 's/^v 1 0.5 0/v nan 0.5 0/'
torn "tri.obj:6: triangle 1 has no area" 's/^v 0.5 0.5 0.5/v 0.5 0.5 0/'
torn "mesh.ini:12: vertex 6 belongs to no triangle: remove it" '$s/$/\nv 3 3 3/'
torn "mesh.ini:10: [sheet]: triangle" 's/^f 1 5 2/f 2 5 1/'
torn "the mesh reaches 1e+09 m, more than 1000: set scale" 's/^v 1 0.5 0/v 1e9 0.5 0/'
torn "no triangles" '/^f/d'
cp good.obj tri.obj
odd() {
    sed "$2" mesh.ini > own.ini
    bad 3 "$1" eval --env cloth --set env.scene=own.ini
}
odd "own.ini:4: the material of a cloth needs law = membrane" 's/^law.*/law = solid/'
odd "own.ini:13: a body begins 0.07 m inside [obstacle ball], at 0 0.5 0" 's/^position.*/position = 0 0.45 0/'
odd "own.ini:13: a body begins 0.1 m below the ground, at 0 0.5 0" 's/^\[obstacle.*/[ground]/; s/^position.*/height = 0.6/; /^radius/d; 14d'
odd "own.ini:11: cells cannot be a variable: give a number (variables can be: gravity and wind of [scene]" 's/^shape = mesh/cells = variable 1..2 1..2/; /^file = tri/d'
odd "[sheet] needs the key 'material': there is a, b" 's/^\[material\]/[material a]\nlaw = membrane\n[material b]/'
cp "$scenes/star.obj" .
sed 's/^.target sheet/[target shet/' "$scenes/drape.ini" > own.ini
bad 3 "own.ini:52: no body or cloth has the name 'shet': there is sheet; did you mean 'sheet'?" eval --env cloth --set env.scene=own.ini
sed 's/^.loss/[region x]\nbody = sheet\nstiffness = 2\n[loss/' "$scenes/cloth_velocity.ini" > own.ini
bad 3 "'sheet' names no body: the only one has no name, so this section needs none" eval --env cloth --set env.scene=own.ini
sed 's/^shape = grid/&\nmaterial = silk/' "$scenes/cloth_velocity.ini" > own.ini
bad 3 "material = silk, but the only [material] has no name: remove the key" eval --env cloth --set env.scene=own.ini
odd "random belongs to velocities" 's/^position.*/position = variable 0..1 random 0.1/'
odd "the scene has no variables" 's/^stretch.*/stretch = 3/'
odd "own.ini:11: shape = 'msh': expected one of grid, mesh; did you mean 'mesh'?" 's/^shape = mesh/shape = msh/'
odd "own.ini:10: [cloth sheet] needs size (two lengths), or cell_a and cell_b" 's/^shape = mesh/shape = grid/'
odd "own.ini:12: 250000 cells have two triangles each, more than 200000 together" 's/^shape = mesh/shape = grid\ncells = 500/; /^file/d'
odd "[anchor a] needs vertex (its number), or near (a point)" 's/^\[obstacle ball\]/[anchor a]/'
odd "own.ini:9: a membrane needs density or mass above 0" 's/^density.*/density = 0/'
odd "the surface has a hole: only face 1" 's/^shape = sphere/shape = mesh\nfile = tri.obj/; s/^radius.*//'
odd "unknown key 'mas' in [material]: expected one of" 's/^bend.*/mas = 1/'

cp "$scenes/drape.ini" "$scenes/star.obj" .
"$dshost" run --env cloth --set env.scene=drape.ini --opt racer --budget "$([ -z "${CHECK_ALL-}" ] && echo 4 || echo 40)" \
    --out drape --pictures false > out 2> err && grep -q 'budget used' err
result $? "a cloth over a mesh"
good "without a file there is a scene" eval --env cloth --x start --gradient
finish
