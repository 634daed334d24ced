#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `dshost bench` under mpirun: the same records as with one process; lost ranks; errors printed once.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/bench_lib.sh"
: "${RUNS:=1}" "${BUDGET:=20}" "${ONLY:=*/cmaes */adam}"
cd "$tmp" || exit 99
if ! command -v mpirun >/dev/null || [ ! -f "$DS_TOP_BUILD/tools/ranks/.libs/ranks_mpi.so" ]; then
    skip "without MPI: there is no mpirun, or this dshost was built without it"
    finish
    exit 0
fi
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Ignore leaks of MPI itself.
LSAN_OPTIONS=detect_leaks=0
ASAN_OPTIONS=detect_leaks=0
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM LSAN_OPTIONS ASAN_OPTIONS
ranks() { # ranks N ARGUMENT...
    n=$1
    shift
    # shellcheck disable=SC2086
    timeout 300 mpirun ${recover-} --oversubscribe --mca btl self,vader,tcp -n "$n" "$dshost" "$@"
}
cheap all.ini "$RUNS" "$BUDGET"
status 0 "one process" "$dshost" bench all.ini --only "$ONLY" --jobs 2 --out one
status 0 "four ranks" ranks 4 bench all.ini --only "$ONLY" --out four
[ "$(cat "$tmp/out")" = four ]
result $? "of which one speaks"
same_bench "the records are the same" one four
cmp -s one/bench.ini four/bench.ini && [ "$(count four done)" = "$(count one done)" ]
result $? "and so is the experiment"
status 0 "nothing to do" ranks 2 bench all.ini --only "$ONLY" --out four
cat >slow.ini <<END
[bench]
envs = faulty analytic
opts = cmaes
runs = 4
[run]
budget = 100
[env faulty]
plugin = $faulty
n = 3
noise = 0.1
work = 0.005
END
printf '[bench]\nenvs = atlantis\nopts = rand\n' >bad.ini
got=0
ranks 3 bench bad.ini >"$tmp/out" 2>"$tmp/err" || got=$?
[ $got -eq 4 ] && [ "$(grep -c '^dshost: error: ' "$tmp/err")" -eq 1 ]
result $? "an error is said once"
got=0
ranks 3 bench bad.ini --jobz 3 >"$tmp/out" 2>"$tmp/err" || got=$?
[ $got -eq 2 ] && [ "$(grep -c '^dshost: error: ' "$tmp/err")" -eq 1 ]
result $? "a wrong flag, too"
status 0 "a dry run is done by one rank" ranks 2 bench slow.ini --dry-run --skip-missing --only 'analytic/*'
[ "$(grep -c '^analytic/cmaes' "$tmp/out")" -eq 1 ]
result $? "and printed once"

# timeout ends an endless wait with status 124.
got=0
sed 's/^dim = 5/dim = 6/' all.ini >other.ini
ranks 3 bench other.ini --only "$ONLY" --out four >"$tmp/out" 2>"$tmp/err" || got=$?
[ $got -eq 3 ] && [ "$(grep -c '^dshost: error: four holds runs of' "$tmp/err")" -eq 1 ]
result $? "what rank 0 refuses ends the job"

# A killed rank may end the job; running the command again continues.
"$dshost" bench slow.ini --out slow1 >"$tmp/out" 2>"$tmp/err"
# children PID: its child processes.
children() {
    cat "/proc/$1/task/$1/children" 2>/dev/null
}
stores() {
    find slow3 -name run.sqlite 2>/dev/null | wc -l
}
# last_rank PID: the last rank of the background job; mpirun is a descendant of the shell of the function and of timeout.
last_rank() {
    for rank in $(children "$(children "$(children "$1" | tr -d ' ')" | tr -d ' ')"); do :; done
    echo "$rank"
}
lost=0
for k in 1 2; do
    have=$(stores)
    ranks 3 bench slow.ini --out slow3 >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    tries=0
    while [ "$(stores)" -le "$have" ] && [ $tries -lt 200 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    rank=$(last_rank $pid)
    [ -n "$rank" ] && kill -9 "$rank" 2>"$tmp/err" && lost=$((lost + 1))
    wait $pid
done
[ $lost -gt 0 ]
result $? "ranks were killed"
status 0 "the same command again" ranks 3 bench slow.ini --out slow3
same_bench "nothing is lost" slow1 slow3

# With a flag that keeps the job alive, other ranks do the runs of a dead one.
recover='--mca orte_enable_recovery 1'
DS_RANK_TIMEOUT=5
export DS_RANK_TIMEOUT
rm -rf slow3
ranks 3 bench slow.ini --out slow3 >"$tmp/out" 2>"$tmp/err" &
pid=$!
tries=0
while [ "$(stores)" -lt 2 ] && [ $tries -lt 200 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
rank=$(last_rank $pid)
[ -n "$rank" ] && kill -9 "$rank"
wait $pid
[ "$(count slow3 done)" = "$(count slow1 done)" ]
result $? "the others do the work of a rank that is lost"
same_bench "with the same records" slow1 slow3
finish
