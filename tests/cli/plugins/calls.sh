#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The host divides a table of points evenly among the workers and hands each its part whole: counts the rows of the calls of an
# environment that takes many rows in one.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
env=$DS_TOP_BUILD/tests/plugins/.libs/calls.so

# counts NAME "ROWS..." JOBS ISOLATION LAMBDA BUDGET: the calls of a run of cmaes, sorted, without those of single rows.
counts() {
    rm -rf log out
    "$dshost" --env "$env" --set env.log="$tmp/log" --opt cmaes --set opt.lambda="$5" --budget "$6" --jobs "$3" --isolation "$4" \
        --seed 1 --pictures no --out out >"$tmp/out.txt" 2>"$tmp/err"
    got=$(grep -vx 1 log | sort -n | tr '\n' ' ')
    [ "$got" = "$2 " ] || echo "#   calls of $got, expected $2"
    [ "$got" = "$2 " ] && [ "$(rows out)" -eq "$6" ]
    result $? "$1"
}
counts "one worker: a generation of 64 is one call" "64 64 64" 1 process 64 192
counts "two workers: a generation of 100 is 50 and 50" "50 50 50 50" 2 process 100 200
counts "two workers: 65 rows are 32 and 33" "32 33" 2 process 65 65
counts "one worker: at most as many rows as the environment takes" "6 64" 1 process 70 70
counts "in the process of the host: a generation of 64 is one call" "64 64" 1 none 64 128
finish
