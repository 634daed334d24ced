#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ffi.sh - functions of other libraries as environments: the examples as a reader would use them, errors
# with their line and exit status, and a function that crashes.
. "$(dirname "$0")/../lib.sh"
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
bad 3 "does not export 'j00'" eval --env ffi --set env.symbol=j00
bad 3 "unknown type 'double'" eval --env ffi --set 'env.signature=double(x0:f64)'
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

# Output of a library on stderr is a failure, unless a setting permits it; symbols for libraries that it loads.
cat > speaks.c << 'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
double speaks(double x);
double speaks(double x)
{
    if (x > 0) {
        fprintf(stderr, "speaks: no loss at %g\n", x);
    }
    if (x > 1) {
        abort();
    }
    return 0;
}
int silent(double x, double *f, double *g);
int silent(double x, double *f, double *g)
{
    (void)f, (void)g;
    return x > 2;
}
double shared_number(void) { return 42; }
double loads(double x);
double loads(double x)
{
    void *m = dlopen("./module.so", RTLD_NOW);
    double (*f)(void);
    if (!m) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    *(void **)&f = dlsym(m, "number");
    return x * f();
}
END
echo 'double shared_number(void); double number(void); double number(void) { return shared_number(); }' > module.c
# shellcheck disable=SC2086
if [ -z "$DS_SANITIZE" ] && ${DS_CC:-cc} -fPIC -shared -o speaks.so speaks.c -ldl 2> err && ${DS_CC:-cc} -fPIC -shared -o module.so module.c 2> err; then
    speaks="eval --env ffi --set env.file=speaks.so --set env.lower=-3 --set env.upper=3"
    status 0 "a function that is silent" "$dshost" $speaks --set env.symbol=speaks --x -1
    status 5 "one that writes to stderr has failed" "$dshost" $speaks --set env.symbol=speaks --x 0.5
    grep -q 'ffi: speaks: no loss at 0.5' err && grep -q 'warning: ffi: the function writes to stderr' err
    result $? "and its words are seen"
    status 0 "stderr = fine" "$dshost" $speaks --set env.symbol=speaks --x 0.5 --set env.stderr=fine
    status 5 "one that crashes" "$dshost" $speaks --set env.symbol=speaks --x 1.5
    grep -q 'ffi: speaks: no loss at 1.5' err && grep -q SIGABRT err
    result $? "has its last words"
    status 0 "a run in which half of it fails" "$dshost" run --env ffi --set env.file=speaks.so --set env.symbol=speaks --set env.lower=-1 \
        --set env.upper=1 --opt rand --budget 40 --set run.max_failed=1 --jobs 2 --pictures no --out speaks
    [ "$(table speaks | grep -c diverged)" -gt 5 ] && [ "$(table speaks | grep -c ',ok,')" -gt 5 ]
    result $? "has both"
    status 5 "a loss that was not written is none" "$dshost" $speaks --set env.symbol=silent --set 'env.signature=i32(x0:f64, f:f64*, g:f64*)'
    status 5 "a library that misses symbols" "$dshost" $speaks --set env.symbol=loads --x 2
    status 0 "and has them with global = true" "$dshost" $speaks --set env.symbol=loads --x 2 --set env.global=true --json
    has '"loss": 84' "with the right value"
else
    skip "what a library says on stderr: no compiler, or sanitizers"
fi
if [ -z "$DS_SANITIZE" ] && python3 -c 'import cffi' 2> err; then
    cp "$DS_TOP_SRC/examples/ball_cffi.py" "$DS_TOP_SRC/examples/ball_cffi.ini" .
    if run python3 ball_cffi.py; then
        status 0 "a function in Python" "$dshost" eval --config ball_cffi.ini --x 0.3,0.4 --gradient --fd --json
        status 0 "is searched" "$dshost" --config ball_cffi.ini --pictures no --jobs 2 --out ball
        awk -v best="$(field ball/summary.json best_loss)" 'BEGIN { exit !(best < 1e-6) }'
        result $? "and ends at its target"
        sed -i 's/miss = q - target/raise ValueError("not today")/' ball_cffi.py && rm -f libball.so && run python3 ball_cffi.py
        status 5 "an exception is a failure" "$dshost" eval --config ball_cffi.ini
        status 5 "also where nothing is looked at" "$dshost" eval --config ball_cffi.ini --set env.stderr=fine
    else
        skip "a function in Python: the library cannot be built here"
    fi
else
    skip "a function in Python: there is no cffi"
fi

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
