#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ffi.sh - functions of other libraries as environments: the examples as their readers would use them, errors
# with their line and exit status, and a function that crashes.
. "$(dirname "$0")/lib.sh"
foreign=$DS_TOP_BUILD/tests/plugins/.libs/foreign.so
cp "$DS_TOP_SRC/examples/chain.c" "$DS_TOP_SRC/examples/chain.ini" "$DS_TOP_SRC/examples/bessel.ini" "$tmp" || exit 99
cd "$tmp" || exit 99

status 0 "the minimum of a function of the C library" "$dshost" --config bessel.ini --pictures no --out bessel
# shellcheck disable=SC2086
if ${DS_CC:-cc} ${DS_SANITIZE-} -O2 -fPIC -shared -o libchain.so chain.c -lm 2>"$tmp/err"; then
    status 0 "a function of an own library" "$dshost" --config chain.ini --pictures no --out chain
    awk -v best="$(field chain/summary.json best_loss)" 'BEGIN { exit !(best > -1.3967215 && best < -1.39672) }'
    result $? "the chain hangs in its minimum, -1.396721"
    status 0 "the gradient agrees with differences" "$dshost" eval --config chain.ini --x random:1 --gradient --fd --json
    mkdir elsewhere && cd elsewhere || exit 99
    status 0 "its path is relative to the settings file" "$dshost" eval --config ../chain.ini
    cd ..
    rm libchain.so
    bad 3 "libchain.so" eval --config chain.ini
else
    skip "a function of an own library: no compiler"
fi

bad 3 "parameter library: libnothing.so: cannot open shared object file" eval --env ffi --set env.library=libnothing.so
bad 3 "the library exports no 'j00'" eval --env ffi --set env.symbol=j00
bad 3 "'double' is no type" eval --env ffi --set 'env.signature=double(x0:f64)'
echo text >text.so
bad 3 "text.so" eval --env ffi --set env.file=text.so
bad 4 "lbfgsb needs gradients, which ffi does not have" run --env ffi --opt lbfgsb --out none

# Residuals and their Jacobian: least squares.
curve="--set env.file=$foreign --set env.symbol=curve --set env.residuals=7 --set env.dim=2 --set env.lower=0 --set env.upper=5"
# shellcheck disable=SC2086
status 0 "a fit with residuals and Jacobian" "$dshost" run --env ffi --opt lm --budget 60 --pictures no $curve \
    --set 'env.signature=void(m:i32, x:f64*, r:f64*, J:f64*)' --set env.factor=0.5 --target 1e-16 --out fit
# shellcheck disable=SC2086
status 0 "passes the tests of residuals" "$dshost" check ffi $curve --only channel,grad,pure.want \
    --set 'env.signature=void(m:i32, x:f64*, r:f64*, J:f64*)' --set env.factor=0.5

# Half of the box crashes: each costs one evaluation, and leaves a file that repeats it.
status 0 "a function that crashes" "$dshost" run --env ffi --opt rand --budget 20 --set "env.file=$foreign" \
    --set env.symbol=crash_right --set env.upper=1 --set run.max_failed=1 --pictures no --seed 1 --jobs 2 --out crash
crashed=$(table crash | grep -c crashed)
[ "$(rows crash)" -eq 20 ] && [ "$crashed" -gt 2 ] && [ "$crashed" -lt 18 ] &&
    [ "$(find crash -name 'failure-*.ini' | wc -l)" -eq "$crashed" ]
result $? "loses the evaluations that crash and no others"
status 0 "without isolation where it does not crash" "$dshost" run --env ffi --opt rand --budget 20 \
    --set "env.file=$foreign" --set env.symbol=nan_right --set env.upper=1 --isolation none --pictures no --seed 1 \
    --set run.max_failed=1 --out nan
[ "$(table nan | grep -c diverged)" -eq "$crashed" ]
result $? "NaN is a point without loss"
finish
