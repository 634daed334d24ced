#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# messages.sh - messages for mistyped commands: the wrong word, the existing words, the next step.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99

# told STATUS WORDS COMMAND...: ends with this status, and prints these words.
told() {
    expected=$1
    words=$2
    shift 2
    "$@" > out 2> err
    got=$?
    [ "$got" -eq "$expected" ] && grep -qF -- "$words" err
    passed=$?
    [ $passed -eq 0 ] || { echo "# status $got"; sed 's/^/# /' err; }
    result $passed "'$words' ($*)"
}

# ---- flags ----
told 2 'unknown flag -env; did you mean --env?' "$dshost" -env pinball
told 2 'unknown flag -opt; did you mean --opt?' "$dshost" run --env pinball -opt=bo
told 2 'unknown flag -json; did you mean --json?' "$dshost" eval --env pinball -json
told 2 'unknown flag -x;' "$dshost" run -x
told 2 '--kind violin: expected one of bars, curves, scores, profile, targets' "$dshost" plot . --kind violin
told 2 "did you mean 'curves'?" "$dshost" plot . --kind curvs
told 2 '--along step: expected one of evaluations, steps, seconds' "$dshost" plot . --along step
told 2 "expected a whole number from 1 to 1000000000000" "$dshost" run --env pinball --opt rand --budget 0 --out no
told 3 'expected the name of a file with the numbers' "$dshost" eval --env torus --set env.target=1,2
[ ! -e no ]
result $? "and nothing was made"

# ---- points ----
told 3 "--x 1,2,abc: 'abc' is not a number" "$dshost" eval --env pinball --x 1,2,abc
told 3 "--x abc,2: cannot open" "$dshost" eval --env pinball --x abc,2
told 3 "--x 0.5: 1 numbers, but pinball has 2 variables" "$dshost" eval --env pinball --x 0.5

# ---- ends ----
told 1 'target -5 not reached' "$dshost" run --env analytic --opt rand --budget 5 --target -5 --out missed --pictures no
told 1 'and the target not reached; --budget N extends' "$dshost" resume missed
told 0 'target reached' "$dshost" run --env analytic --opt rand --budget 5 --target 1e9 --out hit --pictures no
! grep -q 'not reached' err
result $? "only where it was not"

# ---- resume ----
cat > two.ini << 'END'
[bench]
envs = analytic
opts = rand
runs = 2
[run]
budget = 5
END
told 0 '2 of 2 runs done' "$dshost" bench two.ini --out two
told 2 'resume two.ini: a file of settings, not the folder of a run; to resume an experiment: dshost bench two.ini' "$dshost" resume two.ini
told 2 'resume two: an experiment; resume it with: dshost bench two/bench.ini --out two' "$dshost" resume two
told 0 '2 done already' "$dshost" bench two/bench.ini --out two
told 2 'resume missed/run.ini: a file; name the folder of the run, as in: dshost resume missed' "$dshost" resume missed/run.ini
told 2 'resume missed/run.sqlite: a file; name the folder of the run, as in: dshost resume missed' "$dshost" resume missed/run.sqlite

# ---- output ----
"$dshost" eval --env pendulum --metrics > out 2> err
grep -q '^torque  *1  *- N m' out && ! grep -q nan out
result $? "a metric that is undefined at the end is a dash"
"$dshost" report missed/// --out page// > out 2> err
[ "$(cat out)" = page/index.html ]
result $? "paths have one slash between two names"
"$dshost" help run > out 2> err
grep -q 'noise_key = 0   (int, 0 to 9007199254740992)' out
result $? "the ends of a whole number are written in full"
finish
