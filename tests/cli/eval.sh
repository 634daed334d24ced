#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# eval.sh - `dshost eval`: the forms of --x, the JSON contract, gradients, metrics, trajectories, failures of
# plugins.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99
HOME=$tmp
export HOME

field() { # field KEY: the text of a value that is no list, from --json
    sed -n "s/.*\"$1\": \\([^,}]*\\)[,}].*/\\1/p" out
}
list() { # list KEY: the numbers of a list, without brackets
    sed -n "s/.*\"$1\": \\[\\([^]]*\\)\\].*/\\1/p" out
}
keys() { # the keys in order, without those inside metrics
    sed 's/, "metrics": {.*/, "metrics": 0}/' out | grep -o '"[a-z_]*": ' | tr -d '":\n'
}
sphere="--env analytic --set env.dim=3 --set env.optimum=origin"

# ---- JSON ----
# shellcheck disable=SC2086
good "json" eval $sphere --json
[ "$(keys)" = "env n x loss outcome gradient gradient_kind steps wall_s " ]
result $? "the keys of the contract"
[ "$(field env)" = '"analytic"' ] && [ "$(field n)" = 3 ] && [ "$(field gradient)" = null ] &&
    [ "$(field gradient_kind)" = '"none"' ] && [ "$(field outcome)" = '"ok"' ] && [ "$(field steps)" = 0 ]
result $? "its values"
[ "$(wc -l < out)" -eq 1 ]
result $? "one line"
printf '0.1 0.2\t0.30000000000000004\n' > x.txt
# shellcheck disable=SC2086
good "x from a text file" eval $sphere --json --gradient --fd --x x.txt
[ "$(list x)" = "0.10000000000000001, 0.20000000000000001, 0.30000000000000004" ]
result $? "17 significant digits"
[ "$(keys)" = "env n x loss outcome gradient gradient_kind gradient_fd gradient_fd_spread gradient_fd_left gradient_fd_right gradient_fd_verdict steps wall_s " ]
result $? "the keys with gradients"
[ "$(field gradient_kind)" = '"adjoint"' ] && [ "$(list gradient)" = "0.20000000000000001, 0.40000000000000002, 0.60000000000000009" ]
result $? "the gradient of the sphere function"
list gradient_fd | awk -F', ' '{ exit !(($1 - 0.2)^2 + ($2 - 0.4)^2 + ($3 - 0.6)^2 < 1e-18) }'
result $? "finite differences agree"
[ "$(list gradient_fd_verdict)" = '"agrees", "agrees", "agrees"' ]
result $? "and say so"
good "dense switches: pinball with friction" eval --env pinball --set env.variant=pinball16 --set env.friction=0.5 --x random:3 --gradient --fd
grep -qx 'verdict   gradient agrees with differences in 16 of 16 components' out
result $? "fine steps see between them"

# ---- x ----
cat x.txt > in.txt
# shellcheck disable=SC2086
input=in.txt good "x from standard input" eval $sphere --json --x -
unset input
[ "$(list x)" = "0.10000000000000001, 0.20000000000000001, 0.30000000000000004" ]
result $? "the numbers of standard input"
{
    printf "\\223NUMPY\\001\\000\\166\\000{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
    printf '%60s\n' ''
    printf '\000\000\000\000\000\000\360\077\000\000\000\000\000\000\000\300\000\000\000\000\000\000\000\000'
} > x.npy
# shellcheck disable=SC2086
good "x from a .npy file" eval $sphere --json --x x.npy
[ "$(list x)" = "1.0, -2.0, 0.0" ]
result $? "the numbers of the .npy file"
# shellcheck disable=SC2086
good "center" eval $sphere --json --x center
[ "$(list x)" = "0.0, 0.0, 0.0" ]
result $? "center is the middle of the box"
# shellcheck disable=SC2086
good "random:18446744073709551615" eval $sphere --json --x random:18446744073709551615
first=$(list x)
# shellcheck disable=SC2086
good "again" eval $sphere --json --x random:18446744073709551615 --isolation none
[ "$(list x)" = "$first" ]
result $? "the same seed gives the same point, with and without isolation"
# shellcheck disable=SC2086
good "random:1" eval $sphere --json --x random:1
[ "$(list x)" != "$first" ]
result $? "another seed gives another point"

printf '1 2\n' > two.txt
printf '1 2 6\n' > far.txt
printf '1 2 5.000000000001\n' > rounded.txt
printf '1 2 nan\n' > nan.txt
printf '1 2 x\n' > word.txt
head -c 100 x.npy > cut.npy
cp x.txt text.npy
: > none.txt
for f in "two.txt|--x two.txt: 2 numbers, but analytic has 3 variables" "far.txt|variable 2 is 6, outside of its bounds -5..5" \
    "rounded.txt|variable 2 is 5.000000000001, outside of its bounds -5..5" \
    "nan.txt|nan.txt" "word.txt|word.txt" "cut.npy|cut.npy" "text.npy|text.npy" "none.txt|none.txt" \
    "missing.txt|--x missing.txt: cannot open: No such file or directory; a point is a list of numbers (1,2,3), a file" ".|: cannot open: Is a directory"; do
    # shellcheck disable=SC2086
    bad 3 "${f#*|}" eval $sphere --x "${f%%|*}"
done
printf '[run]\nenv = analytic\nx = 1 2\n    3\n[env]\ndim = 3\n' > point.ini
good "a point in an .ini file, as reproducers have it" eval --config point.ini --json
[ "$(list x)" = "1.0, 2.0, 3.0" ]
result $? "it was taken"
good "--x wins over it" eval --config point.ini --x center --json
bad 3 "run.x: 3 numbers, but analytic has 2 variables" eval --config point.ini --set env.dim=2
bad 3 "run.x: variable 0 is 7, outside" eval --config point.ini --set "run.x=7 7 7"

# shellcheck disable=SC2086
good "numbers" eval $sphere --json --x 0.1,-2,3e-1
[ "$(list x)" = "0.10000000000000001, -2.0, 0.29999999999999999" ]
result $? "are a point"
printf '1 2 3\n' > 4,5,6
# shellcheck disable=SC2086
good "a file of that name" eval $sphere --json --x 4,5,6
[ "$(list x)" = "1.0, 2.0, 3.0" ]
result $? "goes first"
# shellcheck disable=SC2086
bad 3 "--x 1,2: 2 numbers, but analytic has 3 variables" eval $sphere --x 1,2
# shellcheck disable=SC2086
bad 3 "--x 1,,2: line 1: there is no number" eval $sphere --x 1,,2

# ---- points of runs ----
status 0 "a run with a parameter" "$dshost" --env bounce --set env.variant=paper --opt rand --budget 8 --seed 4 --out paper \
    --pictures no --jobs 1
best=$(sed -n 's/.*"best_loss": \([0-9.]*\).*/\1/p' paper/summary.json)
good "--x RUN brings its environment along" eval --x paper --json
[ "$(field env)" = '"bounce"' ] && [ -n "$best" ] && [ "$(field loss)" = "$best" ]
result $? "and gives the recorded loss"
good "with the parameter given, too" eval --env bounce --set env.variant=paper --x paper:7 --json
status 0 "other parameters are used" "$dshost" eval --env bounce --x paper
grep -q '^dshost: warning: --x paper: that run has other parameters .*: variant = paper (here warp)' err && [ "$(wc -l < err)" -eq 1 ]
result $? "with a warning that names them"
bad 3 "--x paper:0: expected DIR:ID, the evaluations of a run are numbered from 1" eval --x paper:0
bad 3 "--x paper:0: expected DIR:ID" eval --env bounce --x paper:0
bad 3 "--x paper:best: expected DIR:ID" eval --x paper:best
bad 3 "--x paper: the run has no evaluation 99" eval --x paper:99
bad 3 "--x paper: a run of bounce, not of analytic" eval --env analytic --set env.dim=3 --x paper
good "an override of the run's parameters" eval --x paper --set env.variant=paper --gradient

# ---- text output ----
# shellcheck disable=SC2086
good "text" eval $sphere --gradient --fd
grep -q '^loss ' out && grep -q 'finite difference' out && [ "$(grep -c '^ *[0-2]  ' out)" -eq 3 ]
result $? "a table with one line per variable"

# ---- names of variables ----
good "text with names" eval --env bounce --fd
grep -q '^       1  velocity\.y \[m/s\]  *-5 ' out && [ "$(grep -c '^  *[0-9]  velocity' out)" -eq 3 ]
result $? "each variable by name and unit"
good "without derivatives" eval --env cartpole
[ "$(grep -c '^  *[0-9]*  [cj]' out)" -eq 12 ] && grep -q '^  *11  joint1\.torque\.5 \[5 N m\] ' out && grep -q '^ *\.\.\. and 188 more; ' out
result $? "the first of many variables"
good "JSON with names" eval --env bounce --json
grep -qF '"names": ["velocity.x", "velocity.y", "velocity.z"], "units": ["m/s", "m/s", "m/s"], "groups": ["velocity", "velocity", "velocity"]' out
result $? "names, units and groups are arrays"
good "JSON in this process" eval --env bounce --json --isolation none
grep -qF '"names": ["velocity.x", "velocity.y", "velocity.z"]' out
result $? "the same names without isolation"
good "more variables than are asked for names" eval --env cartpole --set env.steps=8193 --json
[ "$(field n)" = 16386 ] && ! grep -q '"names"' out
result $? "have none"
good "help of an environment" help cartpole
grep -qx 'Groups of variables: cart (100), joint1 (100)\. They are called cart\.velocity\.0 \[2 m/s\], joint1\..*, \.\.\.' out
result $? "says which groups there are"
status 0 "a run" "$dshost" --env bounce --opt adam --budget 4 --out named --pictures no --jobs 1
mv named moved
good "its table" export moved --format csv --out -
head -1 out | grep -q ',at,velocity\.x,velocity\.y,velocity\.z,g\.velocity\.x,g\.velocity\.y,g\.velocity\.z,progress\.searches,progress\.step$'
result $? "is headed by the names in its record"
good "a plain table" export moved --format csv --out - --plain
head -1 out | grep -q ',at,x0,x1,x2,g0,g1,g2,progress\.searches,progress\.step$'
result $? "has numbers"
good "arrays" export moved --format npz
bad 2 "export: --out t2.npz: --format csv writes a file that ends with .csv" export moved --format csv --out t2.npz
bad 2 "report: --out page.html: name a folder" report moved --out page.html
[ ! -e t2.npz ] && [ ! -e page.html ]
result $? "nothing is written under a name that says something else"
grep -qa "'descr': '<U48', .*'shape': (3,)" moved/export/evaluations.npz && grep -qa 'units\.npy' moved/export/evaluations.npz
result $? "hold the names, too"
grep -qaP 'v\x00\x00\x00e\x00\x00\x00l\x00\x00\x00o\x00\x00\x00' moved/export/evaluations.npz
result $? "as UCS-4"

# ---- scenes ----
bad 2 "analytic offers no scene" eval --env analytic --metrics
bad 2 "analytic offers no scene" eval --env analytic --trajectory t.npz
torus="--env torus --set env.preset=small --set env.steps=2 --set env.segments=1"
# shellcheck disable=SC2086
good "metrics" eval $torus --metrics --json
[ "$(keys)" = "env n x loss outcome gradient gradient_kind names units groups steps wall_s metrics " ]
result $? "the keys with metrics"
[ "$(list density | tr -cd , | wc -c)" -eq 2 ] && [ "$(field steps)" = 2 ]
result $? "one value per output step, step 0 first"
loss=$(field loss)
# shellcheck disable=SC2086
good "metrics, trajectory and gradient together" eval $torus --metrics --trajectory t.npz --gradient --json
[ "$(field loss)" = "$loss" ] && [ "$(field gradient_kind)" = '"adjoint"' ] && [ "$(head -c 2 t.npz)" = PK ]
result $? "the same loss, the gradient, and a zip archive"
for word in bodies frame tool_role tool_shape tool_major_radius tool_poses material_positions metrics/iou; do
	grep -qa "$word\.npy" t.npz || break
done
result $? "every body with its role, its shape and its sizes by name"
# Of the 1250 particles those of the target once, those of the material in each of three frames.
grep -qa "'shape': (1, 1250, 3)" t.npz && grep -qa "'shape': (3, 1250, 3)" t.npz && [ "$(wc -c < t.npz)" -lt 140000 ]
result $? "a target that rests is there once"
# shellcheck disable=SC2086
good "a table" eval $torus --trajectory t.csv
[ "$(head -1 t.csv | cut -d, -f1-3)" = step,time,metrics/density ] && head -1 t.csv | grep -q ',tool\.x,.*,tool\.qz$' &&
	[ "$(wc -l < t.csv)" -eq 4 ] && [ "$(awk -F, '{ print NF }' t.csv | sort -u | wc -l)" -eq 1 ]
result $? "has a row per frame with metrics and poses"
for f in t.txt t.zip a.npz/t.json; do
	# shellcheck disable=SC2086
	bad 2 "--trajectory $f: use a file name that ends with .npz" eval $torus --trajectory "$f"
	[ ! -e "$f" ]
	result $? "nothing is written"
done
# shellcheck disable=SC2086
good "in this process" eval $torus --metrics --gradient --json --isolation none
[ "$(field loss)" = "$loss" ]
result $? "isolation changes no digit of the loss"
# shellcheck disable=SC2086
bad 6 "missing/t.npz: cannot write" eval $torus --trajectory missing/t.npz
# shellcheck disable=SC2086
bad 6 "/dev/full: cannot write: No space left on device" eval $torus --trajectory /dev/full

# shellcheck disable=SC2086
good "a picture" eval $torus --picture p.png --json
[ "$(field loss)" = "$loss" ] && [ "$(head -c 4 p.png | tail -c 3)" = PNG ]
result $? "the same loss, and a PNG"
good "a picture where there is no scene" eval --env analytic --picture x.png
[ "$(head -c 4 x.png | tail -c 3)" = PNG ]
result $? "shows the point as a PNG"
# shellcheck disable=SC2086
bad 6 "missing/p.png: cannot write" eval $torus --picture missing/p.png
bad 2 "--picture p.jpg: only PNG is supported" eval --env analytic --picture p.jpg
bad 2 "--picture a.b/p.svg: only PNG is supported" eval --env analytic --picture a.b/p.svg
# shellcheck disable=SC2086
bad 6 "/dev/full: cannot write: No space left on device" eval $torus --picture /dev/full

# ---- plugins that fail ----
fails() { # fails FAULT OUTCOME TEXT: status 5, the outcome in the JSON, one line
    run "$dshost" eval --env "$faulty" --set env.fault="$1" --gradient --json --set run.timeout_s=1 --set run.memory_mb=256
    [ $status -eq 5 ] && [ "$(field outcome)" = "\"$2\"" ] && [ "$(field loss)" = null ] &&
        [ "$(field gradient)" = null ] && [ "$(grep -c '^dshost: error: ' err)" -eq 1 ] &&
        grep -q "^dshost: error: faulty: evaluation failed: $2.*$3" err
    result $? "$1 gives $2 and status 5"
}
if [ -f "$faulty" ]; then
    # Sanitizers turn the signal into a message of their own and an exit status.
    fails segv crashed 'SIG\|exit status'
    fails abort crashed 'SIG\|exit status'
    fails loop timeout ''
    fails nan invalid 'not finite'
    fails error error 'the solver did not converge'
    fails diverge diverged ''
    fails infeasible infeasible ''
    run "$dshost" eval --env "$faulty" --set env.fault=nangrad --gradient --json
    [ $status -eq 0 ] && [ "$(field outcome)" = '"bad_gradient"' ] && [ "$(field gradient)" = null ] && [ "$(field loss)" = 0.5 ]
    result $? "a bad gradient leaves the loss"
    run "$dshost" eval --env "$faulty" --set env.fault=nangrad --gradient --fd
    [ $status -eq 8 ] && grep -q "^dshost: error: faulty: no gradient to compare with finite differences: ." err
    result $? "and is none that differences agree with"
    run "$dshost" eval --env "$faulty" --set env.fault=nograd --gradient --json
    [ $status -eq 0 ] && [ "$(field outcome)" = '"bad_gradient"' ]
    result $? "a gradient that was not filled is noticed"
    bad 3 "faulty: create() failed: fault = error: refused as asked" eval --env "$faulty" --set env.fault=error --set env.stage=create
    run "$dshost" eval --env "$faulty" --set env.fault=segv --set env.stage=create
    [ $status -eq 4 ] && [ "$(grep -c '^dshost: error: ' err)" -eq 1 ]
    result $? "a crash in create() is status 4"
else
    skip "plugins that fail: faulty.so is not built"
fi
bad 4 "no environment 'analitic' on the plugin path; did you mean 'analytic'?" eval --env analitic
bad 4 "rand is an optimizer, but an environment is expected here" eval --env rand

# ---- full disks ----
few "$tmp/few" envs/analytic optimizers/rand
if [ -c /dev/full ]; then
    for c in "--version" "--help" "list" "list --json" "help analytic" "help analytic --json" "help run" "doctor" \
        "doctor --json" "template analytic rand" "eval --env analytic" "eval --env analytic --json" "eval --help"; do
        # shellcheck disable=SC2086
        case $c in list* | doctor*) "$few" $c ;; *) "$dshost" $c ;; esac > /dev/full 2> err
        status=$?
        [ $status -eq 6 ] && grep -q 'dshost: error: standard output: cannot write: No space left on device' err &&
            [ "$(wc -l < err)" -eq 1 ]
        result $? "$c to a full disk: status 6"
    done
else
    skip "full disks: no /dev/full"
fi
for c in "list" "eval --env analytic --json --isolation none" "template analytic rand"; do
    # shellcheck disable=SC2086
    (
        ulimit -f 0
        [ "$c" != list ] || dshost=$few
        exec "$dshost" $c > limited.txt
    ) 2>&1 | cat > err
    grep -q 'dshost: error: standard output: cannot write: File too large' err
    result $? "$c with a file size limit"
done
# shellcheck disable=SC2086
(
    ulimit -f 0
    "$dshost" eval $torus --isolation none --trajectory limited.npz
    echo "status $?"
) 2>&1 | cat > out
grep -q '^status 6' out && grep -q 'limited.npz: cannot write: File too large; the file size limit' out && [ ! -e limited.npz ]
result $? "--trajectory with a file size limit: status 6 and no file"
# The scene comes from the worker, which has the same limit.
big="--env torus --set env.preset=small --set env.segments=1"
(
    ulimit -f 20
    # shellcheck disable=SC2086
    "$dshost" eval $big --trajectory limited.npz
    echo "status $?"
) 2>&1 | cat > out
grep -q '^status 6' out && grep -q '^dshost: error: torus: the scene: .*File too large' out && [ ! -e limited.npz ]
result $? "a scene that cannot be passed on is status 6"

# ---- images ----
if pkg-config --exists libpng; then
    cube="--env rigid_contact --set env.obs=over --set env.image_size=32 --set env.frames=3"
    # shellcheck disable=SC2086
    good "--images" eval $cube --x random:3 --images seen --json
    [ "$(ls seen | tr '\n' ' ')" = "pictures.png target.png " ] && [ "$(head -c 4 seen/pictures.png | tail -c 3)" = PNG ]
    result $? "writes every image channel"
    loss=$(field loss)
    # shellcheck disable=SC2086
    good "a picture as target" eval $cube --x random:3 --set env.target_image=seen/pictures.png --json
    awk -v own="$(field loss)" -v loss="$loss" 'BEGIN { exit !(loss > 1e-4 && own < 1e-6) }'
    result $? "is one's own, to 8 bits"
    # shellcheck disable=SC2086
    bad 2 'has no image channel' eval --env spring_cage --images unseen
    [ ! -e unseen ]
    result $? "makes no folder then"
    mkdir -p locked && : > locked/file
    # shellcheck disable=SC2086
    bad 6 'locked/file' eval $cube --images locked/file
    # shellcheck disable=SC2086
    good "--objects" eval $cube --objects 3 --seed 7 --images set
    [ "$(ls set | tr '\n' ' ')" = "7 8 9 objects.npz parameters.csv " ] && [ "$(wc -l < set/parameters.csv)" = 4 ] &&
        cut -d, -f1 set/parameters.csv | tr '\n' ' ' | grep -q '^object 7 8 9 $'
    result $? "writes images and parameters of every object"
    # shellcheck disable=SC2086
    good "one of them" eval $cube --x random:8 --images one --json
    cmp -s one/pictures.png set/8/pictures.png && [ "$(awk -F, '$1 == 8 { print $3 }' set/parameters.csv)" = "$(field loss)" ]
    result $? "is the point that --x names"
    # shellcheck disable=SC2086
    bad 2 'a whole number from 1' eval $cube --objects 1.5 --images set
    # shellcheck disable=SC2086
    bad 2 'with --images FOLDER' eval $cube --objects 2
    # shellcheck disable=SC2086
    bad 2 'its own points' eval $cube --objects 2 --images set --x center
else
    skip "--images: no libpng"
fi
finish
