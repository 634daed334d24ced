#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An environment that breaks every rule about its process and the shared memory (tests/plugins/wild.c): every run
# ends, with one clear line, and keeps its earlier evaluations.
. "$(dirname "$0")/../lib.sh"
wild=$DS_TOP_BUILD/tests/plugins/.libs/wild.so
cd "$tmp" || exit 99
most=120 # seconds: none of these takes more than a few on a machine of its own

# wild STAGE HOW ARGUMENT...: a run; its status in $got, what it printed in $tmp/err.
wild() {
    stage=$1
    how=$2
    shift 2
    rm -rf run
    got=0
    timeout -s KILL "$most" "$dshost" --env "$wild" --set env.stage="$stage" --set env.how="$how" --set env.above=0.8 \
        --opt rand --budget 40 --max-failed 1 --pictures no --out run "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
}

# goes_on STAGE HOW [FAILED OUTCOME TEXT]: all 40 evaluations are recorded, and exactly those that failed are marked as failed.
goes_on() {
    limit=30 # a machine that is busy must not look like one that hangs
    [ "$4" = timeout ] && limit=2
    wild "$1" "$2" --jobs 2 --timeout-s $limit
    failed=$(table run | awk -F, 'NR > 1 && $4 != "ok"' | wc -l)
    [ "$got" -eq 0 ] && [ "$(rows run)" -eq 40 ] && [ "$failed" -eq "${3:-0}" ] &&
        { [ -z "$5" ] || grep -q "^dshost: warning: wild: evaluation [0-9]* $4: $5" "$tmp/err"; }
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   status $got, $(rows run) rows"
    result "$passed" "$1 $2: the run goes on${4:+, $3 evaluations are $4}"
}

# ends STAGE HOW PATTERN [ARGUMENT...]: status 4, or 0 where it was quicker than anybody could notice; one line.
ends() {
    stage_how="$1 $2"
    pattern=$3
    first=$1
    second=$2
    shift 3
    wild "$first" "$second" --jobs 2 --timeout-s 1 "$@"
    { [ "$got" -eq 0 ] && [ "$(rows run)" -eq 40 ]; } ||
        { [ "$got" -eq 4 ] && [ "$(grep -c '^dshost: error: ' "$tmp/err")" -eq 1 ] &&
            grep -q "^dshost: error: .*wild.*$pattern" "$tmp/err"; }
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   status $got"
    result "$passed" "$stage_how: ends with a line"
}

# ---- processes, threads, signals, descriptors: each costs the evaluations that do it ----
for how in shell fork_child become_daemon fork_and_return thread_exits start_threads deaf set_alarm close_all close_output \
    replace_all truncate_files grow_files seal_files change_process word_taken_none word_done word_range word_range_none \
    word_taken_all; do
    goes_on evaluate $how
done
goes_on evaluate abort 3 crashed "the worker was killed by SIGABRT"
goes_on evaluate fork_and_crash 3 crashed "the worker was killed by SIGABRT"
goes_on evaluate daemon_and_crash 3 crashed "the worker was killed by SIGABRT"
goes_on evaluate kill_group 3 crashed "the worker was killed by SIGKILL"
goes_on evaluate exit_0 3 crashed "the worker ended by itself with exit status 0"
goes_on evaluate execute 3 crashed "the worker closed its connection to the host, or became another program"
goes_on evaluate word_many 3 crashed "the worker was killed by SIGABRT"
[ -n "$DS_SANITIZE" ] || goes_on evaluate recurse 3 crashed "the worker was killed by SIGSEGV"
for how in hang fork_and_hang fork_many stop_self deaf_and_hang word_started word_started_none; do
    goes_on evaluate $how 3 timeout "no answer within 2 s (timeout_s)"
done
goes_on evaluate close_and_hang 3 crashed "the worker closed its connection"
for how in hang stop_self fork_and_hang deaf_and_hang execute shell fork_child become_daemon; do
    goes_on destroy $how
done
goes_on destroy fork_and_crash
grep -q "^dshost: warning: wild: at the end a worker was killed by SIGABRT" "$tmp/err"
result $? "a crash in destroy() is told"

# ---- floating point ----
goes_on evaluate nothing
table run >plain
goes_on evaluate round_up
table run | cmp -s - plain && grep -q "^dshost: warning: evaluate() .*changed the floating-point mode" "$tmp/err"
result $? "a rounding mode that is left changed changes no later evaluation"

# ---- shared memory ----
spoilt="the memory shared by host and workers was overwritten"
for how in punch_files litter_files fill_ones fill_zeros fill_head fill_slots fill_noise word_posted word_posted_far word_taken \
    word_stop word_quit word_layout states_free states_posted states_foreign states_neighbour states_killed states_strange \
    thread_scribbles; do
    for jobs in 2 $(all 1); do
        ends evaluate $how "$spoilt" --jobs "$jobs"
    done
done
wild evaluate states_done --jobs 2 --timeout-s 1
table run | awk -F, 'NR > 1 && $4 == "ok" && $2 != $2 + 0 { bad = 1 } NR > 1 && $4 == "ok" && $2 == 0 { bad = 1 } END { exit bad }'
result $? "a slot that nobody has worked on is no answer"
wild evaluate questions --jobs 1 --timeout-s 1
table run >wild-table
table_x() {
    cut -d, -f11- "$1"
}
[ "$got" -eq 0 ] && grep -q "its request was overwritten in the memory of the workers" wild-table && table_x wild-table >x1 &&
    table_x plain >x2 && cmp -s x1 x2
result $? "an evaluation is recorded with the x that was asked for"

# ---- what was done before is kept, and can be gone on with ----
wild evaluate word_stop --jobs 1
before=$(rows run)
[ "$got" -eq 4 ] && [ "$before" -gt 0 ] && grep -q "the evaluations so far are saved: $before evaluations" "$tmp/err"
result $? "what was done before is saved"
got=0
timeout -s KILL "$most" "$dshost" resume run >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
[ "$got" -eq 4 ] && [ "$(rows run)" -ge "$before" ]
result $? "resuming it comes to the same point"

# ---- starts ----
for how in hang spin deaf_and_hang stop_self fork_and_hang; do
    [ $how = spin ] && limit="1 --jobs 1" || limit=2
    # shellcheck disable=SC2086
    ends create $how "create() failed: no answer within ${limit% --*} s (start_timeout_s)" --start-timeout-s $limit
    [ "$got" -eq 4 ]
    result $? "create $how: is ended"
done
for how in fork_and_crash daemon_and_crash exit_0 kill_group close_all execute; do
    ends create $how "create() failed: "
    [ "$got" -eq 4 ]
    result $? "create $how: is told"
done
ends info hang "create() failed: no answer within 2 s (start_timeout_s)" --start-timeout-s 2
ends bounds fork_and_hang "create() failed: no answer within 2 s (start_timeout_s)" --start-timeout-s 2
goes_on create shell
goes_on create become_daemon
goes_on create fork_and_return
for how in hang fork_and_hang; do
    DS_WILD_LOAD=$how
    export DS_WILD_LOAD
    ends evaluate nothing "its start-up code did not end within 2 s: raise run.start_timeout_s" --start-timeout-s 2
    unset DS_WILD_LOAD
done

# ---- SIGINT ends what has no time limit ----
# interrupt STAGE HOW STATUS
interrupt() {
    rm -rf run
    "$dshost" --env "$wild" --set env.stage="$1" --set env.how="$2" --opt rand --budget 40 --timeout-s 0 --pictures no --jobs 2 \
        --out run >"$tmp/out" 2>"$tmp/err" </dev/null &
    pid=$!
    sleep 2
    (sleep "$most" && kill -KILL $pid) >/dev/null 2>&1 & # or sleep would hold the pipe of the test driver
    guard=$!
    kill -INT $pid
    got=0
    wait $pid || got=$?
    kill $guard 2>/dev/null
    [ "$got" -eq 130 ]
    result $? "SIGINT ends $2 in $1"
}
for how in hang stop_self fork_and_hang deaf_and_hang; do
    interrupt evaluate $how
done
interrupt create hang
interrupt create deaf_and_hang

# ---- output ----
wild evaluate print_escapes --jobs 1
[ "$got" -eq 0 ] && ! LC_ALL=C tr -d '\n\t' <"$tmp/err" | LC_ALL=C grep -q "$(printf '[\001-\037\177]')" &&
    ! LC_ALL=C grep -q "$(printf '\302\233')" "$tmp/err"
result $? "nothing that is printed steers a terminal"
begin=$(date +%s)
wild evaluate print_much --jobs 1 --timeout-s 60
size=$(wc -c <"$tmp/err")
seconds=$(($(date +%s) - begin))
# twenty lines a second, of 1 KB each
[ "$got" -eq 0 ] && [ "$size" -lt $(((seconds + 2) * 25000)) ] && grep -q "more lines of output in one second are not shown" "$tmp/err"
passed=$?
[ "$passed" -eq 0 ] || echo "#   status $got, $size bytes in $seconds s"
result "$passed" "100 MB of output are told of, and not passed on"
wild evaluate print_long --jobs 1
[ "$got" -eq 0 ]
result $? "a line without an end"
finish
