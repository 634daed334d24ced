#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scenes.sh - scene files: those of the tasks give the results of the tasks, bit for bit; each mistake in a file is one
# line with file and line, and the nearest name.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99
HOME=$tmp
export HOME
scenes=$DS_TOP_SRC/examples/scenes

# same TASK ENV ARGUMENT...: the scene file has the loss, gradient and names of the task.
same() {
    task=$1
    env=$2
    shift 2
    "$dshost" eval --env "$task" "$@" --x random:3 --gradient | grep -v '^env\|^time' > task.txt
    "$dshost" eval --env "$env" --set "env.scene=$scenes/$task.ini" "$@" --x random:3 --gradient 2> err |
        grep -v '^env\|^time' > out
    grep -q '^loss' task.txt && cmp -s task.txt out
    result $? "$task: the scene file is the task"
}
# shellcheck disable=SC2046
for t in torus rope assembly fluid $(all chopsticks move pinch rollingpin table triplemove writer); do
    same "$t" particles --set env.preset=small
done

# wrong LINE TEXT EDIT: the torus scene changed by a sed command is refused with that line and text.
wrong() {
    sed "$3" "$scenes/torus.ini" > own.ini
    run "$dshost" eval --env particles --set env.scene=own.ini --set env.preset=small
    [ "$status" -eq 3 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -qF "own.ini$1: " err && grep -qF -- "$2" err
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   exit status $status, expected 3 with 'own.ini$1' and '$2'"
    result "$passed" "$2"
}
line() { # line PATTERN: the first line of the scene that has it, as ":N"
    echo ":$(grep -n "$1" "$scenes/torus.ini" | head -n 1 | cut -d: -f1)"
}
wrong "$(line ^youngs)" "unknown key 'yougs_modulus' in [material plasticine]: expected one of law, youngs_modulus, poisson_ratio" \
    's/^youngs/yougs/'
wrong "$(line ^youngs)" "did you mean 'youngs_modulus'?" 's/^youngs/yougs/'
wrong "$(line ^youngs)" "youngs_modulus = -3 is out of range: use a value from 1 to 1e+09" 's/^youngs_modulus.*/youngs_modulus = -3/'
wrong "$(line ^youngs)" "youngs_modulus = 5k: expected a number" 's/^youngs_modulus.*/youngs_modulus = 5k/'
wrong "$(line ^law)" "law = 'plastcine': expected one of plasticine, elastic, fluid, sand; did you mean 'plasticine'?" 's/= plasticine/= plastcine/'
wrong "$(line ^material)" "section [material clay] is missing" 's/^material.*/material = clay/'
wrong "$(line ^material)" "section [material plastcine] is missing; did you mean 'plasticine'?" 's/^material.*/material = plastcine/'
wrong "" "the scene has no loss: add a section [target], where the material should go, or a term [loss NAME]" '/^.target/,/^$/d'
wrong "$(line ^youngs)" "remove 'truth'" 's/^youngs_modulus.*/youngs_modulus = variable 10^3..10^4 log truth 5000/'
wrong "$(line ^youngs)" "youngs_modulus = 1e+10 is out of range" 's/^youngs_modulus.*/youngs_modulus = variable 10^3..10^10 log/'
wrong "$(line ^youngs)" "[start VALUE] [truth VALUE]' with LOWER below UPPER" 's/^youngs_modulus.*/youngs_modulus = variable 10^4..10^3/'
wrong "$(line '^\[body')" "unknown section [bdy slab]: expected one of" 's/^\[body/[bdy/'
wrong "$(line '^\[body')" "loss, camera; a file with it is for environment soft" 's/^\[body slab/[muscle slab/'
wrong "$(line '^\[body')" "loss, camera; a file with it is for environment robot" 's/^\[body slab/[task/'
wrong "$(line '^\[body')" "[body slab] needs the key 'count'" '/^count/d'
wrong "$(line ^count)" "count = 2.5 is not a whole number" 's/^count.*/count = 2.5/'
wrong "$(line ^center)" "the body reaches from 0.85 to 1.15 along x" 's/^center.*/center = 1 0.05 0.5/'
wrong "$(line ^size)" "size has 2 numbers: give one, or 3" 's/^size.*/size = 0.3 0.1/'
wrong "$(line ^rotation)" "this one is zero" 's/^rotation.*/rotation = 0 0 0 0/'
wrong "$(line ^lower)" "lower = inf: expected 3 numbers" 's/^lower.*/lower = inf/'
wrong "" "own.ini: the scene has no loss: add a section [target]" '/^\[target/,/^variant/d'
wrong "$(line ^file)" "tours.targets cannot be read" 's/^file.*/file = tours.targets/'
wrong "$(line ^variant)" "variant = 7 is out of range" 's/^variant.*/variant = 7/'
wrong "$(line ^speed)" "expected KEY = VALUE" 's/^speed.*/speed/'
wrong "$(line ^speed)" "the tool moves at a speed of 0" 's/^speed.*/speed = 0/'
wrong "$(line ^position)" "the tool begins at 1.5 along y, outside its bounds" 's/^position.*/position = 0.5 1.5 0.5/'
wrong "$(line ^segments)" "steps = 0 is out of range: use a value from 1 to 1000" 's/^segments.*/steps = 0/'
wrong "$(line ^speed)" "key 'friction' again" 's/^speed.*/friction = 1/'
wrong "$(line ^speed)" "line of more than 190 bytes" "s/^speed.*/speed = $(printf '%0200d' 1)/"
wrong "$(line ^.actions)" "section [body slab] again" 's/^\[actions/[body slab/'
wrong "$(line ^count)" "count cannot be a variable: give a number (variables can be: gravity, ground_friction" 's/^count.*/count = variable 1..2/'
wrong "$(line ^lower)" "lower cannot be a variable: give a number (variables can be: gravity, ground_friction" 's/^lower.*/lower = variable 1..2/'
wrong "$(line ^ground)" "must stay above 0 and below 10" 's/^ground_friction.*/ground_friction = variable 1..20/'
wrong "$(line ^center)" "the body reaches from 0.35 to 1.05 along x" 's/^center.*/center = variable 0.5..0.9 0.05 0.5 start 0.5/'
wrong "$(line ^center)" "the body reaches from -0.05 to 0.15 along y" 's/^size.*/size = variable 0.3 0.1..0.2 0.3 start 0.1/'
wrong "$(line ^size)" "size cannot be a variable: give a number (variables can be: gravity, ground_friction" \
    's/^shape = box/shape = lattice/; /^count/d; s/^size.*/size = variable 0.2..0.3\nspacing = 0.01/'
wrong "$(line ^size)" "a tube of 0.05 is wider than the least radius 0.04" \
    's/^shape = box/shape = torus/; s/^size.*/tube = variable 0.01..0.05\nradius = variable 0.04..0.1/'
wrong "$(line ^speed)" "speed cannot be a variable: give a number (variables can be: gravity, ground_friction" 's/^speed.*/speed = variable 1..2/'
wrong "$(line ^center)" "the word 'variable' comes first, then 3 ranges or numbers" 's/^center.*/center = 0.5 0.05 variable 0.4..0.5/'
wrong "" "no tool moves, and no number is a variable" '/^\[tool/,/^speed/d'
wrong "$(line ^friction)" "[tool ring] needs the key 'speed': did you mean it by 'sped'?" 's/^friction.*/sped = 0.1/; /^speed/d'
wrong "$(line '^.tool')" "[tool slab] has the name of [body slab]: choose another one" 's/^\[tool .*/[tool slab]/'
wrong "$(line '^.tool')" "[tool Ring-1]: a name begins with a small letter" 's/^\[tool .*/[tool Ring-1]/'
wrong "$(line ^file)" "file = cake.npy: $tmp/cake.npy: No such file or directory; file names are relative to the scene file (\`dshost target SHAPE -o cake.npy\` makes it" \
    's/^file.*/file = cake.npy/; /^variant/d'
wrong ":1" "a key before the first section" '1s/.*/gravity = 1/'
wrong ":1" "a control character" '1s/.*/\x02/'

# ---- meshes and variables ----
# face TEXT EDIT: the stamp's mesh changed by a sed command is refused.
mesh() {
    sed "$2" "$scenes/star.obj" > star.obj
    run "$dshost" eval --env particles --set env.scene=stamp.ini --set env.preset=small
    [ "$status" -eq 3 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -q "stamp.ini:[0-9]*: " err && grep -qF -- "$1" err
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   exit status $status, expected 3 with '$1'"
    result "$passed" "mesh: $1"
}
cp "$scenes/letter.obj" .
cat > stamp.ini << 'END'
[scene]
[material dough]
youngs_modulus = variable 1000..20000 log start 5000
yield_stress = variable 20..200
[body ball]
shape = sphere
material = dough
center = 0.5 0.13 0.5
radius = 0.13
count = 8000
[tool stamp]
shape = mesh
file = star.obj
scale = 0.24
position = 0.5 0.33 0.5
lower = 0.2 0.09 0.2
upper = 0.8 0.6 0.8
speed = 0.01
[target letter]
shape = mesh
file = letter.obj
scale = 0.36
center = 0.5 0 0.5
count = 8000
END
mesh "the surface has a hole: only face" '$d'
mesh "disagree about inside and outside" '$s/f \([0-9]*\) \([0-9]*\)/f \2 \1/; $s/ \([0-9]*\) \([0-9]*\)$/ \2 \1/'
mesh "the surface is inside out" 's/^f \([0-9]*\) \([0-9]*\) \([0-9]*\)$/f \3 \2 \1/; s/^f \([0-9]*\) \([0-9]*\) \([0-9]*\) \([0-9]*\)$/f \4 \3 \2 \1/'
mesh "has no area" 's/^\(v [^ ]*\) [^ ]*/\1 0/'
mesh "a coordinate is 'nan', not a finite number" 's/^v 0 -0.2/v nan -0.2/'
cp "$scenes/star.obj" star.obj
good "gradients by actions and constants, in contact" eval --env particles --set env.scene=stamp.ini --set env.preset=small \
    --set env.segments=2 --set "env.tool_start=0.5 0.24 0.5 1 0 0 0" --x 0.1,-0.8,0.1,0.2,-0.5,-0.1,3.6,60 --gradient --fd
has "gradient agrees with differences in 8 of 8 components" "they agree with differences"
has "dough.youngs_modulus [log10 Pa]" "variables have the names of the file"

# Every kind of number that can be a variable, and every shape and rotation of a tool.
cat > vary.ini << 'END'
[scene]
gravity = variable 0 -1.5..-0.5 -0.2..0.2 start -1.1 0.05
ground_friction = variable 0.2..2 log
softness = variable 300..1000 log
[material dough]
youngs_modulus = variable 2000..8000 log
poisson_ratio = variable 0.1..0.35
yield_stress = variable 20..200 log
density = variable 0.5..2 log
[material gum]
law = elastic
shear_modulus = variable 500..2000 log
density = variable 0.5..2
[material syrup]
law = fluid
bulk_modulus = variable 500..2000 log
viscosity = variable 0.05..2 log
density = 1.2
[body lump]
shape = box
material = dough
center = variable 0.48..0.52 0.06 0.48..0.52
size = 0.2 0.12 0.2
rotation = variable 0.9..1 0 -0.2..0.2 0
velocity = variable -0.3..0.3
count = 2000
[body blob]
shape = sphere
material = gum
center = 0.75 0.08 0.5
radius = 0.06
velocity = variable -1..0 0 0
count = 800
[body pool]
shape = box
material = syrup
center = variable 0.2 0.06 0.45..0.55
size = 0.2 0.1 0.2
count = 2000
[tool ball]
shape = sphere
radius = variable 0.05..0.07
friction = variable 0.3..1
position = variable 0.45..0.55 0.17..0.19 0.5
speed = 0.01
[tool wall]
shape = box
size = variable 0.02..0.03 0.1 0.2
position = variable 0.63..0.65 0.05 0.5
rotation = variable 1 0 0 -0.2..0.2
move = none
[tool can]
shape = cylinder
radius = variable 0.04..0.05
height = variable 0.05..0.06
position = variable 0.2 0.12..0.14 0.5
friction = variable 0.1..0.5
speed = 0.01
[actions]
segments = 2
steps = 6
[loss near]
term = center
body = lump
tool = ball
weight = 0.5
[loss far]
term = center
body = blob
position = 0.6 0.05 0.5
[loss wet]
term = center
body = pool
position = 0.3 0.05 0.6
[target lump]
shift = 0.05 0 0
END
cat > shapes.ini << 'END'
[material dough]
youngs_modulus = 3000
[body slab]
shape = box
material = dough
center = 0.5 0.06 0.5
size = 0.7 0.1 0.5
count = 6000
[tool pin]
inside = yes
shape = rolling_pin
radius = variable 0.02..0.03
length = variable 0.1..0.2
position = variable 0.3 0.12..0.13 0.5
rotation = variable 0.6..0.8 0.6..0.8 0 0
speed = 0.1
[tool sticks]
inside = yes
shape = chopsticks
radius = variable 0.015..0.02
length = variable 0.1..0.2
gap = variable 0.06..0.08
min_gap = 0.03
position = variable 0.45 0.16..0.18 0.5
rotation = variable 0.9..1 -0.2..0.2 -0.2..0.2 -0.2..0.2
speed = 0.01
[tool pen]
inside = yes
shape = capsule
radius = variable 0.02..0.03
length = variable 0.03..0.05
position = 0.6 0.13 0.5
rotation = variable 0.9 0.3..0.5 0 0
move = pose
speed = 0.02
[tool ring]
inside = yes
shape = torus
radius = variable 0.04..0.06
tube = variable 0.02..0.03
position = 0.72 0.11 0.35
friction = variable 0.1..0.9
speed = 0.01
[tool spoon]
inside = yes
shape = ladle
radius = variable 0.05..0.06
thickness = variable 0.03..0.04
position = variable 0.75 0.15..0.16 0.6
move = pose
speed = 0.01
[tool brick]
inside = yes
shape = box
size = variable 0.05..0.08 0.04..0.05 0.04..0.06
position = 0.5 0.12 0.3
rotation = variable 0.9 -0.2..0.2 -0.2..0.2 -0.2..0.2
move = pose
speed = 0.01
[tool can]
inside = yes
shape = cylinder
radius = variable 0.04..0.05
height = variable 0.05..0.06
position = 0.35 0.12 0.7
rotation = variable 0.9 -0.2..0.2 -0.2..0.2 -0.2..0.2
move = pose
speed = 0.01
[actions]
segments = 1
steps = 3
[target slab]
shift = 0.05 0 0
END
cat > mesh.ini << END
[material dough]
youngs_modulus = 3000
[body slab]
shape = box
material = dough
center = 0.5 0.06 0.5
size = 0.7 0.1 0.5
count = 6000
[tool plate]
inside = yes
shape = mesh
file = $scenes/plate.obj
scale = variable 0.2..0.4 log
position = 0.5 0.13 0.5
rotation = variable 0.9 -0.2..0.2 -0.2..0.2 -0.2..0.2
move = pose
speed = 0.02
[tool star]
inside = yes
shape = mesh
file = $scenes/star.obj
scale = variable 0.1..0.2
position = variable 0.3..0.35 0.13 0.5
speed = 0.02
[actions]
segments = 1
steps = 3
[target slab]
shift = 0.05 0 0
END
cat > throw.ini << 'END'
[material gum]
law = elastic
shear_modulus = variable 500..2000 log
[body ball]
shape = sphere
material = gum
center = variable 0.2..0.3 0.3..0.4 0.5
radius = 0.06
velocity = variable 0..2 0..3 -1..1
count = 1000
[actions]
steps = 10
[loss near]
term = center
position = 0.7 0.05 0.5
END
cat > sand.ini << 'END'
[scene]
gravity = variable 0 -1.5..-0.8 0 start -1
[material sand]
law = sand
youngs_modulus = variable 2000..8000 log
poisson_ratio = variable 0.1..0.35
friction_angle = variable 20..45
density = variable 0.5..2 log
[body heap]
shape = box
material = sand
center = variable 0.48..0.52 0.1 0.5
size = 0.2 0.16 0.2
velocity = variable -0.5..0.5
count = 3000
[tool blade]
shape = box
size = variable 0.02..0.03 0.1 0.2
position = variable 0.33..0.35 0.1 0.5
friction = variable 0.1..0.5
speed = 0.02
[actions]
segments = 2
steps = 10
[loss near]
term = center
position = 0.7 0.05 0.5
END
# Sizes of bodies of all shapes and laws, with tools that touch them.
awk 'BEGIN {
    print "ply\nformat ascii 1.0\nelement vertex 500\nproperty float x\nproperty float y\nproperty float z\nend_header"
    for (i = 0; i < 500; i++) print (i * 0.618034) % 1 - 0.4, (i * 0.754878) % 1 - 0.5, (i * 0.569840) % 1 - 0.5
}' > dots.ply
cat > sizes.ini << END
[material dough]
youngs_modulus = 3000
[material gum]
law = elastic
shear_modulus = variable 500..2000 log
density = 1.5
[material syrup]
law = fluid
bulk_modulus = 800
viscosity = 0.5
[material sand]
law = sand
density = variable 0.8..1.2
[body slab]
shape = box
material = dough
center = 0.25 0.09 0.25
size = variable 0.1..0.2 0.08..0.12 0.15
rotation = variable 0.9..1 0 -0.2..0.2 0
count = 1000
[body ball]
shape = sphere
material = gum
center = 0.42 0.11 0.25
radius = variable 0.05..0.09 log
velocity = 0.2 -0.5 0
count = 500
[body can]
shape = cylinder
material = syrup
center = 0.75 0.11 0.25
radius = variable 0.05..0.09
height = variable 0.1..0.16
velocity = 0 -0.5 0.1
count = 800
[body pill]
shape = capsule
material = sand
center = variable 0.25 0.14..0.15 0.7
radius = variable 0.04..0.06
length = variable 0.08..0.14
rotation = 0.6 0 0 0.8
velocity = 0 -0.3 0
count = 800
[body ring]
shape = torus
material = gum
center = 0.5 0.14 0.7
radius = variable 0.06..0.08
tube = variable 0.03..0.05
rotation = 0.96 0.28 0 0
velocity = 0 -0.4 0.2
count = 800
[body star]
shape = mesh
file = $scenes/star.obj
material = dough
center = 0.77 0.12 0.75
scale = variable 0.15..0.25
velocity = 0 -0.6 0
count = 600
[body dots]
shape = points
file = dots.ply
material = sand
center = 0.5 0.3 0.5
scale = variable 0.05..0.1 log
[tool press]
inside = yes
shape = sphere
radius = 0.1
position = 0.25 0.2 0.25
speed = 0.02
[tool plate]
inside = yes
shape = box
size = 0.3 0.04 0.3
position = 0.77 0.2 0.7
speed = 0.02
[actions]
segments = 2
steps = 6
[target slab]
shift = 0.05 0 0
[loss slab]
term = center
body = slab
position = 0.3 0.2 0.5
[loss ball]
term = center
body = ball
position = 0.4 0.2 0.5
[loss can]
term = center
body = can
position = 0.5 0.2 0.5
[loss pill]
term = center
body = pill
position = 0.6 0.2 0.5
[loss ring]
term = center
body = ring
position = 0.7 0.2 0.5
[loss star]
term = center
body = star
position = 0.3 0.2 0.5
[loss dots]
term = center
body = dots
position = 0.4 0.2 0.5
END
# vary SCENE PARTICLES STEPS POINT: no gradient is wrong or missing; kinks are those of the density loss.
vary() {
    good "$1.ini: gradients by all numbers, point $4" eval --env particles --set env.scene="$1.ini" --set env.preset=small \
        --set env.particles="$2" --set env.steps="$3" --x "random:$4" --gradient --fd
    grep -q "^verdict *gradient agrees with differences in [0-9]* of [0-9]* components\(, kinks in [1-4]\)\{0,1\}$" out
    result $? "they agree with differences"
}
vary vary 200 3 1
vary throw 200 10 1
vary sand 400 10 4
vary mesh 400 3 1
vary sizes 500 4 1
for point in $(all 2 3 4 5 6); do
    vary vary 400 4 "$point"
    vary shapes 400 3 "$point"
    vary mesh 400 3 "$point"
    vary sand 1500 10 "$point"
    vary sizes 2000 6 "$point"
done

# A mesh of another scale has the distances of a mesh read with that scale.
loss_of() {
    "$dshost" eval --env particles --set env.scene="$1" --set env.preset=small --set env.particles=400 \
        --set env.steps=3 --x "$2" 2>> err | sed -n 's/^loss *//p'
}
sed 's/^rotation = .*/rotation = 1 0 0 0/; s/^scale = variable 0.2.*/scale = 0.3/; s/variable 0.3..0.35 0.13/0.32 0.13/' mesh.ini > grown.ini
sed 's/^scale = variable .*/scale = 0.17/' grown.ini > read.ini
moves=0.5,-1,0,0.3,0,0,0.2,-1,0.1
loss_of grown.ini "$moves,0.17" > grown.txt
loss_of read.ini "$moves" > read.txt
[ -s grown.txt ] && paste grown.txt read.txt | awk '{ exit !($1 - $2 < 1e-12 && $2 - $1 < 1e-12 && $1 > 0) }'
result $? "a mesh whose scale is a variable is that of a file read with the scale"

# Half of a quaternion turns as far as all of it.
sed 's/^rotation = .*/rotation = 0.96 0 0.28 0/' read.ini > turned.ini
sed 's/^rotation = .*/rotation = 0.48 0 0.14 0/' read.ini > half.ini
loss_of turned.ini "$moves" > turned.txt
loss_of half.ini "$moves" > half.txt
[ -s turned.txt ] && paste turned.txt half.txt read.txt |
    awk '{ exit !($1 - $2 < 1e-12 && $2 - $1 < 1e-12 && $1 != $3) }'
result $? "a rotation is a quaternion of any length"

# In SI units a body of another size is that of a file with the size: places, masses and volumes.
cat > tank.ini << END
[grid]
size = 1
spacing = 0.04
dt = 0.0005
step = 0.01
[material dough]
youngs_modulus = 1000
density = 2
[material gum]
law = elastic
[material syrup]
law = fluid
[material sand]
law = sand
youngs_modulus = 500
[body slab]
shape = box
material = dough
center = 0.3 0.2 0.5
size = variable 0.1..0.3 0.1..0.3 0.2
rotation = 0.96 0 0.28 0
count = 500
[body ball]
shape = sphere
material = gum
center = 0.55 0.2 0.5
radius = variable 0.05..0.15
velocity = -2 0 0
count = 300
[body can]
shape = cylinder
material = syrup
center = 0.3 0.5 0.5
radius = variable 0.05..0.2
height = variable 0.1..0.3
velocity = 0 -2 0
count = 300
[body star]
shape = mesh
file = $scenes/star.obj
material = sand
center = 0.3 0.2 0.75
scale = variable 0.1..0.35
velocity = 0 0 -2
count = 300
[actions]
segments = 1
steps = 4
[loss near]
term = center
body = slab
position = 0.7 0.1 0.5
END
sed 's/^size = variable.*/size = 0.28 0.24 0.2/; s/^scale = .*/scale = 0.33/; s/^height = .*/height = 0.28/
    s/^radius = variable 0.05..0.15/radius = 0.13/; s/^radius = variable.*/radius = 0.16/
    s/^law = sand/&\ndensity = variable 0.9..1.1/' tank.ini > read.ini
in_tank() {
    "$dshost" eval --env particles --set env.scene="$1" --x "$2" 2>> err | sed -n 's/^loss *//p'
}
in_tank tank.ini 0.28,0.24,0.13,0.16,0.28,0.33 > grown.txt
in_tank read.ini 1 > read.txt
[ -s grown.txt ] && paste grown.txt read.txt | awk '{ exit !($1 - $2 < 1e-12 && $2 - $1 < 1e-12 && $1 > 0) }'
result $? "bodies whose sizes are variables are those of a file with the sizes"
for point in 1 $(all 2 3); do
    good "tank.ini: gradients by sizes, point $point" eval --env particles --set env.scene=tank.ini --x "random:$point" \
        --gradient --fd
    grep -q "^verdict *gradient agrees with differences in [0-9]* of 6 components\(, kinks in [1-2]\)\{0,1\}$" out
    result $? "they agree with differences, or on one side of a kink of the sand"
done

# ---- warnings ----
cat > overlap.ini << 'END'
[material dough]
youngs_modulus = 30000
[body left]
shape = box
material = dough
center = 0.5 0.1 0.5
size = 0.2
count = 1000
[body right]
shape = sphere
material = dough
center = 0.6 0.1 0.5
radius = 0.1
count = 1000
[tool ball]
shape = sphere
radius = 0.05
position = 0.5 0.3 0.5
speed = 0.01
[loss near]
term = center
body = left
position = 0.5 0.1 0.5
END
"$dshost" scene overlap.ini --set env.steps=1 --set env.segments=1 > out 2> err
[ "$(grep -c 'bodies left and right overlap: [0-9]* of their particles begin inside the other body' err)" -eq 1 ] &&
    [ "$(grep -c 'sound in material dough passes 1.17 cells' err)" -eq 1 ]
result $? "each warning is printed once"
cat > pour.ini << 'END'
[material sand]
law = sand
friction_angle = variable 20..45
[body heap]
shape = box
material = sand
center = 0.5 0.4 0.5
size = 0.1
count = 500
[actions]
segments = 1
steps = 5
[loss near]
term = center
position = 0.7 0.05 0.5
END
"$dshost" scene pour.ini > out 2> err && grep -q 'pour.ini: at the start no variable changes the loss (the gradient is zero)' err
result $? "sand that falls past the end of the episode has no gradient, and dshost scene says so"
sed 's/^shape = box/&\nvelocity = variable 0..1 0 0/' pour.ini > pushed.ini
"$dshost" scene pushed.ini > out 2> err && [ ! -s err ]
result $? "with one variable that matters it does not"
sed 's/^center = 0.6/center = 0.71/; s/^youngs.*/youngs_modulus = 3000/' overlap.ini > apart.ini
"$dshost" scene apart.ini --set env.steps=1 --set env.segments=1 > out 2> err && ! grep -v "no variable changes the loss" err
result $? "bodies side by side do not overlap"

printf '[scene]\ninclude = torus.ini\n[material plasticine]\nyield_stress = 60\n' > more.ini
cp "$scenes/torus.ini" torus.ini
sed 's/^yield_stress.*/yield_stress = 60/' torus.ini > changed.ini
for f in more changed; do
    "$dshost" eval --env particles --set env.scene=$f.ini --set env.preset=small --x random:3 2> err | grep '^loss' > $f.txt
done
[ -s more.txt ] && cmp -s more.txt changed.txt
result $? "an included file, whose keys the file replaces"
printf '[scene]\ninclude = loop.ini\n' > loop.ini
run "$dshost" eval --env particles --set env.scene=loop.ini
[ "$status" -eq 3 ] && grep -q "loop.ini:2: more than 15 included files" err
result $? "files that include each other"

# ---- bodies and targets that the grid of a preset cannot hold ----
sed 's/^center = 0.5 0.13 0.5/center = 0.8 0.13 0.5/' stamp.ini > own.ini
bad 3 "body ball has a particle at x = 0.9" eval --env particles --set env.scene=own.ini --set env.preset=small --x start
good "but that of the other" eval --env particles --set env.scene=own.ini --set env.steps=1 --set env.segments=1 --x start
sed 's/^center = 0.5 0 0.5/center = 0.8 0 0.5/' stamp.ini > own.ini
bad 3 "the target reaches out of the grid, which holds material from 0 to 0.9062" eval --env particles \
    --set env.scene=own.ini --set env.preset=small --x start

good "the metrics of a tank" eval --env particles --set env.scene="$scenes/fluid.ini" --set env.preset=small \
    --set env.steps=5 --x 1,-1,0.5,0.5,0,0,0,0,0,0 --trajectory tank.csv
head -n 1 tank.csv | grep -q '/cube_y.*/ladle_x.*/loss_lifted.*/loss_middle,.*/loss,.*/speed,.*/volume_most'
result $? "centres, tools, terms, loss, speed, volumes"

# ---- cameras, points ----
cat > seen.ini << 'END'
[scene]
include = stamp.ini
[camera]
position = 0.9 20 30 0.9 80 0
look_at = 0.5 0.1 0.5
size = 24
disc_radius = 0.03
[loss]
states = image
frames = 2
END
good "images of two cameras" eval --env particles --set env.scene=seen.ini --set env.preset=small --set env.segments=1 \
    --set "env.tool_start=0.5 0.24 0.5 1 0 0 0" --x 0.1,-0.8,0.1,3.6,60 --gradient --fd
has "gradient agrees with differences in 5 of 5 components" "they agree with differences"
"$dshost" eval --env particles --set env.scene=stamp.ini --set env.preset=small --set env.loss=image --set env.frames=2 \
    --set env.image_size=24 --set env.disc_radius=0.03 --set "env.camera=0.9 20 30 0.9 80 0" \
    --set "env.look_at=0.5 0.1 0.5" --x start 2> err | grep '^loss' > parameters.txt
"$dshost" eval --env particles --set env.scene=seen.ini --set env.preset=small --x start 2> err | grep '^loss' > out
[ -s out ] && cmp -s out parameters.txt
result $? "which are those of the parameters"
sed 's/^size.*/size = 2/' seen.ini > own.ini
bad 3 "own.ini:6: size = 2 is out of range" eval --env particles --set env.scene=own.ini

# Mistakes are found whether or not the loss uses images.
end=$(wc -l < "$scenes/torus.ini")
camera() { # camera TEXT KEY=VALUE: [camera] with that key is refused
    wrong ":$((end + 2))" "$1" "\$a [camera]\n$2"
}
camera "position has 2 values: give distance, elevation and azimuth of each camera" "position = 0.9 20"
camera "position = nan 20 0: expected numbers" "position = nan 20 0"
camera "position = 0.9 inf 0: expected numbers" "position = 0.9 inf 0"
camera "camera 2 looks straight along y" "position = 1 20 0 1 -90 0"
camera "unknown key 'postion' in [camera]" "postion = 1 20 0"
camera "look_at has 2 values: give x, y and z of one point, or of one for each camera" "look_at = 0.5 0.5"
: > goal.png
sed '/^\[target/,/^variant/d; /^\[loss/,$d' "$scenes/torus.ini" > own.ini
printf '[loss]\nstates = image\nimages = goal.png\n[loss up]\nterm = height\nabove = 0.1\n' >> own.ini
bad 3 "own.ini:$(grep -n ^states own.ini | cut -d: -f1): states = image compares the material with a target" scene own.ini

# points COLUMNS NUMBER: two points of COLUMNS numbers each, of which the last is NUMBER, eight bytes in octal.
points() {
    printf "\\223NUMPY\\001\\000\\166\\000%-117s\\n" "{'descr': '<f8', 'fortran_order': False, 'shape': (2, $1), }" > two.npy
    i=1
    while [ $i -lt $((2 * $1)) ]; do
        printf '\000\000\000\000\000\000\340\077' >> two.npy
        i=$((i + 1))
    done
    printf "$2" >> two.npy
}
sed 's/^shape = sphere/shape = points\nfile = two.npy\nscale = 0.1/; /^radius/d; /^count = 8000/d' stamp.ini |
    sed 's/^scale = 0.36/&\ncount = 8000/' > own.ini
points 3 '\000\000\000\000\000\000\340\077'
good "points of an .npy file" eval --env particles --set env.scene=own.ini --x start
points 3 '\000\000\000\000\000\000\360\177'
bad 3 "two.npy: number 5 is not finite" eval --env particles --set env.scene=own.ini
points 4 '\000\000\000\000\000\000\340\077'
bad 3 "an array of n x 3 numbers; this one has 4 columns" eval --env particles --set env.scene=own.ini

# ---- deformable bodies ----
for t in soft_ball walker $(all beam gear); do
    same "$t" soft
done
# soft LINE TEXT EDIT: the finger changed by a sed command is refused; LINE is a pattern of the line, "" for none.
soft() {
    sed "$3" "$scenes/finger.ini" > own.ini
    at=${1:+:$(grep -n "$1" own.ini | head -n 1 | cut -d: -f1)}
    run "$dshost" eval --env soft --set env.scene=own.ini
    [ "$status" -eq 3 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -qF "own.ini$at: " err && grep -qF -- "$2" err
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   exit status $status, expected 3 with 'own.ini$at' and '$2'"
    result "$passed" "soft: $2"
}
# body TEXT EDIT: the finger's mesh changed by a sed command is refused, with the line of the scene that names it.
body() {
    sed "$2" "$scenes/finger.msh" > finger.msh
    soft '^file' "$1" ''
}
cp "$scenes/finger.ini" "$scenes/finger.msh" .
soft '^yougs' "unknown key 'yougs_modulus' in [material flesh]: expected one of law, youngs_modulus" '0,/^youngs/s/^youngs/yougs/'
soft '^poisson' "poisson_ratio = 0.5 is out of range: use a value from 0 to 0.499" '0,/^poisson/s/^poisson.*/poisson_ratio = 0.5/'
soft '^mu' "remove one pair" '0,/^poisson.*/s/^poisson.*/mu = 1000/'
soft '^.bdy' "unknown section [bdy finger]: expected one of scene, material, body" 's/^\[body/[bdy/'
soft '^shape' "shape = 'gaer': expected one of box, ball, gear, walker, mesh; did you mean 'gear'?" '0,/^shape/s/^shape.*/shape = gaer/'
soft '^shape' "shape = walker needs a material with law = membrane" '0,/^shape/s/^shape.*/shape = walker/'
soft '^.body' "[body finger] needs the key 'size'" '0,/^shape/s/^shape.*/shape = box/'
soft '^material' "section [material fesh] is missing: there is flesh, spine; did you mean 'flesh'?" 's/^material = flesh/material = fesh/'
soft '^group = 4' "group = 4: the tetrahedra of the mesh have the groups 1, 2, 3" 's/^group = spine/group = 4/'
soft '^.region' "none of the 360 tetrahedra of [body finger] is in this region" 's/^group = spine/box = 3 3 3 4 4 4/'
soft '^.target' "no body or cloth has the name 'fingr': there is finger; did you mean 'finger'?" 's/^.target.*/[target fingr]/'
soft '^body = f' "no body or cloth has the name 'fnger': there is finger" 's/^.hold.*/&\nbody = fnger/'
soft '^rotation' "rotation has 3 numbers: give the four of a quaternion w x y z" 's/^center.*/&\nrotation = 0 0 90/'
soft '^model' "a scene of soft bodies has no model: this is one of cloth" 's/^duration.*/&\nmodel = membrane/'
soft '^.hold' "none of the 132 vertices of [body finger] is in this part" 's/^box = -1 0.1499/box = -1 0.1599/'
soft '^box = 1' "box is LOWER UPPER, three numbers each: 1 is above -1" 's/^box = -1 0.1499 -1 1/box = 1 0.1499 -1 -1/'
soft '^.obstacle' "a body begins 0.00" 's/^radius = .*/radius = 0.03/'
soft '^.muscle tip' "this muscle has no elements" 's/^box = -1 0 -1 1 0.08 1/box = -1 0 -1 1 0.01 1/'
soft '^phases' "phases needs at least one number" 's/^weights.*/&\nphases =/'
soft '^weights' "weights are variables" 's/^weights.*/weights = 1/'
soft '^.control' "[control] has the key 'sectors' or sections [muscle NAME]: give one of them" 's/^weights/sectors = 4\nweights/'
soft '^.target' "[target finger] needs one of: shift, center" '/^shift/d'
soft '^youngs_modulus = var' "the target is a shape or a recording, not an episode: remove 'truth'" 's/log start 1e5/& truth 1e5/'
soft '^youngs_modulus = var' "add 'truth VALUE' to the variable, or a section [target BODY]" '/^.target/,/^shift/d'
soft '^.loss' "images show all vertices" 's/^compare.*/compare = image/'
soft '' "the scene has no variables" 's/= variable.*start 1e5/= 1e5/; /^.control/,/^.target/{/^.target/!d}'
soft '^segments' "segments and move belong to variables, and velocity is a number" 's/^.target/[drive tip]\nbox = -1 0 -1 1 0.0501 1\nvelocity = 1 0 0\nsegments = 2\n&/'
soft '^.drive' "is held or driven already" 's/^.target/[drive top]\nbox = -1 0.1499 -1 1 1 1\nvelocity = 1 0 0\n&/'
soft '^duration' "duration cannot be a variable: give a number (variables can be: gravity and wind of [scene]" 's/^duration = .*/duration = variable 0..1/'
soft '^rotation' "this one is zero: give its start" 's/^center.*/&\nrotation = variable -1..1/'
soft '^rotation' "random belongs to velocities" 's/^center.*/&\nrotation = variable -1..1 start 0.5 random 0.1/'
soft '^phases' "phases has 17 numbers: give 1 to 16" 's/^weights.*/&\nphases = variable 0..1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17/'
soft '^scale' "scale = 0 is out of range: use a value from 1e-06 to 1000000" 's/^center.*/&\nscale = variable 0..1/'
soft '^position = var' "position cannot be a variable: give a number (variables can be" '/^.camera/,$s/^position.*/position = variable 0..1/'
soft '^position = 0 10' "camera 1 is at the point it looks at: give a distance above 0" 's/^position = 0.4 .*/position = 0 10 0/'
soft '^position = 0.4' "position has 2 values: give distance" 's/^position = 0.4 .*/position = 0.4 10/'
soft '^look_at' "unknown key 'look_at' in [camera]" 's/^position = 0.4 .*/look_at = 0 0 0/'
body "finger.msh:147: tetrahedron 1 has no volume" '147s/.*/1 4 2 1 1 1 2 3 4/'
body "finger.msh:12: a coordinate is 'nan', not a finite number" '12s/ [^ ]*/ nan/'
body "finger.msh:147: node 999 does not exist" '147s/[0-9]*$/999/'
body "finger.msh:149: tetrahedron 3 has a face that two others already share" '148,149s/^\([0-9]*\).*/\1 4 2 1 1 1 2 6 50/'
sed 's/^132$/133/; s/^1 [-0-9.]* [-0-9.]* [-0-9.]*$/1000 9 9 9\n&/' "$scenes/finger.msh" > finger.msh
for f in $scenes/finger.ini finger.ini; do
    "$dshost" eval --env soft --set "env.scene=$f" --set env.duration=0.05 --x start 2> err | grep '^loss'
done > losses
[ "$(uniq losses | wc -l)" -eq 1 ] && [ "$(wc -l < losses)" -eq 2 ]
result $? "soft: a vertex without tetrahedra does not count"
soft '^file' "the mesh has triangles only" "s|^file.*|file = $scenes/star.obj|"
cp "$scenes/finger.msh" .
# A mesh with a tetrahedron of negative volume counts as it is meant, with a warning.
sed '147s/ \([0-9]*\) \([0-9]*\)$/ \2 \1/' finger.msh > turned.msh
sed 's/^file.*/file = turned.msh/' "$scenes/finger.ini" > own.ini
status 0 "a tetrahedron of negative volume" "$dshost" eval --env soft --set env.scene=own.ini --set env.duration=0.05 --x start
grep '^loss' out > turned.txt && head -n 1 losses | cmp -s - turned.txt && grep -qF "turned.msh: 1 of 360 tetrahedra have a negative volume and are turned over, the first is number 1" err
result $? "is turned over, with a line"
# The same mesh as MSH 4.1: volumes and a surface with physical groups and names.
awk 'FNR == NR { if ($1 == "$Nodes") { part = 1 } else if ($1 == "$Elements") { part = 2 } else if (part == 1 && NF == 4) {
         n++; x[$1] = $2 " " $3 " " $4; if ($3 + 0 == 0) top[$1] = 1 }
         else if (part == 2 && NF == 9) { m++; el[$4, ++count[$4]] = $1 " " $6 " " $7 " " $8 " " $9; split("6 7 8 9", c, " "); t = ""; k = 0
             for (i = 1; i <= 4; i++) if ($c[i] in top) { t = t " " $c[i]; k++ }
             if (k == 3) face[++faces] = t } next }
     END { print "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n4\n2 7 \"top side\"\n3 1 \"muscle\"\n3 2 \"flesh\"\n3 3 \"spine\"\n$EndPhysicalNames"
         print "$Entities\n1 0 1 3\n1 0 0 0 0\n5 -1 -1 -1 1 1 1 1 7 0"; for (g = 1; g <= 3; g++) print 100 + g, "-1 -1 -1 1 1 1 1", g, "1 5"
         print "$EndEntities\n$Nodes\n1", n, 1, n "\n3 101 0", n; for (i = 1; i <= n; i++) print i; for (i = 1; i <= n; i++) print x[i]
         print "$EndNodes\n$Elements\n4", m + faces, 1, m + faces "\n2 5 2", faces; for (i = 1; i <= faces; i++) print 9000 + i face[i]
         for (g = 1; g <= 3; g++) { print "3", 100 + g, 4, count[g]; for (i = 1; i <= count[g]; i++) print el[g, i] }
         print "$EndElements" }' finger.msh finger.msh > named.msh
sed 's/^file.*/file = named.msh/; s/^box = -1 0.1499.*/group = top side/' "$scenes/finger.ini" > named.ini
good "physical groups of MSH 4.1, by name" eval --env soft --set env.scene=named.ini --set env.duration=0.05 --x 5.1,2,2,1
sed 's/^group = spine/group = 3/; s/^group = muscle/group = 1/' "$scenes/finger.ini" > finger.ini
for f in finger named; do
    "$dshost" eval --env soft --set env.scene=$f.ini --set env.duration=0.05 --x 5.1,2,2,1 2> err | awk '$1 == "loss" { printf "%.12f\n", $2 }'
done | uniq | wc -l | grep -qx 1
result $? "have the results of the groups of MSH 2.2"
sed 's/^group = spine/group = spin/' named.ini > own.ini
bad 3 "group = spin: the mesh names top side, muscle, flesh, spine" eval --env soft --set env.scene=own.ini
good "gradients by weights and a modulus, in contact" eval --env soft --set env.scene=finger.ini --set env.duration=0.12 --x 5.1,2,2,1 --gradient --fd
has "gradient agrees with differences in 4 of 4 components" "they agree with differences"
has "spine.youngs_modulus [log10 Pa]" "variables have the names of the file"
cat > parts.ini <<'END'
[scene]
gravity = variable 5..15 start 9
duration = 0.2
[material flesh]
youngs_modulus = variable 1e4..4e4 log
poisson_ratio = variable 0.1..0.45
damping = variable 1..10 log
density = variable 50..200
[material bone]
mu = variable 1e4..4e4 log
lambda = variable 1e4..4e4
damping = 5
density = variable 100..300 log
[body arm]
shape = box
material = flesh
size = 1 0.2 0.2
cells = 5 1 1
center = 0 0.6 0
rotation = 0.98 0 0 0.2
[body ball]
shape = ball
material = flesh
center = 0 3 0
velocity = variable -1..1 -5..0 -1..1 start 0.1 -3 0.2
[region middle]
body = arm
sphere = 0 0.6 0 0.25
material = bone
[hold left]
body = arm
box = -2 -2 -2 -0.4 2 2
[drive right]
body = arm
box = 0.4 -2 -2 2 2 2
velocity = variable -1..1 start 0.3
move = xz
segments = 3
[force wind]
body = ball
force = variable -20..20 start 5
move = z
[ground]
[obstacle plate]
shape = box
size = 4 0.2 4
position = 0 1.6 0
rotation = 0.99 0 0 0.1
[target arm]
shift = 0.1 0.1 0
[target ball]
center = 0 2 0
[loss]
compare = points
END
good "gradients by everything that can be a variable" eval --env soft --set env.scene=parts.ini --x random:1 --gradient --fd
has "gradient agrees with differences in 18 of 18 components" "18 variables, two bodies, two materials"
# Bodies touch each other, or are reported to overlap.
press=$DS_TOP_SRC/tests/data/scenes/pressed.ini
sed 's/^center = variable -0.05..0.05 0.33..0.35/center = variable -0.05..0.05 0.29..0.31/; s/^rotation.*//' "$press" > deep.ini
"$dshost" eval --env soft --set env.scene=deep.ini --set env.duration=0.02 > out 2> err
[ "$(grep -c 'deep.ini: .body low. begins 0.01 m inside .body high., at .*: contact throws them apart' err)" -eq 1 ]
result $? "soft: how far two bodies overlap"
sed '/^.contact/,/^offset/d' deep.ini > through.ini
"$dshost" eval --env soft --set env.scene=through.ini --set env.duration=0.02 > out 2> err
grep -q 'without a section .contact. they pass through each other' err
result $? "soft: without contact they pass through each other"
sed '/^.body high/,/^velocity/d; /^.target/,/^shift/d; s/^body = high/body = low/; s/^.loss/[target low]\nshift = 0 0 0\n[loss/' "$press" > one.ini
bad 3 "[contact] needs two bodies of tetrahedra: remove it" eval --env soft --set env.scene=one.ini
sed 's/^.target high/[target/' "$press" > one.ini
bad 3 "this section needs the name of its body: there is low, high" eval --env soft --set env.scene=one.ini
sed 's/^.loss/[hold x]\n[loss/' "$press" > one.ini
bad 3 "this section needs the key 'body': there is low, high" eval --env soft --set env.scene=one.ini
# The first contact of the gripper: both fingers have closed, and the ball lies on the table.
good "fingers touch a ball" eval --env soft --set "env.scene=$scenes/gripper.ini" --set env.duration=0.06 --x 0.1,0,0,0.1,0,0,1.8,1.8 --gradient
awk '$2 ~ /^weights/ { n++; zero += $NF == 0 } END { exit !(n == 2 && zero == 0) }' out
result $? "and it feels their muscles"
# Twelve forces on one body, more numbers together than its vertices have, act like their sum.
cp parts.ini gusts.ini
for k in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '[force gust%d]\nbody = ball\nforce = 1 0.5 0\n' $k; done >> gusts.ini
(cat parts.ini && printf '[force gale]\nbody = ball\nforce = 12 6 0\n') > gale.ini
good "twelve forces on a body" eval --env soft --set env.scene=gusts.ini --x random:1 --gradient
mv out gusts.out
good "and their sum" eval --env soft --set env.scene=gale.ini --x random:1 --gradient
awk '/^loss/ { if (NR == FNR) a = $2; else exit !(($2 - a)^2 < 1e-20 * a^2) }' gusts.out out
result $? "have one loss"
sed 's/ truth [^ ]*//; s/^\(gravity.*\)/\1 truth 9.5/; s/^\(youngs_modulus.*\)/\1 truth 2e4/; s/^\(poisson_ratio.*\)/\1 truth 0.3/
    s/^\(damping = var.*\)/\1 truth 2/; s/^\(density.*\)/\1 truth 120/; s/^\(mu.*\)/\1 truth 2e4/; s/^\(lambda.*\)/\1 truth 2e4/
    s/^\(velocity.*\) start .*/\1 truth -0.2/; s/^\(force.*\)/\1 truth 5/; /^.target/d; /^shift/d; /^center = 0 2 0/d' parts.ini > truth.ini
good "an episode with the true values makes the target" eval --env soft --set env.scene=truth.ini \
    --x 9.5,4.3010299956639813,0.3,0.30102999566398120,120,4.3010299956639813,2e4,2.0791812460476247,-0.2,-0.2,-0.2,-0.2,-0.2,-0.2,-0.2,-0.2,-0.2,5
grep -q '^loss *[0-9.]*e-[23]' out
result $? "where the loss is 0 but for rounding"
# A rod at rest, and a recording in which two of its vertices are 10 mm away: the mean squared distance is 1e-4.
cat > marker.ini <<'END'
[scene]
gravity = 0 0 0
duration = 0.1
[material]
youngs_modulus = variable 5e3..5e4 log
[body rod]
shape = box
size = 1 0.2 0.2
cells = 5 1 1
[hold left]
box = -1 -1 -1 -0.49 1 1
[marker end]
position = 0.6 -0.1 0.1
columns = 1 2 3
[marker middle]
position = 0.1 0.1 -0.1
columns = 4 5 6
[target]
file = motion.csv
scale = 0.001
[loss]
compare = points
frames = 2
END
printf '510,-100,100,100,90,-100\n500,-110,100,110,100,-100\n' > motion.csv
good "recorded vertices" eval --env soft --set env.scene=marker.ini --x start
grep -q '^loss *\(0.000100000000\|9.9999999\)' out
result $? "their mean squared distance"
sed 's/^gravity.*/gravity = 0 -9 0/' marker.ini > own.ini
good "gradient by recorded vertices" eval --env soft --set env.scene=own.ini --x start --gradient --fd
has "gradient agrees with differences in 1 of 1 components" "it agrees with differences"
marker() { # marker LINE TEXT EDIT
    sed "$3" marker.ini > own.ini
    bad 3 "own.ini:$1: $2" eval --env soft --set env.scene=own.ini
}
marker 16 "another marker has the same nearest vertex" 's/^position = 0.1.*/position = 0.5 -0.1 0.1/'
marker 19 "the markers name 5 columns: each needs three" 's/^columns = 4 5 6/columns = 4 5/'
marker 18 "markers are compared as points" 's/^compare.*/compare = centre/'
marker 19 "the recording has 2 rows, and 3 states are compared" 's/^frames = 2/frames = 3/'
marker 19 "$PWD/none.csv" 's/^file.*/file = none.csv/'
marker 12 "markers need a section [target]" '/^.target/,/^scale/d'
# Hooke's law: 0.4 N at the end of a rod of 1 m x 0.04 m^2 of 10 kPa make it 1 mm longer.
cat > pull.ini <<'END'
[scene]
gravity = 0 0 0
duration = 4
[material]
youngs_modulus = 1e4
poisson_ratio = 0
damping = 100
density = 100
[body rod]
shape = box
size = 1 0.2 0.2
cells = 10 2 2
[hold left]
box = -1 -1 -1 -0.49 1 1
[force right]
box = 0.49 -1 -1 1 1 1
force = variable 0..10 start 0
move = x
[target rod]
shift = 0.001 0 0
[loss]
compare = centre
box = 0.49 -1 -1 1 1 1
END
good "a rod under a force" eval --env soft --set env.scene=pull.ini --x 0.4
grep -q '^loss .*e-1[12]$' out
result $? "youngs_modulus is that of Hooke's law"
good "without a file there is a soft body" eval --env soft --x start
# ---- terms of the loss, velocities, motion between segments, a space of its own ----
cat > terms.ini << 'END'
[scene]
gravity = 0 -1 0
[material dough]
youngs_modulus = 3000
[body lump]
shape = box
material = dough
center = 0.5 0.06 0.5
size = 0.2 0.12 0.2
count = 2000
[body other]
shape = sphere
material = dough
center = 0.75 0.07 0.5
radius = 0.06
count = 800
[tool ball]
shape = sphere
radius = 0.06
position = 0.5 0.19 0.5
speed = 8
[tool wall]
shape = box
size = 0.02 0.1 0.2
position = 0.64 0.05 0.5
move = none
[target lump]
shift = 0.05 0 0
[actions]
control = velocity
motion = spline
segments = 4
steps = 8
[loss]
states = step_sum
[loss place]
term = region
body = lump
shape = torus
radius = 0.08
tube = 0.02
position = 0.55 0.03 0.52
weight = 30
[loss near]
term = center
body = lump
tool = ball
along = xz
weight = 0.5
[loss low]
term = height
body = lump
below = 0.055
weight = 3
END
good "all terms, splines" eval --env particles --set env.scene=terms.ini --set env.preset=small --x random:2 --gradient --fd
has "gradient agrees with differences in 12 of 12 components" "they agree with differences"
has "ball.vx.0 [m/s]" "velocities"
sed 's/motion = spline/motion = lines/; /^.target/,/^shift/d' terms.ini > lines.ini
good "without a target, along lines" eval --env particles --set env.scene=lines.ini --set env.preset=small --x random:5 --gradient --fd
has "gradient agrees with differences in 12 of 12 components" "they agree, too"
# refused LINE TEXT EDIT: a scene changed by a sed command
refused() {
    sed "$3" terms.ini > own.ini
    bad 3 "own.ini:$(grep -n "$1" own.ini | head -n 1 | cut -d: -f1): $2" scene own.ini --set env.preset=small
}
refused '^position = 0.5 0.08' "tool ball begins 0.0" 's/^position = 0.5 0.19 0.5/position = 0.5 0.08 0.5/'
sed 's/^position = 0.5 0.19 0.5/position = 0.5 0.08 0.5/; s/^radius = 0.06$/&\ninside = yes/' terms.ini |
    sed '/^.body other/,/^count/{/^inside/d}' > own.ini
good "which the scene can allow" eval --env particles --set env.scene=own.ini --set env.preset=small --x start
refused '^count' "count = 10000000 is out of range: use a value from 1 to 1000000" 's/^count = 2000/count = 10000000/'
refused '^.loss low' "a term 'height' needs either above or below" '/^below/d'
refused '^.loss near' "a term 'center' needs either position or tool" '/^tool/d'
refused '^tool' "section [tool bell] is missing" 's/^tool = ball/tool = bell/'
refused '^along' "along = up: expected some of the axes" 's/^along = xz/along = up/'
refused '^.loss place' "the key 'body' must name one" '/^.loss place/,/^shape/{/^body/d}'
refused '^shape = ladle' "a region is a sphere" 's/^shape = torus/shape = ladle/'
refused '^term = centre' "term = 'centre': expected one of center, height, region; did you mean 'center'?" 's/^term = center/term = centre/'
sed 's/^dt.*/dt = 0.003/' "$scenes/fluid.ini" > own.ini
bad 3 "own.ini:$(grep -n ^dt own.ini | cut -d: -f1): a step of 0.02 s must hold a whole number of time steps" scene own.ini
sed 's/^spacing = 0.02/spacing = 0.021/' "$scenes/fluid.ini" > own.ini
bad 3 "use a whole number of them" scene own.ini
{ cat "$scenes/fluid.ini"; printf '[target cube]\nshift = 0 0.1 0\n'; } > own.ini
bad 3 "a target is a density of the unit cube" scene own.ini

# ---- dshost new scene, dshost scene ----
mkdir -p new
good "a scene to start from" new scene mine --from torus --out new/mine.ini
grep -q 'dshost scene mine.ini -o mine.png' new/mine.ini && grep -q 'env.scene=mine.ini' new/mine.ini && grep -q '= torus.targets' new/mine.ini
result $? "its comments name the new file"
for f in new/mine $scenes/torus; do
    "$dshost" eval --env particles --set env.scene=$f.ini --set env.preset=small --x start 2> err | grep '^loss'
done | uniq | wc -l | grep -qx 1
result $? "and it runs at once"
bad 6 "new/mine.ini already exists" new scene mine --from torus --out new/mine.ini
good "a scene with meshes" new scene stamp --from press --out new/stamp.ini
[ -s new/plate.obj ] && [ -s new/puck.obj ]
result $? "brings its meshes"
good "a scene is checked and drawn" scene new/stamp.ini --set env.preset=small -o stamp.png
has "material  ball             1000 particles, x 0.38" "particles and extent"
has "tool      plate            mesh of 32 triangles" "tools"
has "variables 11: plate 9, dough 2" "variables"
has "memory    " "memory"
grep -q "time      .* s, with gradient " out && [ -s stamp.png ]
result $? "time, picture"
good "from another side" scene new/stamp.ini --set env.preset=small -o side.png --camera 30,8
! cmp -s stamp.png side.png
result $? "it differs"

# A scene's first camera is that of its pictures; its azimuth counts from -z.
mkdir -p new/seen
printf '[scene]\ninclude = ../stamp.ini\n[camera]\nposition = 0 8 150 0 70 0\n' > new/seen/stamp.ini
good "a scene with cameras" scene new/seen/stamp.ini --set env.preset=small -o seen.png
cmp -s side.png seen.png
result $? "is drawn from the first one"
good "unless --camera is given" scene new/seen/stamp.ini --set env.preset=small -o other.png --camera 90,40
good "for a scene without cameras, too" scene new/stamp.ini --set env.preset=small -o usual.png --camera 90,40
cmp -s other.png usual.png
result $? "the pictures are the same"
status 0 "a run" "$dshost" run --env particles --set env.scene=new/seen/stamp.ini --set env.preset=small \
    --set env.steps=5 --opt rand --budget 2 --seed 1 --out seen --pictures yes
cp seen/best.png best.png
good "its picture again" picture seen --best --camera 30,8
cmp -s seen/best.png best.png
result $? "the picture of the best episode has the scene's camera"
good "from elsewhere" picture seen --best --camera 90,40
! cmp -s seen/best.png best.png
result $? "it differs"
for f in html png; do
    good "an episode as .$f" view seen -o own.$f
    good "from the same side" view seen -o same.$f --camera 30,8
    good "from another side" view seen -o other.$f --camera 90,40
    cmp -s own.$f same.$f && ! cmp -s own.$f other.$f
    result $? "its .$f has the scene's camera"
done
good "a scene of soft bodies" scene "$scenes/finger.ini" -o soft.png
good "from the same side" scene "$scenes/finger.ini" -o same.png --camera 180,10
cmp -s soft.png same.png
result $? "it has the scene's camera"
"$dshost" scene new/mine.ini --set env.steps=1000 --json > out 2> err && grep -q '"estimated": true' out && grep -q '"loss": null' out
result $? "a long episode is estimated"
sed 's/^count.*/count = 0/' new/mine.ini > zero.ini
bad 3 "zero.ini:$(grep -n ^count zero.ini | cut -d: -f1): count = 0 is out of range" scene zero.ini
good "a scene of cloth is known by its sections" scene "$scenes/drape.ini"
has "drape.ini: a scene of cloth" "and opened with its environment"
printf "[scene]\ninclude = %s\n" "$scenes/beam.ini" > more.ini
"$dshost" scene more.ini --set env.duration=0.05 > out 2> err && grep -q "more.ini: a scene of soft" out
result $? "also through what it includes"
sed '/^file = plate.obj/a cells = 30' new/stamp.ini > new/fine.ini
good "a tool may have the key cells, as soft bodies" scene new/fine.ini --set env.preset=small --set env.steps=5
has "new/fine.ini: a scene of particles" "it does not make the scene one of soft bodies"
sed '/^ground_friction/d; s/^youngs_modulus.*/youngs_modulus = 1e7/' new/mine.ini > hard.ini
cp new/*.targets . 2> /dev/null
run "$dshost" scene hard.ini --set env.preset=small --set env.steps=5
grep -q "warning: particles: sound in material .* passes .* cells in a substep" err
result $? "a material that is too stiff for the time steps"
printf "[scene]\ninclude = %s\nsubsteps = 1\n" "$scenes/finger.ini" > hasty.ini
run "$dshost" scene hasty.ini
[ "$status" -eq 5 ] && grep -qF "hasty.ini: the episode at the start fails: diverged: not finite any more" err
result $? "an episode that explodes from the start says so"
has "variables 4: spine.youngs_modulus, weights 3" "variables without a group have their names"
bad 2 "name the scene file" scene
bad 2 "ends with .png" scene new/mine.ini -o mine.gif
bad 2 "--camera 1,2,3,4: expected AZIMUTH,ELEVATION" scene new/mine.ini -o mine.png --camera 1,2,3,4

# ---- dshost target ----
cat > press.ini << 'END'
[scene]
include = torus.ini
[target]
file = goal.npy
END
good "a target of a mesh" target "$scenes/letter.obj" -o goal.npy --scale 0.36 --nodes 32 --particles 1250
has "goal.npy: 32 x 32 x 32 nodes, mass 0.305176 kg, from 100000 points" "nodes and mass"
sed -i '/^\[target/,/^variant/d' torus.ini
good "a scene with it" eval --env particles --set env.scene=press.ini --set env.preset=small --x start
status 0 "a run" "$dshost" run --env torus --set env.preset=small --opt rand --budget 2 --out run --pictures no
good "a target of its best episode" target run -o end.npy --nodes 32
status 0 "is reached by its best point" "$dshost" eval --env torus --set env.preset=small --set env.target=end.npy --x run --metrics
awk '$1 == "density" { found = $3 < 1e-12 } END { exit !found }' out
result $? "with the density of the target"
printf '0.5 0.5 0.5\n0.5 0.6 0.5\n' > two.txt
printf '0.5 0.5 0.5\n0.5 0.7 0.5\n' > far.txt
good "a target of points" target two.txt -o two.npy --nodes 8
bad 3 "point 1 is at 0.5 0.7 0.5: the grid of 8 nodes takes 0 to 0.625" target far.txt -o no.npy --nodes 8
bad 3 "reaches from -0.2 to 0.2 along y" target "$scenes/star.obj" -o no.npy
bad 2 "expected a mesh" target two -o no.npy
bad 2 "--nodes 3000: expected a whole number from 8 to 128" target two.txt -o no.npy --nodes 3000
bad 2 "--frame 99: the episode has the frames 0 to 10" target run -o no.npy --frame 99
bad 2 "ends with .npy" target two.txt -o two.png
[ ! -e no.npy ]
result $? "what is refused writes nothing"

good "without a file there is a scene" eval --env particles --set env.preset=small --x start
finish
