#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Environments that need a process for each instance, or are exact only to a tolerance; needs of plugins.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
alone=$DS_TOP_BUILD/tests/plugins/.libs/alone.so

# ---- a process for each instance: the plugin itself refuses a second one ----
status 0 "one evaluation" "$dshost" eval --env "$alone" --gradient
refuses 4 "alone needs a process of its own for each instance, which isolation = none does not provide; use isolation = process" \
    "without isolation" "$dshost" eval --env "$alone" --isolation none
refuses 4 "use isolation = process" "a run without isolation" "$dshost" --env "$alone" --opt rand --budget 5 --isolation none \
    --out none
[ ! -e none ]
result $? "leaves no folder"
status 0 "a run with 3 workers" "$dshost" --env "$alone" --opt rand --budget 300 --jobs 3 --pictures no --out run
[ "$(rows run)" -eq 300 ]
result $? "of 300 evaluations"
for jobs in 1 2; do
    status 0 "episodes with jobs = $jobs" "$dshost" --env "$alone" --opt ppo --set opt.episodes=8 --budget 24 --jobs $jobs \
        --pictures no --out "episodes$jobs"
done
table episodes1 >one
table episodes2 | cmp -s - one && [ "$(rows episodes1)" -eq 24 ]
result $? "are the same"
export DS_TEST_LIMIT=-2
"$dshost" --env "$alone" --opt rand --budget 3 --pictures no --max-failed 1 --out failing >out 2>err
grep -q 'evaluation 1 error: x₀ is too large – größer als erlaubt; failure-0001.ini repeats it' err &&
    table failing | grep -q 'x₀ is too large – größer als erlaubt'
result $? "what a plugin says stays UTF-8, on the terminal and in the record"
grep -qx 'isolation = process' failing/failure-0001.ini && ! grep -q gdb failing/failure-0001.ini
result $? "the file that repeats a failure does so in a process of its own"
status 5 "as it must" "$dshost" eval --config failing/failure-0001.ini
unset DS_TEST_LIMIT
"$dshost" help "$alone" >out 2>err && grep -q '^Each instance needs its own process' out
result $? "help says so"

# ---- exact to a tolerance ----
status 0 "an inexact run" "$dshost" --env "$alone" --set env.wobble=0.001 --opt rand --budget 20 --jobs 1 --pictures no --out inexact
[ "$(field inexact/summary.json inexact)" = 0.001 ]
result $? "its summary says how far"
grep -q '"inexact": *0' run/summary.json
result $? "also where that is 0"
"$dshost" --env analytic --opt rand --budget 5 --pictures no --out exact >out 2>err
! grep -q '"inexact"' exact/summary.json
result $? "that of an exact environment says nothing"
status 0 "it is resumed" "$dshost" resume inexact --budget 30
[ "$(rows inexact)" -eq 30 ] && ! grep -q "differs now" "$tmp/err"
result $? "without a warning"
export DS_TEST_WOBBLE=0.5
refuses 4 "evaluation [0-9]*, with the recorded loss .*, has the loss .* now: alone has changed since this run was made" \
    "results beyond the tolerance are another environment" "$dshost" resume inexact --budget 40
unset DS_TEST_WOBBLE
[ "$(rows inexact)" -eq 30 ]
result $? "and change nothing"
"$dshost" help "$alone" --json >out 2>err && grep -q '"tolerance": *0' out
result $? "help --json tells the tolerance"
compile_bad secret_tolerance
refuses 4 "info() returned tolerance 1e-06, but the descriptor lacks DS_ENV_INEXACT" "a tolerance without the flag" \
    "$dshost" eval --env ./secret_tolerance.so

# ---- needs and uses ----
compile_bad needs_later
refuses 4 "needs_later needs ds.host.later/1, which this host does not have; use a newer host" "a need that no host here meets" \
    "$dshost" eval --env ./needs_later.so
echo '#define BAD_ID "moon"
#define BAD_NEEDS "org.example.moon/1"
#include "tests/bad/opt_base.h"' >moon.c
# shellcheck disable=SC2086
${DS_CC:-cc} ${DS_SANITIZE-} -fPIC -shared -fvisibility=hidden -I"$DS_TOP_SRC" -I"$DS_TOP_SRC/include" -o moon.so moon.c -lm
refuses 4 "moon needs org.example.moon/1, which analytic does not have; use another optimizer, or an environment" \
    "an unknown need of an optimizer" "$dshost" --env analytic --opt ./moon.so --budget 5 --out none
refuses 4 "lbfgsb needs gradients, which ffi does not have" "gradients" "$dshost" --env ffi --opt lbfgsb --budget 5 --out none
"$dshost" help lbfgsb >out 2>err && grep -qx 'Needs gradients\.' out && "$dshost" help turbo >out 2>err &&
    grep -q '^Uses gradients' out
result $? "help tells needs and uses"
"$dshost" help lm --json >out 2>err && grep -q '"uses": *\[ *"ds.env.residuals/1"' out && "$dshost" list >out 2>err &&
    grep -q '^  lbfgsb .*\[needs gradients\]$' out && grep -q '^  turbo .*\[uses gradients\]$' out
result $? "list, too"
mkdir plugins && cp moon.so plugins
printf '[bench]\nenvs = analytic\nopts = rand moon ppo lbfgsb\nruns = 1\n[run]\nbudget = 5\n' >b.ini
DS_PLUGIN_PATH=$tmp/plugins "$dshost" bench b.ini --out bench >out 2>err
result $? "a bench"
grep -q "analytic/moon is left out: moon needs org.example.moon/1, which analytic does not have" err &&
    grep -q "analytic/ppo is left out: ppo needs stepwise control, which analytic does not have" err &&
    ! grep -q "analytic/lbfgsb is left out" err
result $? "leaves out the pairs that do not fit"
finish
