#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Limits of the shell (ulimit): where a limit is too low, a program ends with a line and a documented status, or continues
# without an optional feature.
. "$(dirname "$0")/lib.sh"
wild=$DS_TOP_BUILD/tests/plugins/.libs/wild.so
cd "$tmp" || exit 99

# limited FLAG VALUE ARGUMENT...: dshost under a limit; 0 where it ended well, or with one line and a status of its own.
limited() {
    flag=$1
    value=$2
    shift 2
    rm -rf run
    status=0
    (ulimit "$flag" "$value" && exec timeout -s KILL 120 "$dshost" "$@") >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
    case $status in
    0) return 0 ;;
    1 | 2 | 4 | 6 | 7 | 8) grep -q '^dshost: error: ' "$tmp/err" && [ "$(grep -c '^dshost: error: ' "$tmp/err")" -eq 1 ] ;;
    127) grep -q 'error while loading shared libraries' "$tmp/err" ;; # before it is dshost
    *) return 1 ;;
    esac
}

# sweep NAME FLAG "VALUES" ARGUMENT...
sweep() {
    name=$1
    letter=$2
    values=$3
    shift 3
    bad=
    for v in $values; do
        limited "$letter" "$v" "$@" || bad="$bad $v($status)"
    done
    [ -z "$bad" ] || echo "#   $letter$bad"
    [ -z "$bad" ]
    result $? "ulimit $letter: $name"
}
files="5 7 9 10 11 12 13 14 15 16 17 18 20 22 24 26 28 30 33 36 40"
sweep run -n "$files" --env analytic --opt boleap --budget 40 --jobs 4 --pictures no --out run
sweep "an optimizer apart" -n "$files" --env analytic --opt rand --isolate-optimizer yes --budget 40 --jobs 2 --pictures no \
    --out run
sweep eval -n "$files" eval --env analytic
few "$tmp/few" envs/analytic envs/pendulum optimizers/rand
dshost=$few sweep list -n "5 7 9 12" list
sweep check -n "8 12 16 20 24 30" check analytic --only load
limited -n 10 --env analytic --opt boleap --budget 40 --jobs 4 --pictures no --out run
[ "$status" -eq 6 ] && grep -q "too few open files are allowed (ulimit -n)" "$tmp/err"
result $? "too few open files are named"
# More workers than files: once a loop without end.
refuses 6 "analytic: 342 workers need 1[34][0-9]* open files, but only 1024 are allowed (ulimit -n); set jobs to 2[45][0-9] or less" \
    "as many workers as a machine with many processors has" sh -c "ulimit -n 1024 && exec timeout -s KILL 60 '$dshost' \
    --env analytic --opt cmaes --budget 40 --jobs 342 --pictures no --out many"
(ulimit -Sn 40 && exec timeout -s KILL 60 "$dshost" --env analytic --opt rand --budget 40 --jobs 16 --pictures no --out soft) >"$tmp/out" 2>"$tmp/err"
result $? "a soft limit is raised"
status 0 "and without --jobs there are as many as fit" sh -c "ulimit -n 34 && exec timeout -s KILL 60 '$dshost' \
    --env analytic --opt rand --budget 40 --pictures no --out fitting"
if [ -z "$DS_SANITIZE" ]; then
    memory="20000 40000 70000 100000 130000 160000 180000 200000 220000 240000 300000 500000"
    sweep run -v "$memory" --env analytic --opt boleap --budget 40 --jobs 2 --pictures no --out run
    sweep eval -v "$memory" eval --env analytic
    sweep landscape -v "60000 120000 200000" landscape --env analytic --out land
    sweep "many threads" -v "100000 300000" --env "$wild" --set env.how=start_threads --opt rand --budget 20 --pictures no \
        --timeout-s 2 --max-failed 1 --out run
    limited -v 100000 --env analytic --opt boleap --budget 40 --pictures no --out run
    [ "$status" -eq 7 ] && grep -q "its OpenBLAS needs 128 MiB more address space" "$tmp/err"
    result $? "what OpenBLAS needs is named"
    status 0 "an optimizer with BLAS and little memory" "$dshost" --env analytic --opt boleap --isolate-optimizer yes \
        --memory-mb 64 --budget 40 --pictures no --out little
else
    skip "limits of address space are not for sanitizer builds"
fi
sweep run -s "200 1000" --env analytic --opt boleap --budget 40 --pictures no --out run
sweep run -l "0 64" --env analytic --opt rand --budget 40 --pictures no --out run

# ---- descriptors that are closed ----
printf '[bench]\nenvs = analytic\nopts = rand cmaes\nruns = 1\n[run]\nbudget = 400\npictures = no\n' >limits.ini
refuses 6 "standard output" "bench with its output closed" sh -c 'exec "$0" bench limits.ini --out closed >&-' "$dshost"
(exec "$dshost" --env analytic --opt rand --budget 100000000 --pictures no --out held <&- >&- 2>&-) &
pid=$!
begun held
for fd in 0 1 2; do
    [ "$(readlink "/proc/$pid/fd/$fd")" = /dev/null ]
    result $? "nothing of a run has the number of standard descriptor $fd that was closed"
done
kill -INT $pid
wait $pid
[ $? -eq 130 ] && "$dshost" doctor held | grep -q "held: [0-9]* evaluations, intact"
result $? "and the run is whole"

# ---- sizes of files ----
sizes="1 8 40 100"
sweep run -f "$sizes" --env analytic --opt rand --budget 400 --pictures no --out run
dshost=$few sweep list -f "$sizes" list
sweep check -f "$sizes" check analytic --only load
sweep landscape -f "$sizes" landscape --env analytic --grid 15 --out run
for v in 2 4 8; do
    limited -f $v eval --env analytic
    [ "$status" -eq 6 ] && grep -q "the file size limit (ulimit -f) is too small" "$tmp/err"
    result $? "and one of $v blocks, where a worker cannot answer"
done
limited -f 1 --env analytic --opt rand --budget 40 --pictures no --out run
[ "$status" -eq 6 ] && grep -q "analytic.so: its process cannot write its description: the file size limit (ulimit -f) is too small" "$tmp/err"
result $? "one that leaves no room for what a plugin says is named"
# experiment COMMAND...: bench under a limit ends, and each run that failed has a line.
experiment() {
    rm -rf run
    got=0
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
    case $got in
    0 | 6 | 7) [ "$(grep -c "^dshost: failed: .*(status [67]): .*ulimit" "$tmp/err")" -eq "$(sed -n 's/.*runs done, \([0-9]*\) failed/\1/p' "$tmp/err")" ] ;;
    *) return 1 ;;
    esac
}
experiment sh -c "ulimit -f 40 && exec timeout -s KILL 60 '$dshost' bench limits.ini --out run --jobs 2"
result $? "ulimit -f: bench"

# ---- processor time ----
status 152 "ulimit -t: a run is stopped, and saved" sh -c "ulimit -t 2 && exec timeout -s KILL 100 '$dshost' --env analytic --opt rand \
    --isolation none --budget 100000000 --pictures no --out timed"
grep -q "the limit of processor time (ulimit -t) is used up; stopping after this step" "$tmp/err" &&
    grep -q "continue with: dshost resume timed" "$tmp/err" && "$dshost" doctor timed | grep -q "timed: [0-9]* evaluations, intact"
result $? "with a line"
rm -rf timed
refuses 7 "faulty: a worker used up the CPU time limit of 2 s (ulimit -t)" "that of a worker" sh -c "ulimit -t 2 &&
    exec timeout -s KILL 100 '$dshost' --env '$faulty' --set env.work=0.1 --set env.busy=true \
    --opt rand --jobs 1 --budget 100000 --pictures no --out timed"
status 0 "what was done is resumed" "$dshost" resume timed --budget "$(($(rows timed) + 3))"

# ---- processes: root has no limit ----
open=$(mktemp -d "${TMPDIR:-/tmp}/diffsim-cli-XXXXXX")
chmod 777 "$open" && cp limits.ini "$open/"
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$open" "$@"
}
if [ -z "$DS_SANITIZE" ] && [ "$(id -u)" -eq 0 ] && as_nobody test -x "$dshost" 2>/dev/null && as_nobody bash -c : 2>/dev/null; then
    cd "$open" || exit 99
    bad=
    few "$open/few" envs/analytic envs/pendulum optimizers/rand
    for v in 4 5 6 8 10 14; do
        for command in "--env analytic --opt rand --budget 40 --jobs 4 --pictures no --out run" list \
            "landscape --env analytic --grid 3 --out run"; do
            rm -rf run
            got=0
            [ "$command" = list ] && from=$few || from=$dshost
            # shellcheck disable=SC2016
            as_nobody bash -c 'ulimit -u "$0" && exec timeout -s KILL 60 "$@"' $v "$from" $command >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
            case $got in
            0) ;;
            7) [ "$(grep -c '^dshost: error: .*(.*ulimit -u)' "$tmp/err")" -eq 1 ] || bad="$bad $v:$got:$command" ;;
            *) bad="$bad $v:$got:$command" ;;
            esac
        done
    done
    [ -z "$bad" ] || echo "# $bad"
    [ -z "$bad" ]
    result $? "ulimit -u: run, list, landscape"
    # shellcheck disable=SC2016
    experiment as_nobody bash -c 'ulimit -u 9 && exec timeout -s KILL 60 "$0" bench limits.ini --out run --jobs 2' "$dshost"
    result $? "ulimit -u: bench"
    cd "$tmp" || exit 99
else
    skip "limits of processes: not root, or nobody else may come here"
fi
rm -rf "$open"

# Many variables: the best point is a file of its own, and an export needs no memory for all rows.
"$dshost" run --env analytic --set env.dim=70000 --opt rand --budget 3 --pictures no --out wide >"$tmp/out" 2>"$tmp/err" &&
    grep -q '"best_x_file": "best_x.npy"' wide/summary.json && ! grep -q '"best_x"' wide/summary.json &&
    [ "$(wc -c <wide/best_x.npy)" -eq $((128 + 8 * 70000)) ] &&
    "$dshost" eval --env analytic --set env.dim=70000 --x wide/best_x.npy --json >"$tmp/a" 2>"$tmp/err" &&
    "$dshost" eval --x wide --json >"$tmp/b" 2>"$tmp/err" && [ "$(sed 's/"wall_s".*//' "$tmp/a")" = "$(sed 's/"wall_s".*//' "$tmp/b")" ]
result $? "the best point of many variables is in best_x.npy"
if [ -z "$DS_SANITIZE" ]; then
    "$dshost" run --env analytic --set env.dim=100000 --opt rand --budget 100 --pictures no --out long >"$tmp/out" 2>"$tmp/err" &&
        (ulimit -v 80000 && exec "$dshost" export long --format npz) >"$tmp/out" 2>"$tmp/err" &&
        [ "$(wc -c <long/export/evaluations.npz)" -gt 80000000 ]
    result $? "an npz of 80 MB is written with less memory"
fi
# Paths up to PATH_MAX less what the longest name inside needs; SQLite itself takes 512 bytes.
name=$(printf '%0200d' 0)
far=$tmp
while [ "${#far}" -lt 3800 ]; do
    far=$far/$name
done
mkdir -p "$far"
printf '[bench]\nenvs = analytic\nopts = rand\nout = b\nruns = 2\n[run]\nbudget = 5\n' >"$far/b.ini"
cp "$wild" "$far/wild.so"
far_does() {
    what=$1
    shift
    "$dshost" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    result $? "a path of ${#far} bytes: $what"
}
far_does run run --env analytic --opt rand --budget 20 --out "$far/r"
far_does resume resume "$far/r" --budget 30
far_does "run --config" run --config "$far/r/run.ini" --out "$far/again" --pictures no
far_does eval eval --x "$far/r"
far_does "export npz" export "$far/r" --format npz
far_does "export ioh" export "$far/r" --format ioh
far_does report report "$far/r" --out "$far/report"
far_does landscape landscape --env analytic --grid 5 --pictures no --out "$far/land"
far_does bench bench "$far/b.ini" --out "$far/b"
far_does "a plugin there" run --env "$far/wild.so" --opt rand --budget 5 --pictures no --out "$far/w"
"$dshost" run --env analytic --opt rand --budget 5 --out "$far/$name/$name" >"$tmp/out" 2>"$tmp/err"
[ $? -eq 6 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q "File name too long" "$tmp/err"
result $? "a path that the system does not take is one line"
finish
