#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# channels.sh - an optimizer that requests values, products, gradients and common noise in many combinations gets
# the same replies, to the last bit, with every number of jobs, with and without isolation, from the record and
# after a failure; invalid queries are refused; runs of the first versions, which recorded residuals alone,
# resume.
. "$(dirname "$0")/../lib.sh"
channels=$DS_TOP_BUILD/tests/plugins/.libs/channels.so
asker=$DS_TOP_BUILD/tests/plugins/.libs/asker.so
cd "$tmp" || exit 99

# Points of later requests depend on every bit of earlier replies; log() prints the last ones.
answers() { # answers FILE
    grep -o 'request [0-9]*: .* answers .*' "$1"
}
# alike NAME DIR DIR LOG LOG: equal records, and equal answers.
alike() {
    same "$1" "$2" "$3"
    answers "$4" >answers1
    answers "$5" >answers2
    [ -s answers1 ] && cmp -s answers1 answers2
    result $? "... and the same answers to the last bit"
}

run="$dshost run --env $channels --opt $asker --isolate-optimizer false --pictures no --set run.max_failed=1 --set env.share=0.3"
for fault in none value product error unwritten diverge crash; do
    first=none
    [ $fault = crash ] && first=process
    # shellcheck disable=SC2086
    status 0 "fault = $fault: one job, isolation = $first" $run --set env.fault=$fault --set env.noise=0.2 \
        --set opt.noisy=true --budget 203 --jobs 1 --isolation $first --out $fault-1
    cp err log1
    [ "$(rows $fault-1)" -eq 203 ]
    result $? "has its 203 evaluations"
    # shellcheck disable=SC2086
    status 0 "three jobs with isolation" $run --set env.fault=$fault --set env.noise=0.2 --set opt.noisy=true \
        --budget 203 --jobs 3 --isolation process --out $fault-3
    cp err log2
    alike "give the same record" $fault-1 $fault-3 log1 log2
done
table product-1 | grep -q ',bad_gradient,.*channel [a-z]*: component of J.* is not finite' &&
    table value-1 | grep -q ',invalid,.*channel [a-z]*: element [0-9]* is not finite'
result $? "numbers that are not finite are told with their channel"

# Extended: the record answers values, products are computed again; the last request was cut in the middle.
run="$run --set env.noise=0.2 --set env.fault=product --set opt.noisy=true --set opt.rows=3 --seed 4"
# shellcheck disable=SC2086
status 0 "a run that ends inside of a request" $run --budget 98 --out part
status 0 "goes on: its best evaluation, with common noise, is what it was" "$dshost" resume part --budget 250 --jobs 2
cp err log1
# shellcheck disable=SC2086
status 0 "the whole run" $run --budget 250 --isolation none --out whole
cp err log2
alike "is the same" part whole log1 log2
# shellcheck disable=SC2086
status 0 "the optimizer in a process of its own" $run --budget 98 --isolate-optimizer --out own
status 0 "goes on there" "$dshost" resume own --budget 250 --isolate-optimizer
same "and is the same" own whole
status 0 "a run that is complete is gone through again" "$dshost" resume part --budget 260 --isolation none

# Common noise is a wish of the optimizer; the same points without it have losses of their own.
first="$(table whole | awk -F, 'NR > 1 && NR < 5 { print $2 }' | uniq | wc -l)"
[ "$first" -eq 2 ]
result $? "the first two rows of a request share their noise, the third does not"
# shellcheck disable=SC2086
status 0 "without noise groups" $run --set opt.same_noise=false --budget 9 --out apart
[ "$(table apart | awk -F, 'NR > 1 && NR < 5 { print $2 }' | uniq | wc -l)" -eq 3 ]
result $? "every row has its own"
# shellcheck disable=SC2086
status 0 "a channel of a role that is not known is left alone" $run --set env.later=true --budget 60 --out later

# What breaks the rules.
run="$dshost run --env $channels --opt $asker --pictures no --budget 60"
while read -r fault text; do
    # shellcheck disable=SC2086
    refuses 4 "$text" "refused: $fault" $run --set "opt.fault=$fault" --out "refused-$fault"
    [ "$(rows "refused-$fault")" -eq 25 ]
    result $? "... and nothing of the request is evaluated"
done << 'END'
twice operation 2 of channel 0 error: the query occurs twice
products operation 3 of channel 0 error: one row allows one product, this is the second
operation operation 9 of channel 0 error: the channel does not offer this operation
bytes has a reply whose bytes are not what an answer takes
nan has a number in v or w that is not finite
no_vector has no v
channel operation 2 of channel 200: the environment has no such channel
END
refuses 4 "this environment has no channels" "an environment without channels offers none" \
    "$dshost" run --env bounce --opt "$asker" --budget 5 --pictures no --out none-offered

if command -v sqlite3 >/dev/null; then
    mkdir old && sqlite3 old/run.sqlite <"$DS_TOP_SRC/tests/data/residuals_v0_1.sql"
    status 0 "a run of 24 with residuals and products, as the first versions recorded it, goes on" \
        "$dshost" resume old --budget 60
    status 0 "the same run of now" "$dshost" run --env analytic --opt lm --set env.function=rosenbrock \
        --set env.dim=3 --seed 2 --budget 60 --pictures no --out new
    # The old rows are those of another processor, whose BLAS rounds differently: numbers agree, not bits.
    table old >old.csv 2>err && table new >new.csv 2>>err && paste -d '\n' old.csv new.csv | awk -F, '
        function agree(a, b) { return a == b || (a - b) ^ 2 <= 1e-12 * (a ^ 2 + b ^ 2) }
        NR % 2 { n = split($0, old, ","); next }
        { if (NF != n) bad = 1; for (i = 1; i <= NF; i++) if (!agree(old[i], $i)) bad = 1 }
        END { exit bad || NR < 120 }'
    result $? "has the same record"
    questions="SELECT id, kind, asked, length(answered) FROM extra"
    [ "$(sqlite3 old/run.sqlite "$questions" | cksum)" = "$(sqlite3 new/run.sqlite "$questions" | cksum)" ]
    result $? "and the same questions beside its rows, answered alike"
    for change in "eval SET x = zeroblob(24) WHERE id = 3" "extra SET kind = 3 WHERE id = 3" \
        "extra SET asked = zeroblob(length(asked)) WHERE id = 3" "extra SET answered = zeroblob(8) WHERE id = 3"; do
        rm -rf changed before
        cp -r whole changed
        old_format changed # one with checksums says that it is damaged
        sqlite3 changed/run.sqlite "UPDATE $change"
        cp -r changed before
        refuses 4 "evaluation 3 .*nothing was changed" "a replay notices: $change" "$dshost" resume changed --budget 300
        same "and changes nothing" before changed
    done
else
    skip "old runs, and what a replay notices: sqlite3 is missing"
fi
bad 6 "describe() of ds.env.channels/1 failed for channel 0 (DS_E_IO): there is no such camera" eval --env "$channels" \
    --set env.fault=describe
finish
