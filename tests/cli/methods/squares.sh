#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# squares.sh - runs that request residuals and products with their Jacobian: the same record for every
# number of jobs and with failures, extended exactly, residuals recorded with their rows, and a replay that detects
# another environment.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

for opt in lm pbh; do
    run="$dshost run --env $faulty --opt $opt --budget 300 --seed 5 --pictures no --set env.n=4 --set env.residuals=true"
    run="$run --set env.share=0.2 --set run.max_failed=1"
    for fault in segv diverge error nan; do
        # shellcheck disable=SC2086
        status 0 "$opt with 20 % of the points failing ($fault)" $run --set env.fault=$fault --jobs 1 --out $opt-$fault-1
        [ "$(rows $opt-$fault-1)" -eq 300 ] && field $opt-$fault-1/summary.json best_loss | grep -q '^[0-9]'
        result $? "has its 300 evaluations and a finite best"
        # shellcheck disable=SC2086
        status 0 "with three jobs" $run --set env.fault=$fault --jobs 3 --out $opt-$fault-3
        same "gives the same record" $opt-$fault-1 $opt-$fault-3
    done
    # shellcheck disable=SC2086
    status 0 "products that are not finite" $run --set env.fault=nangrad --isolation none --out $opt-nangrad
    table $opt-nangrad | grep -q ',bad_gradient,'
    result $? "are told as such"
done

run="$dshost run --env analytic --set env.function=rosenbrock --set env.dim=4 --opt lm --seed 2 --pictures no"
# shellcheck disable=SC2086
status 0 "a run of 150" $run --budget 150 --out part
status 0 "extended to 400" "$dshost" resume part --budget 400
# shellcheck disable=SC2086
status 0 "a run of 400" $run --budget 400 --isolation none --out whole
same "is the same" part whole
awk -v best="$(field whole/summary.json best_loss)" 'BEGIN { exit !(best < 1e-15) }'
result $? "and finds the bottom of the valley"
# shellcheck disable=SC2086
status 0 "with noise there are no residuals, but a gradient" $run --budget 50 --set env.noise=0.1 --out noise
refuses 4 "residuals = vector: this environment has no residuals" "asking for them is an error" \
    "$dshost" run --env pendulum --opt lm --set opt.residuals=vector --budget 5 --pictures no --out refused

status 0 "a recorded lift: residuals fit the loss, its gradient and each other" \
    "$dshost" check realtosim --set env.r2s_norm=sq --only "channel.list,channel.value,channel.products,channel.guard$(all ,channel)"
grep -q '^# [a-z]*: 372 elements; relative errors, J v' "$tmp/out"
result $? "3 coordinates of 4 corners in 31 samples"

if command -v sqlite3 >/dev/null; then
    [ "$(sqlite3 whole/run.sqlite 'SELECT count(*) FROM extra')" -eq 400 ] &&
        [ "$(sqlite3 whole/run.sqlite 'SELECT count(*) FROM extra WHERE (kind = 1) <> (answered IS NOT NULL)')" -eq 0 ] &&
        [ "$(sqlite3 whole/run.sqlite 'SELECT max(length(answered)) FROM extra')" -eq 48 ]
    result $? "residuals are beside their rows, products are not kept"
    for change in "eval SET loss = loss * 1.001 WHERE id = 3" "extra SET kind = 3 WHERE id = 3" \
        "extra SET asked = zeroblob(32) WHERE id = 3"; do
        rm -rf changed
        cp -r whole changed
        old_format changed # one with checksums says that it is damaged
        sqlite3 changed/run.sqlite "UPDATE $change"
        rm -rf before
        cp -r changed before
        refuses 4 "evaluation 3 .*nothing was changed" "a replay notices: $change" "$dshost" resume changed --budget 500
        same "and changes nothing" before changed
    done
else
    skip "what the store holds: sqlite3 is missing"
fi
finish
