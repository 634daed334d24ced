#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The host divides a table of points evenly among the workers and passes each its share in one call: counts the rows of the
# calls of an environment that takes many rows.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
env=$DS_TOP_BUILD/tests/plugins/.libs/calls.so

# counts NAME "ROWS..." JOBS ISOLATION LAMBDA BUDGET MAX_ROWS: the calls of a run of cmaes, sorted, without single rows.
counts() {
    rm -rf log out
    "$dshost" --env "$env" --set env.log="$tmp/log" --set env.max_rows="${7:-64}" --opt cmaes --set opt.lambda="$5" --budget "$6" --jobs "$3" --isolation "$4" \
        --seed 1 --pictures no --out out >"$tmp/out.txt" 2>"$tmp/err"
    got=$(grep -vx 1 log | sort -n | tr '\n' ' ')
    [ "$got" = "$2${2:+ }" ] || echo "#   calls of $got, expected $2"
    [ "$got" = "$2${2:+ }" ] && [ "$(rows out)" -eq "$6" ]
    result $? "$1"
}
counts "one worker: a generation of 64 is one call" "64 64 64" 1 process 64 192
counts "two workers: a generation of 100 is 50 and 50" "50 50 50 50" 2 process 100 200
counts "two workers: 65 rows are 32 and 33" "32 33" 2 process 65 65
counts "one worker: at most as many rows as the environment takes" "6 64" 1 process 70 70
counts "in the process of the host: a generation of 64 is one call" "64 64" 1 none 64 128
counts "and one of 1000 with max_rows = 1000" "1000" 1 none 1000 1000 1000
counts "one worker with max_rows = 1000, too" "1000" 1 process 1000 1000 1000
counts "three workers: 1000 rows are 334, 334 and 332" "332 334 334" 3 process 1000 1000 4096
counts "two workers with max_rows = 64: 200 rows are four calls" "50 50 50 50" 2 process 200 200
counts "max_rows = 1: one at a time" "" 2 process 20 20 1
finish
