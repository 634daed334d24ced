#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong input to run, resume and export: each ends with one clear line and its exit status.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99

# ---- flags and settings ----
refuses 2 "did you mean --budget" "unknown flag" "$dshost" --env analytic --opt rand --bugdet 5
refuses 2 "needs a value" "missing value" "$dshost" --env analytic --opt
refuses 2 "name an environment" "no environment" "$dshost" --opt rand
refuses 2 "name an environment" "no optimizer" "$dshost" run --env analytic
refuses 2 "budget" "budget out of range" "$dshost" --env analytic --opt rand --budget 0
refuses 2 "budget" "budget no number" "$dshost" --env analytic --opt rand --budget ten
refuses 2 "seed" "seed no number" "$dshost" --env analytic --opt rand --seed -1
refuses 2 "isolation" "unknown isolation" "$dshost" --env analytic --opt rand --isolation maybe
refuses 2 "unexpected argument" "superfluous argument" "$dshost" --env analytic --opt rand extra
refuses 3 "SECTION.KEY=VALUE" "--set without key" "$dshost" --env analytic --opt rand --set steps
refuses 3 "did you mean" "unknown parameter" "$dshost" --env analytic --set env.functoin=sphere --opt rand
refuses 3 "function" "unknown choice" "$dshost" --env analytic --set env.function=cube --opt rand
refuses 3 "budget" "out of range by --set" "$dshost" --env analytic --opt rand --set run.budget=0
refuses 3 "nothing.ini" "no such file" "$dshost" --config nothing.ini
printf '[run]\nenv = analytic\nopt = rand\nbudgett = 3\n' >bad.ini
refuses 3 "bad.ini:4.*budget" "unknown key in a file" "$dshost" --config bad.ini
refuses 4 "no_such" "no such environment" "$dshost" --env no_such --opt rand
refuses 4 "no_such" "no such optimizer" "$dshost" --env analytic --opt ./no_such.so
refuses 4 "" "an optimizer is no environment" "$dshost" --env rand --opt rand
echo "no shared object" >foreign.so
refuses 4 "foreign.so" "a foreign file" "$dshost" --env ./foreign.so --opt rand
refuses 2 "name the result folder" "resume without folder" "$dshost" resume
refuses 2 "unknown flag" "resume takes no --set" "$dshost" resume x --set env.n=3
refuses 6 "nowhere" "resume of nothing" "$dshost" resume nowhere
mkdir empty
refuses 6 "holds no run" "resume of an empty folder" "$dshost" resume empty
refuses 2 "name a --format" "export without format" "$dshost" export empty
refuses 2 "unknown format" "export to an unknown format" "$dshost" export empty --format xml
refuses 6 "holds no run" "export of an empty folder" "$dshost" export empty --format csv
[ ! -e results ]
result $? "no folder was made"

# ---- folders ----
: >file
refuses 6 "file" "the folder is a file" "$dshost" --env analytic --opt rand --budget 5 --out file
refuses 6 "file/run" "a folder in a file" "$dshost" --env analytic --opt rand --budget 5 --out file/run

# ---- locked ----
"$dshost" --env "$faulty" --set env.work=0.02 --opt "$badopt" --budget 100000 --out busy >/dev/null 2>&1 &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -f busy/run.sqlite ] || sleep 0.2
done
refuses 75 "process $pid is working on this run" "a run that is being worked on" "$dshost" resume busy
status 0 "can be read meanwhile" "$dshost" export busy --format csv --out -
kill -9 $pid
wait $pid 2>/dev/null
status 0 "a killed process does not lock" "$dshost" resume busy --seconds 0.3

# ---- full disk ----
if [ -z "$DS_SANITIZE" ]; then
    refuses 6 "full/run.sqlite.*File too large" "a disk that fills up" \
        sh -c "ulimit -f 400; exec '$dshost' --env analytic --opt rand --budget 100000 --pictures no --out full"
    saved=$(rows full)
    grep -q "ended by an error, $saved evaluations are saved: " "$tmp/err"
    result $? "says how many evaluations are saved"
    n=$(rows full)
    [ "$n" -gt 100 ]
    result $? "what was written stays readable"
    status 0 "and the run goes on when there is room" "$dshost" resume full --budget $((n + 1000))
    "$dshost" --env analytic --opt rand --budget $((n + 1000)) --pictures no --out roomy >/dev/null 2>&1
    same "without a gap" full roomy
else
    skip "no file size limits for sanitizer builds"
fi
if [ -w /dev/full ]; then
    got=0
    "$dshost" --env analytic --opt rand --budget 5 --out devfull >/dev/full 2>"$tmp/err" || got=$?
    [ $got -eq 6 ]
    result $? "a full standard output"
    got=0
    "$dshost" export devfull --format csv --out - >/dev/full 2>"$tmp/err" || got=$?
    [ $got -eq 6 ]
    result $? "also of export"
    "$dshost" --env pendulum --opt rand --budget 200 --pictures no --out devfull2 >/dev/null 2>&1 # more than one piece
    got=0
    "$dshost" export devfull2 --format csv --out - >/dev/full 2>"$tmp/err" || got=$?
    [ $got -eq 6 ] && grep -q "^dshost: error: standard output: cannot write: No space left on device" "$tmp/err"
    result $? "which says why"
fi

# ---- damaged ----
"$dshost" --env analytic --opt rand --budget 2000 --pictures no --out dam >/dev/null 2>&1
cp -r dam dam2
cp -r dam dam3
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "\245" }' | dd of=dam/run.sqlite bs=1 seek=60000 conv=notrunc 2>/dev/null
refuses 6 "dam/run.sqlite.*damaged" "a damaged store is not resumed" "$dshost" resume dam --budget 3000
refuses 6 "dam/run.sqlite.*damaged" "nor exported" "$dshost" export dam --format csv
echo "this is no data base, not even a small one; it is a text, and one that is long enough to be sure of it" >dam2/run.sqlite
refuses 6 "dam2/run.sqlite.*not the store of a run" "a foreign file" "$dshost" resume dam2
dd if=dam3/run.sqlite of=dam3/short bs=1000 count=20 2>/dev/null
mv dam3/short dam3/run.sqlite
refuses 6 "dam3/run.sqlite.*damaged" "a truncated store" "$dshost" resume dam3 --budget 3000
rm dam3/run.sqlite
refuses 6 "holds no run" "a run without its store is not taken for a series" "$dshost" resume dam3
finish
