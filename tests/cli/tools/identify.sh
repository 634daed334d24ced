#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# identify.sh - `dshost identify`: known constants are found from made recordings, within their intervals; what the data do
# not determine is named; sensors with gain, offset and delay; bad data and bad files are one line each.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

# value FILE NAME KEY: of parameter NAME in summary.json; interval.0 and interval.1 are its ends
value() {
    awk -v name="\"$2\": {" -v key="\"${3%.*}\":" -v end="${3#*.}" '
        index($0, "\"parameters\": {") { inside = 1 }
        inside && index($0, name) { here = 1 }
        here && index($0, key) {
            if (key == "\"interval\":") { getline; if (end == 1) getline }
            else sub(/.*: /, "")
            gsub(/[ ,\]]/, ""); print; exit }' "$1"
}
# within NAME FILE PARAMETER TRUTH: the interval holds the truth and is not wider than a third of it
within() {
    low=$(value "$2" "$3" interval.0)
    high=$(value "$2" "$3" interval.1)
    awk -v l="$low" -v h="$high" -v t="$4" 'BEGIN { w = h - l; exit !(l != "" && l <= t && t <= h && w < (t < 0 ? -t : t) / 3) }'
    passed=$?
    [ $passed -eq 0 ] || echo "# $3: $low to $high, truth $4"
    result $passed "$1"
}
warned() { # warned TEXT NAME
    grep -qF -- "$1" err
    passed=$?
    [ $passed -eq 0 ] || sed 's/^/# /' err
    result $passed "$2"
}

# ---- residuals of an environment ----
cat > pendulum.ini << 'END'
[run]
env = double_pendulum
budget = 900
seed = 3

[env]
variant = synthetic
wrap = false
n_samples = 100
held_out = 20

[identify]
recovery = 1
level = 0.999
END
status 0 "a made recording of a double pendulum" "$dshost" identify pendulum.ini --out pendulum --jobs 1
for truth in inertia.1=9.8 inertia.2=0.735 rate.1=-26.5 rate.2=-26; do
    within "${truth%=*}" pendulum/summary.json "${truth%=*}" "${truth#*=}"
done
awk '/"fit": {/ && !n { getline; fit = $2 + 0; n = 1 } /"heldout": {/ && !m { getline; held = $2 + 0; m = 1 }
     END { exit !(fit > 0.0018 && fit < 0.0028 && held > 0.0018 && held < 0.01) }' pendulum/summary.json
result $? "what remains is the noise of 0.0024 rad, also in samples that were not fitted"
awk -F: '/^  "evaluations"/ { exit !($2 + 0 > 100 && $2 + 0 <= 900) }' pendulum/summary.json
result $? "the budget is kept"
own_scripts pendulum/identify.html
result $? "the page runs only its own scripts"
grep -q 'Recovery certificate' pendulum/identify.html && grep -q '<svg' pendulum/identify.html
result $? "the page has figure and certificate"
grep -q 'angle1' pendulum/fit-double_pendulum.svg && grep -q recorded pendulum/fit-double_pendulum.svg
result $? "motion and recording are drawn although the environment reads the file itself"
awk '/"signals": \[/ { inside = 1 } inside && /"rmse"/ { n++; sum += $2 * $2 } /"samples"/ { inside = 0 } /"fit": {/ && !all { getline; all = $2 }
     END { exit !(n == 4) }' pendulum/summary.json
result $? "summary.json has fit and held-out errors of each signal"
grep -q 'outside of 98 to 102 %\|Their intervals cover' pendulum/identify.html
result $? "the certificate is on the page"
loss=$(awk '/"problems"/ { p = 1 } p && /"loss"/ { gsub(/[ ,]/, ""); sub(/.*:/, ""); print; exit }' pendulum/summary.json)
"$dshost" eval --config pendulum/estimate.ini --json > eval.json 2> err
sed 's/.*"loss": \([^,]*\),.*/\1/' eval.json | awk -v loss="$loss" '{ v = $1 + 0 } END { d = v - loss; exit !(v > 0 && d < 1e-9 && d > -1e-9) }'
result $? "estimate.ini evaluates to the same loss"
"$dshost" identify pendulum.ini --out again --jobs 2 > out 2> err && cmp -s pendulum/summary.json again/summary.json
result $? "the same bits with two jobs"

# ---- directions that the data do not determine ----
cat > pair.c << 'END'
#include <diffsim/helper/simple.h>
enum { MASS, DAMPING, SPEED, VARIABLES };
static const ds_channel *const channels[] = {DS_RESIDUALS("error", 40, "m/s", "Simulated minus recorded."), NULL};
static void variable(const ds_simple_episode *e, uint64_t i, ds_env_variable *out)
{
    static const char *const name[] = {"mass", "damping", "speed"}, *const unit[] = {"kg", "N s/m", "m/s"};
    (void)e;
    ds_env_variable_put(out->name, "%s", name[i]);
    ds_env_variable_put(out->unit, "%s", unit[i]);
}
static double loss(const ds_simple_episode *e)
{
    for (int i = 0; i < 40; i++) {
        const double t = 0.1 * i, rate = e->x[DAMPING] / e->x[MASS], decay = exp(-rate * t);
        double *j = e->channel[0].jacobian + VARIABLES * i;
        e->channel[0].value[i] = e->x[SPEED] * decay - (3 * exp(-0.7 * t) + 0.01 * sin(40 * t * t));
        j[SPEED] = decay;
        j[DAMPING] = -e->x[SPEED] * decay * t / e->x[MASS];
        j[MASS] = e->x[SPEED] * decay * t * rate / e->x[MASS];
    }
    return ds_simple_squares(e, 0, 40);
}
DS_DEFINE_SIMPLE(.id = "pair", .summary = "A sliding mass.", .flags = DS_ENV_GRADIENT, .n = VARIABLES, .lower = 1e-8,
                 .upper = 10, .start = 1e-8, .channels = channels, .variable = variable, .loss = loss)
END
compile pair.c
printf '[run]\nenv = ./pair.so\nbudget = 400\n[identify]\nrecovery = 0\n' > pair.ini
status 0 "a pair that only has a ratio" "$dshost" identify pair.ini --out pair --isolation none
has "mass and damping only as a ratio: fix one of them" "it is named"
warned "damping starts at its bound 1e-08" "a start at a bound is named"
printf '[parameter mass]\nfixed = 2\n[parameter damping]\nlower = 1e-8\nupper = 10\nlog = true\n' >> pair.ini
status 0 "with one of them fixed" "$dshost" identify pair.ini --out fixed --isolation none
within "the damping is found from a start at 1e-8" fixed/summary.json damping 1.4

# ---- signals of a state channel ----
cat > slide.c << 'END'
#include <diffsim/helper/simple.h>
enum { FRICTION, SPEED, STEPS = 100 };
static const ds_channel *const channels[] = {DS_OBSERVED("path", STEPS + 1, "m", "Position."), NULL};
static void variable(const ds_simple_episode *e, uint64_t i, ds_env_variable *out)
{
    (void)e;
    ds_env_variable_put(out->name, "%s", i == FRICTION ? "friction" : "speed");
    ds_env_variable_put(out->unit, "%s", i == FRICTION ? "1/s" : "m/s");
}
static double loss(const ds_simple_episode *e)
{
    for (int i = 0; i <= STEPS; i++) {
        e->channel[0].value[i] = e->x[SPEED] * (1 - exp(-e->x[FRICTION] * 0.05 * i)) / e->x[FRICTION];
    }
    return 0;
}
DS_DEFINE_SIMPLE(.id = "slide", .summary = "A sliding mass.", .n = 2, .lower = 0.1, .upper = 5, .start = 1, .steps = STEPS,
                 .dt = 0.05, .channels = channels, .variable = variable, .loss = loss)
END
compile slide.c
# slide FRICTION SPEED SHIFT: a recording with noise, shifted by a delay of 0.12 s
slide() {
    awk -v c="$1" -v v="$2" -v d="$3" -v scale="${4-1}" -v seed="${5-7}" 'BEGIN { print "t,junk,x"; srand(seed)
        for (i = 0; i < 80; i++) { t = 0.06 * i; s = t - d; if (s < 0) s = 0
            noise = 0; for (k = 0; k < 12; k++) noise += rand(); noise = 0.004 * (noise - 6)
            x = scale * (v * (1 - exp(-c * s)) / c + 0.1 + noise)
            printf "%.3f,5,%s\n", t, (i == 20 ? "nan" : sprintf("%.6f", x)) } }'
}
slide 0.8 2 0.12 > a.csv
slide 0.8 3 0.12 1 8 > b.csv
cat > slide.ini << 'END'
[run]
env = ./slide.so
budget = 900
[recording a]
file = a.csv
time = t
[recording b]
file = b.csv
time = t
[signal x]
channel = path
unit = m
noise = 0.004
[parameter speed]
scope = own
[parameter x.offset]
lower = -1
upper = 1
[parameter x.delay]
lower = 0
upper = 0.5
[identify]
recovery = 0
level = 0.999
held_out = 20
windows = none
END
status 0 "two recordings that share a friction" "$dshost" identify slide.ini --out slide --isolation none
within "the shared friction" slide/summary.json friction 0.8
within "the speed of the first" slide/summary.json speed@a 2
within "the speed of the second" slide/summary.json speed@b 3
within "the delay of the sensor" slide/summary.json x.delay 0.12
within "its offset" slide/summary.json x.offset 0.1
warned "column x: 1 of 80 values are missing" "a missing value is named"
if command -v python3 > python; then
    python3 - << 'END'
import struct, zipfile
rows = [line.split(",") for line in open("a.csv").read().split()[1:]]
with zipfile.ZipFile("a.npz", "w", zipfile.ZIP_DEFLATED) as z:
    for k, name in enumerate(("t", "junk", "x")):
        head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % len(rows)
        head = head.ljust(117) + "\n"
        data = b"".join(struct.pack("<d", float(r[k])) for r in rows)
        z.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
END
    status 0 "the same recording as .npz" "$dshost" identify slide.ini --out npz --isolation none --data a.npz
    within "the friction" npz/summary.json friction 0.8
    warned "column x: 1 of 80 values are missing" "a missing value of an array is named"
else
    skip "python3 is missing"
fi
gzip -c a.csv > a.csv.gz
status 0 "the same recording as gzip, by --data" "$dshost" identify slide.ini --out gz --isolation none --data a.csv.gz
within "the friction" gz/summary.json friction 0.8

# Two sensors of a cart with a pole, one with a gain and a delay.
cp "$DS_TOP_SRC/examples/identify/cart_pole.ini" "$DS_TOP_SRC/examples/identify/cart_pole.csv" "$DS_TOP_SRC/examples/identify/cart_pole.c" .
compile cart_pole.c
status 0 "the example of a cart with a pole" "$dshost" identify cart_pole.ini --out cart --isolation none --budget 800 \
    --recovery 0 --level 0.999
for truth in viscous=0.6 coulomb=0.35 pole=0.004 angle=0.4 position.gain=0.95 position.delay=0.03; do
    within "${truth%=*}" cart/summary.json "${truth%=*}" "${truth#*=}"
done

# Cases of examples/identify that identify_slow.sh runs whole: files are found and read.
for case in arm beam_pictures; do
    status 0 "the example $case.ini" "$dshost" identify "$DS_TOP_SRC/examples/identify/$case.ini" --check-only --points 1 --isolation none
    has "the rank deficient at 0" "its data determine all parameters at the start"
done

# ---- the model of a robot with the estimate ----
printf '0,0.5\n0.2,2\n0.5,-1\n' > force.csv
printf 't,q\n0,0\n0.1,0.05\n0.2,0.1\n0.3,0.2\n0.4,0.3\n' > turned.csv
# model FILE JOINT VARIABLES: identifies the variables, and simulates the file that is written instead of the estimate
model() {
    printf '[task]\nmodel = %s\nduration = 0.5\nstep = 0.005\ncontrol_step = 0.1\n[controls]\nfile = force.csv\nforce.%s = -1 1\n' \
        "$DS_TOP_SRC/examples/robots/$1" "$2" > task.ini
    printf '[loss.a]\nwhat = joint\nof = %s\ntarget = 1\n[variables]\n%b' "$2" "$3" >> task.ini
    printf '[run]\nenv = robot\nbudget = 130\n[env]\ntask = task.ini\n[recording r]\nfile = turned.csv\ntime = t\n' > robot.ini
    printf '[signal q]\n[identify]\nrecovery = 0\nprofile = no\nbootstrap = 0\npoints = 0\n' >> robot.ini
    status 0 "numbers of $1" "$dshost" identify robot.ini --out model --isolation none
    "$dshost" eval --config model/estimate.ini --isolation none | grep loss > one
    "$dshost" eval --env robot --set env.task=task.ini --set "env.model=model/estimate.${1##*.}" --isolation none | grep loss > two
    [ -s one ] && paste one two | awk '{ d = $2 - $4; exit !(d < 1e-9 * $2 && d > -1e-9 * $2) }' && [ "$(diff "$DS_TOP_SRC/examples/robots/$1" "model/estimate.${1##*.}" | grep -c '^>')" = "$4" ]
    result $? "the file with the estimate moves in the same way, and differs in $4 lines"
}
model cartpole.urdf hinge 'mass.pole = 0.4 2.5 log\nmass.cart = 0.5 2\ndamping.hinge = 0.0005 0.5 log\nlength.pole = 0.8 1.25\n' 6
model double_pendulum.xml elbow 'mass.lower = 0.4 2.5 log\ndamping.elbow = 0.0005 0.5 log\narmature.shoulder = 0.001 0.1\nspring.elbow = 0 3\nrest.elbow = -1 1\n' 3

# ---- bad data ----
check() { # check FILE TEXT NAME
    status 0 "$3" "$dshost" identify slide.ini --check-only --isolation none --data "$1"
        warned "$2" "it is named"
}
slide 0.8 2 0.12 1000 > mm.csv
check mm.csv "are its units mm" "millimetres instead of metres"
sed 's/junk/x/; s/5,x/5,y/; 1s/.*/t,x,y/' a.csv > constant.csv
check constant.csv "column x is constant" "a constant column"
awk -F, 'NR == 31 { print $1 ",5,90"; next } { print }' a.csv > outlier.csv
check outlier.csv "1 outliers, the first in row 30" "an outlier"
sed '1s/.*/t,angle,x_mm/' cart_pole.csv > swapped.csv
status 0 "swapped columns" "$dshost" identify cart_pole.ini --check-only --isolation none --data swapped.csv
warned "look like each other's: are they swapped?" "they are named"
# 20 samples later, with the times of before
awk -F, 'NR > 1 { t[NR] = $1; rest[NR] = $2 "," $3 } NR == 1 { print }
         END { for (i = 2; i + 20 <= NR; i++) print t[i] "," rest[i + 20] }' cart_pole.csv > shifted.csv
sed '/^\[parameter position.delay/,/^$/d' cart_pole.ini > shifted.ini
status 0 "shifted time" "$dshost" identify shifted.ini --check-only --isolation none --data shifted.csv --held-out 30
warned "samples: is the time shifted?" "it is named"
# An environment that reads the file itself is compared by its metrics.
"$dshost" eval --env cube_throw --set env.variables=mu --trajectory cube.npz > out 2> err
printf '[run]\nenv = cube_throw\nbudget = 50\n[env]\nvariables = mu\ncolumns = metrics/recorded_x metrics/recorded_y metrics/recorded_z\ntime_column = time\nn_samples = 100\n' > cube.ini
status 0 "metres in a file of the environment" "$dshost" identify cube.ini --check-only --points 1 --isolation none --data cube.npz
! grep -q "times as large" err
result $? "are no surprise"
status 0 "millimetres there" "$dshost" identify cube.ini --check-only --points 1 --isolation none --data cube.npz --set env.column_scale=1000
warned "times as large as in simulations: are its units mm, ms or g instead of the unit? Change column_scale in [env]" "are named"
head -c 3000 /dev/urandom > binary.csv
refuses 3 "is not text" "binary" "$dshost" identify slide.ini --isolation none --data binary.csv
truncate -s 10G huge.csv
refuses 3 "line 1 is not text" "10 GB without text" sh -c 'ulimit -v 2000000; "$1" identify slide.ini --isolation none --data huge.csv' sh "$dshost"
mv huge.csv huge.npz
refuses 3 "too large: at most" "10 GB of .npz" sh -c 'ulimit -v 2000000; "$1" identify slide.ini --isolation none --data huge.npz' sh "$dshost"
rm huge.npz
sed 's/,x/,y/' a.csv > wrong.csv
refuses 3 "has no column x" "another column" "$dshost" identify slide.ini --isolation none --data wrong.csv
printf 't,x\n0,1\n0.5,2\n0.4,3\n' > back.csv
refuses 3 "the time does not increase" "times that go back" "$dshost" identify slide.ini --isolation none --data back.csv
refuses 6 "no such recording" "a missing file" "$dshost" identify slide.ini --isolation none --data none.csv

# ---- bad files ----
bad_file() { # bad_file TEXT WHAT LINES
    printf '[run]\nenv = ./%s.so\n%b' "${4-pair}" "$3" > bad.ini
    refuses 3 "$1" "$2" "$dshost" identify bad.ini --isolation none
}
bad_file "unknown section \[walk\]" "an unknown section" '[walk]\n'
bad_file "there is no parameter masss" "an unknown parameter" '[parameter masss]\nlower = 1\n'
bad_file "unknown key 'lowest'" "an unknown key" '[parameter mass]\nlowest = 1\n'
bad_file "bounds 2 to 1" "bounds in the wrong order" '[parameter mass]\nlower = 2\nupper = 1\n'
bad_file "start 5 is outside" "a start outside of its bounds" '[parameter mass]\nupper = 4\nstart = 5\n'
bad_file "log = true needs a lower bound above 0" "a logarithm of 0" \
    '[parameter x.offset]\nlower = -1\nupper = 1\nlog = true\n[signal x]\nchannel = path\n[run]\n[recording a]\nfile = a.csv\n' slide
bad_file "channel .* is missing" "signals of an environment without states" '[signal x]\ncolumn = 1\n[recording a]\nfile = a.csv\n'
bad_file "all parameters are fixed" "nothing to find" '[parameter mass damping speed]\nfixed = 1\n'
refuses 2 "name the file of the case" "no file" "$dshost" identify
printf '[run]\nenv = ./slide.so\n' > bad.ini
refuses 3 "has no residuals.*(path)" "an environment without residuals" "$dshost" identify bad.ini --isolation none
finish
