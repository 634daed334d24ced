#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gradients.sh - `dshost gradients`: estimates against closed forms, the same for every number of jobs, slices, sweeps and
# their files, noise on actions, errors.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
HOME=$tmp
export HOME

# number FILE KEY: the mean of KEY in the JSON of a single cell.
number() {
    sed -n "s/.*\"$2\": {\"mean\": \([-0-9.e+]*\),.*/\1/p" "$1" | head -n 1
}
# near NAME VALUE WANT TOLERANCE
near() {
    awk -v v="$2" -v w="$3" -v t="$4" 'BEGIN { d = v - w; exit !(v != "" && d <= t && -d <= t) }'
    passed=$?
    [ $passed -eq 0 ] || echo "# $1: $2, expected $3 +- $4"
    result $passed "$1"
}
estimate() { # estimate NAME ARGUMENT...: JSON in file NAME
    name=$1
    shift
    "$dshost" gradients --json "$@" > "$name" 2> err
}

# ---- closed forms ----
# A step at 0: first order 0 with variance 0; zeroth order phi(0)/sigma, variance (1/2 - 1/(2 pi))/sigma^2.
estimate step --env heaviside --x 0 --sigma 0.2 --samples 100000 --repeats 3 --reference 0 --jobs 2
near "a step: zeroth order" "$(number step slope_zeroth)" 1.99471 0.03
near "its variance" "$(number step variance_zeroth)" 8.52113 0.2557
near "first order" "$(number step slope_first)" 0 0
near "its variance" "$(number step variance_first)" 0 0
# A steep ramp: F' = (2/delta) P, variance (2/delta)^2 P (1 - P).
estimate ramp --env soft_heaviside --set env.delta=0.01 --x 0 --sigma 0.1 --samples 100000 --repeats 3 --reference 0
near "a ramp: first order" "$(number ramp slope_first)" 7.9755 0.36
near "its variance" "$(number ramp variance_first)" 1531.5 76.6
near "zeroth order" "$(number ramp slope_zeroth)" 7.9755 0.06
# Ripples are smoothed away: F' = 2 x.
estimate ripples --env sine_quadratic --x 0.5 --sigma 0.1 --samples 20000 --repeats 5 --reference 0
near "ripples: zeroth order" "$(number ripples slope_zeroth)" 1 0.03
# |x|^2: both are 2 x; the first order has variance 4 n sigma^2.
set -- --env analytic --set env.function=sphere --set env.dim=3 --set env.optimum=origin --x 1,2,3 --sigma 0.2 --samples 2000
estimate bowl "$@" --repeats 5
near "a bowl: first order" "$(number bowl slope_first)" 7.48331 0.03
near "zeroth order" "$(number bowl slope_zeroth)" 7.48331 0.6
near "variance of the first order" "$(number bowl variance_first)" 0.48 0.024
near "the long run" "$(number bowl slope_reference)" 7.48331 0.005
near "alpha without a limit" "$(number bowl alpha)" 0.9977 0.0004
estimate pairs "$@" --repeats 5 --antithetic --baseline mean --shared
near "in pairs: first order" "$(number pairs slope_first)" 7.48331 0.001
# The mean of the others is that of the other pairs, in the long run, too: else it were N / (N - 1) times the slope.
estimate few --env analytic --set env.function=sphere --set env.dim=1 --set env.optimum=origin --x 1 --sigma 0.2 --samples 10 \
    --repeats 2000 --antithetic --baseline mean --reference 200
near "ten samples in pairs, mean baseline: zeroth order" "$(number few slope_zeroth)" 2 0.1
near "their long run" "$(number few slope_reference)" 2 0.003
# Noise on actions: x1 = 1 + K + w0, x2 = (1 + K) x1 + w1, V = 1 + x1^2 + 10 x2^2; at K = 0 its mean has the slope
# 2 + 20 E[(1 + w0 + w1) (2 + w0)] = 42 + 20 sigma^2.
estimate policy --env lqr --set env.states=1 --set env.steps=2 --set env.begin=fixed --set env.r=0 --sigma 0.1 --samples 20000 \
    --repeats 5 --reference 0
grep -q '"noise": "actions"' policy
result $? "noise on actions"
near "a policy: first order" "$(number policy slope_first)" 42.2 0.2
near "zeroth order" "$(number policy slope_zeroth)" 42.2 3

# ---- the same for every number of workers ----
set -- gradients --env push --set env.steps=20 --samples 30 --repeats 3 --reference 200 --sweep env.k=10,1000 --sweep samples=10,20 --seed 5
"$dshost" "$@" --json --jobs 1 > one 2> err && "$dshost" "$@" --json --jobs 3 > three 2> err &&
    "$dshost" "$@" --json --isolation none > none 2> err && cmp one three && cmp one none
result $? "any number of jobs, and no isolation"
"$dshost" gradients --env tennis --set env.steps=50 --samples 50 --repeats 2 --reference 100 --json --jobs 1 > one 2> err &&
    "$dshost" gradients --env tennis --set env.steps=50 --samples 50 --repeats 2 --reference 100 --json --jobs 3 > three 2> err &&
    cmp one three
result $? "with noise on actions, too"

# ---- slices, sweeps, files ----
status 0 "a slice" "$dshost" gradients --env ball_wall --axes 0 --range 0.2:1 --grid 5 --samples 20 --repeats 3 --reference 100 \
    --sweep samples=10,20 --out slice
[ "$(wc -l < slice/estimates.csv)" -eq 11 ] && head -n 1 slice/estimates.csv | grep -q '^at,samples,n_samples,sigma,gamma,loss,' &&
    grep -q '"uncertain"' slice/summary.json
result $? "a row for each place and value"
status 0 "a sweep of sigma" "$dshost" gradients --env heaviside --samples 20 --repeats 3 --reference 0 --sweep sigma=0.1,0.2 --out wide
[ "$(head -n 1 wide/estimates.csv | tr ',' '\n' | sort | uniq -d)" = "" ] &&
    [ "$(awk -F, '{print NF}' wide/estimates.csv | sort -u | wc -l)" -eq 1 ]
result $? "no two columns of its table have one name"
for f in estimates variance error distance alpha loss; do
    [ -s slice/$f-1.svg ] && [ -s slice/$f-2.png ]
    result $? "the pictures of $f"
done
status 0 "a random direction" "$dshost" gradients --env bounce --axes random --samples 4 --repeats 2 --reference 0 --grid 3 --json
[ "$(jq -c '[.cells[].at * 1000 | round]' out)" = '[-500,250,1000]' ]
result $? "goes as far as the bounds do, and no farther than 1"
"$dshost" gradients --env heaviside --samples 100000 --repeats 2 --reference 0 --sweep sigma=0.1,0.2 --out gone > out 2> err &
until [ -d gone ] || ! kill -0 $!; do sleep 0.01; done
rmdir gone && : > gone
wait $!
[ $? -eq 6 ] && grep -q '^dshost: error: gone/' err && grep -q '^sigma ' out && ! grep -q '^gone' out
result $? "what cannot be written is printed all the same"
cat > file.ini << 'END'
[run]
env = soft_heaviside
[gradients]
x = 0
samples = 20
repeats = 2
reference = 100
sweep = env.delta=log:1e-3:1e-1:3
END
status 0 "settings from a file" "$dshost" gradients --config file.ini --set gradients.repeats=3
grep -q '^0.01 ' out && grep -q '3 repeats' out
result $? "its sweep, and what --set says"

# ---- the figures of the paper, with next to no samples ----
for f in "$DS_TOP_SRC"/examples/paper/estimators/*_small.ini; do
    status 0 "${f##*/}" "$dshost" gradients --config "$f" --set gradients.samples=4 --set gradients.repeats=1 --set gradients.reference=0
done
DSHOST=$dshost "$DS_TOP_SRC/examples/paper/estimators/descents.sh" "$tmp/descents" wall > out 2> err
[ $? -eq 2 ] && grep -q '^descents.sh: wall: expected ball_wall' err
result $? "descents.sh says which systems it has"

DSHOST=$dshost "$DS_TOP_SRC/examples/paper/contact/afar.sh" "$tmp/afar" wall > out 2> err
[ $? -eq 2 ] && grep -q '^afar.sh: wall: expected push_far' err
result $? "afar.sh says which systems it has"

# ---- errors ----
bad 2 "gradients: name an environment with --env" gradients
bad 4 "nosuch" gradients --env nosuch
bad 2 "--samples: samples = 1" gradients --env heaviside --samples 1
bad 2 "--sigma: sigma = -1" gradients --env heaviside --sigma -1
bad 2 "--reference 5: a long run needs at least 40 samples" gradients --env heaviside --reference 5
bad 2 "--axes 0,1: estimates are made along one axis" gradients --env push --axes 0,1
bad 2 "--axes 3: there is no variable 3" gradients --env heaviside --axes 3
bad 2 "--range 0:1: there is no slice" gradients --env heaviside --range 0:1
bad 2 "--sweep samples=: samples: expected values" gradients --env heaviside --sweep samples=
bad 2 "'steps': expected samples, sigma, gamma or env.PARAMETER" gradients --env heaviside --sweep steps=3
bad 2 "env.nothing: the environment has no such parameter" gradients --env heaviside --sweep env.nothing=3
bad 2 "samples is swept twice" gradients --env heaviside --sweep samples=3 --sweep samples=4
bad 2 "delta = 0" gradients --env soft_heaviside --sweep env.delta=0,1
bad 2 "--sweep: bounce: h = foo: expected a number" gradients --env bounce --sweep env.h=0.002,0.001,foo --samples 10000000 --out not_made
bad 2 "--range -1:1: the slice leaves the bounds: -0.5 to 1.3" gradients --env bounce --axes random --range -1:1 --samples 10000000 --out not_made
[ ! -e not_made ]
result $? "no folder is made for that"
bad 6 "/proc/results: cannot make this folder" gradients --env heaviside --samples 10000000 --out /proc/results
bad 6 "file.ini/results: Not a directory" gradients --env heaviside --samples 10000000 --out file.ini/results
bad 2 ": no point of the slice but this one" gradients --env analytic --set env.dim=9 --x 5,-5,5,-5,5,-5,5,-5,5 --axes random
bad 2 "--noise actions: this environment has no noise on actions" gradients --env heaviside --noise actions
bad 2 "--antithetic true: use at least two pairs" gradients --env heaviside --antithetic --samples 2
bad 2 "use at least two pairs" gradients --env heaviside --antithetic --sweep samples=100,3
bad 2 "noise on actions is drawn by the environment" gradients --env lqr --antithetic
bad 3 "--x 1,2: 2 numbers, but heaviside has 1 variable" gradients --env heaviside --x 1,2
bad 3 "unknown parameter 'foo' in [gradients]; \`dshost help gradients\` lists them" gradients --env heaviside --set gradients.foo=1
bad 3 "did you mean 'gamma'" gradients --env heaviside --set gradients.gama=2
bad 2 "more than 1000000" gradients --env heaviside --axes 0 --grid 5000 --sweep sigma=log:1:2:4000
bad 6 "slice already holds other" gradients --env heaviside --out slice
"$dshost" gradients --env "$faulty" --set env.fault=diverge --samples 20 --repeats 2 --reference 0 > out 2> err
[ $? -eq 5 ] && grep -q '^dshost: error: faulty: .* evaluations failed' err
result $? "an environment that fails"
"$dshost" gradients --env "$faulty" --set env.fault=diverge --samples 20 --repeats 2 --reference 1000 > out 2> err
[ $? -eq 5 ] && grep -q '^dshost: error: faulty: .* evaluations failed.*diverged' err
result $? "or fails in the long run"
status 0 "x without a loss" "$dshost" gradients --env "$faulty" --set env.fault=diverge --set env.share=0.3 --x 0.1,0.7 --samples 50 --repeats 3 \
    --reference 400
grep -q 'x has no loss (diverged.*), so baseline = center gives no zeroth order' err && grep -q '^zeroth  *nan   bias nan$' out &&
    grep -q '^first  *[0-9.e-]*   bias nan$\|^first  *nan   bias nan$' out
result $? "has no zeroth order, and no error of 0"
estimate lossless --env "$faulty" --set env.fault=diverge --set env.share=0.3 --x 0.1,0.7 --samples 50 --repeats 3 --reference 400
jq -e '.cells[0] | .loss == null and ([.error_first, .error_zeroth, .error_alpha] | all(.mean == null and .low == null)) and
    .off_first == null and .slope_first.mean != null' lossless > /dev/null && [ "$(jq .failed lossless)" -gt 0 ]
result $? "nor in JSON"
estimate by_mean --env "$faulty" --set env.fault=diverge --set env.share=0.3 --x 0.1,0.7 --samples 50 --repeats 3 --reference 400 --baseline mean
jq -e '.cells[0] | .error_zeroth.mean > 0 and .slope_zeroth.mean != null' by_mean > /dev/null && ! grep -q 'x has no loss' err
result $? "baseline mean has one"
"$dshost" gradients --env "$faulty" --set env.fault=diverge --set env.above=0 --x 0.999999,0 --sigma 1e-9 --samples 4 --repeats 1 --reference 0 \
    --max-failed 0.5 --json > out 2> err
[ $? -eq 5 ] && [ "$(jq .failed out)" -eq 9 ] && [ "$(jq .evaluations out)" -eq 9 ]
result $? "x itself counts among what failed"
estimate once --env heaviside --x 0 --sigma 0.2 --repeats 1 --reference 1000
jq -e '.cells[0] | [.error_first, .error_zeroth, .error_alpha] | all(.mean > 0 and .low == null and .high == null)' once > /dev/null
result $? "one repeat has an error, and no interval of it"
status 0 "without gradients the zeroth order is there" "$dshost" gradients --env cartpole_gym --samples 20 --repeats 2 --reference 0
[ ! -s err ]
result $? "and there is nothing to say"
status 0 "without gradients the long run" "$dshost" gradients --env cartpole_gym --samples 20 --repeats 2 --reference 40 --reference-order first
grep -q '^dshost: warning: cartpole_gym returns no gradient: the long run is of zeroth order' err
result $? "is not of first order, which is told"
finish
