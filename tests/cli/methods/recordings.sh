#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# recordings.sh - environments that fit a recording: the result, its intervals, the figure of the fit, and one line for bad
# data.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

pendulum="--env double_pendulum --isolation none"
# shellcheck disable=SC2086
run "$dshost" run $pendulum --set env.variant=damping --opt lm --budget 60 --pictures no --out damping
result $? "a run with two unknown torques"
field damping/summary.json best_loss | awk '{ exit !($1 < 1e-16) }'
result $? "finds them"
"$dshost" eval --x damping --json > out 2> err
tr -d ' \n' < out | sed 's/.*"x":\[\([^]]*\)\].*/\1/' | tr ',' ' ' |
    awk '{ exit !(($1 + 0.2) ^ 2 < 1e-12 && ($2 + 0.1) ^ 2 < 1e-12) }'
result $? "to 1e-6"

truth=9.8,0.735,9.9,-26.5,-26,0.35,0.1
# shellcheck disable=SC2086
"$dshost" eval $pendulum --set env.variant=synthetic --set env.held_out=50 --x $truth --intervals --fit fit.svg > out 2> err
result $? "intervals and a picture of the fit"
grep -q '^intervals of 95 %: sigma 0.0023[0-9]* .* of them, rank 7 of 7$' out
result $? "the noise and the rank are what they are"
grep -q '<svg' fit.svg && grep -q 'held out' fit.svg && grep -q 'recorded_angle2' fit.svg
result $? "the picture has its curves"
# shellcheck disable=SC2086
"$dshost" eval $pendulum --set env.variant=synthetic --set env.rollout=onestep --intervals > out 2> err &&
    grep -q 'rank 5 of 7' out && grep -q '^not determined: .*1 rate.1' out
result $? "what nothing determines is named"

printf '1,2\n3,4\n5,x\n' > word.csv
printf '0.1,0.2\n0.1,\n0.1,0.2\n' > gap.csv
printf '0,0.1,0.2\n1,0.1,0.2\n0.5,0.1,0.2\n' > times.csv
printf '\000\001\002\003' > binary.csv
bad_file() { # bad_file FILE TEXT SETTING...: status 3 and one line
    file=$1 text=$2
    shift 2
    # shellcheck disable=SC2086
    refuses 3 "$text" "$file: $text" "$dshost" eval $pendulum --set env.variant=recording --set env.file=$file --set env.n_samples=3 "$@"
}
bad_file word.csv "line 3, column 2: 'x' is not a number" --set 'env.columns=1 2'
bad_file word.csv "there is no column '3' among its 2"
bad_file gap.csv "set parameter gaps = true" --set 'env.columns=1 2'
bad_file times.csv "times must increase" --set 'env.columns=2 3' --set env.time_column=1
bad_file binary.csv "this is not a recording"
bad_file nowhere.csv "No such file"
finish
