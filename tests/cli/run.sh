#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `dshost run`, `resume` and `export`: result folders, equal records, extension, target, time, signals,
# series.
. "$(dirname "$0")/lib.sh"

# ---- one run ----
cd "$tmp" || exit 99
status 0 "a run ends with its budget" "$dshost" --env analytic --opt rand --budget 60
[ "$(cat "$tmp/out")" = results/analytic-rand-s0 ]
result $? "it prints the default folder"
d=results/analytic-rand-s0
[ -s $d/run.sqlite ] && [ -s $d/run.ini ] && [ -s $d/summary.json ] && [ -s $d/convergence.png ] &&
    [ -s $d/convergence.svg ] && [ -s $d/best.png ] && [ "$(ls $d | wc -l)" -eq 6 ]
result $? "it leaves the six files and no others"
[ "$(field $d/summary.json evaluations)" = 60 ] && [ "$(field $d/summary.json ended)" = budget ]
result $? "the summary counts"
status 0 "the default name does not collide" "$dshost" --env analytic --opt rand --budget 60 --pictures no
[ "$(cat "$tmp/out")" = results/analytic-rand-s0-2 ] && [ ! -e results/analytic-rand-s0-2/best.png ]
result $? "a second folder, without pictures"
same "the same run twice" $d results/analytic-rand-s0-2
status 0 "run.ini reproduces a run" "$dshost" run --config $d/run.ini --out again
same "equal to the first" $d again
refuses 6 "already holds a run; continue it with: dshost resume again" "a folder with a run is refused" \
    "$dshost" --env analytic --opt rand --budget 10 --out again
status 0 "summary as JSON" "$dshost" --env analytic --opt rand --budget 10 --json --out j
grep -q '"best_loss": *[0-9.]*,' "$tmp/out" && grep -q '"best_x": *\[' "$tmp/out"
result $? "on stdout"

# ---- jobs, threads, isolation ----
run() {
    "$dshost" --env "$faulty" --set env.n=3 --set env.fault=error --set env.share=0.1 --set env.noise=0.5 \
        --opt "$badopt" --set opt.rows=7 --set opt.gradient=yes --pictures no --budget 300 --seed 5 "$@" >/dev/null 2>"$tmp/err"
}
run --jobs 1 --out one
for k in 2 4; do
    run --jobs $k --out jobs$k
    same "jobs = 1 and $k give the same record" one jobs$k
done
run --jobs 2 --threads 2 --out threads2
same "threads = 1 and 2 give the same record" one threads2
run --isolation none --out local
same "with and without isolation the same record" one local

# ---- extension, target, time ----
"$dshost" --env analytic --opt rand --budget 100 --out ext >/dev/null 2>&1
status 0 "nothing to do for a finished run" "$dshost" resume ext
grep -q "nothing to do" "$tmp/err"
result $? "and it says so"
status 0 "a finished run is extended" "$dshost" resume ext --budget 200
"$dshost" --env analytic --opt rand --budget 200 --out direct >/dev/null 2>&1
same "100 extended to 200 equals 200" ext direct
refuses 2 "has 200 evaluations already" "a smaller budget is refused" "$dshost" resume ext --budget 150
"$dshost" --env "$faulty" --opt "$badopt" --set opt.rows=16 --budget 500 --target 0.05 --jobs 1 --out t1 \
    >"$tmp/out" 2>"$tmp/err"
result $? "a target that is reached is success"
"$dshost" --env "$faulty" --opt "$badopt" --set opt.rows=16 --budget 500 --target 0.05 --jobs 4 --out t4 >/dev/null 2>&1
same "it stops at the same evaluation for every number of jobs" t1 t4
[ "$(field t1/summary.json ended)" = target ] && [ "$(rows t1)" -lt 500 ]
result $? "before the budget is used"
status 1 "a target that is not reached is status 1" "$dshost" --env analytic --opt rand --budget 50 --target -5 --out t0
status 0 "the time limit is success" "$dshost" --env "$faulty" --set env.work=0.01 --opt "$badopt" --seconds 0.6 --out time
[ "$(field time/summary.json ended)" = time ] && [ "$(rows time)" -gt 5 ] && [ "$(rows time)" -lt 500 ]
result $? "and ends the run early"
status 0 "an optimizer may finish by itself" "$dshost" --env analytic --opt "$badopt" --set opt.fault=early --out early
[ "$(field early/summary.json ended)" = optimizer_finished ] && [ "$(rows early)" -eq 20 ]
result $? "its evaluations are there"

status 1 "a finished run that missed its target stays one that missed it" "$dshost" resume t0
"$dshost" --env analytic --opt "$badopt" --set opt.work_ms=40 --budget 60 --pictures no --out slow >/dev/null 2>&1
status 0 "replaying the record does not count as time" "$dshost" resume slow --budget 80 --seconds 0.3
[ "$(rows slow)" -gt 60 ]
result $? "so that a resumed run gets on"
cp slow/summary.json summary.before
: >"$tmp/err" # the loop below must not find what the run before has said
"$dshost" resume slow --budget 400 >"$tmp/out" 2>"$tmp/err" &
pid=$!
for _ in $(seq 200); do # a signal before the handler is there would be lost: begun in the background, INT is ignored
    grep -q "replaying the record" "$tmp/err" && break
    sleep 0.05
done
kill -INT $pid
wait $pid
[ $? -eq 130 ] && grep -q "while replaying the record.*nothing was changed" "$tmp/err" && cmp -s slow/summary.json summary.before
result $? "a resumed run that is stopped while it repeats the record leaves the summary alone"
status 0 "an optimizer that ends by itself ..." "$dshost" --env analytic --opt "$badopt" --set opt.work_ms=1 --budget 30 \
    --pictures no --out shorter
old_format shorter 2>/dev/null && sqlite3 shorter/run.sqlite "update setting set value='early' where section='opt' and key='fault'" 2>/dev/null &&
    refuses 4 "now ends after evaluation 20, the record has 30.*nothing was changed" "... before its record does is refused" \
        "$dshost" resume shorter --budget 60 || skip "no sqlite3"

# ---- a changed environment ----
wobble() { # wobble FACTOR: an environment whose loss is multiplied by it, always of the same name and version
    printf '#define BAD_ID "wobble"\n#define BAD_EVALUATE io->loss *= %s;\n#include "env_base.h"\n' "$1" > wobble.c
    ${DS_CC:-cc} -O1 -fPIC -shared -fvisibility=hidden -I"$DS_TOP_SRC/include" -I"$DS_TOP_SRC/tests/bad" -o wobble.so wobble.c -lm
}
wobble 1 && "$dshost" --env ./wobble.so --opt rand --budget 20 --out changed --pictures no --jobs 1 > out 2> err
status 0 "the environment of a run is the same" "$dshost" resume changed --budget 25
[ "$(grep -c warning err)" -eq 0 ] && [ "$(rows changed)" -eq 25 ] && ! grep -q verify changed/run.ini
result $? "the repeated evaluation is neither counted nor recorded"
table changed > before
wobble 1.5
refuses 4 "changed: evaluation [0-9]*, with the recorded loss .* now: wobble has changed since this run was made; .*--verify false" \
    "one with other losses is refused" "$dshost" resume changed --budget 30
table changed | cmp -s before -
result $? "and nothing is changed"
wobble '(1 + 1e-12)'
status 0 "one that differs in the last digits goes on" "$dshost" resume changed --budget 30
grep -q 'warning: evaluation [0-9]* of the record differs now in the last digits' err
result $? "with a warning"
wobble 2
status 0 "--verify false goes on all the same" "$dshost" resume changed --budget 35 --verify false
[ "$(rows changed)" -eq 35 ]
result $? "with the new one"
printf '#define BAD_ID "wobble"\n#define BAD_EVALUATE if (io->want & DS_WANT_GRAD) { io->grad[0] = NAN; }\n#include "env_base.h"\n' \
    > wobble.c && ${DS_CC:-cc} -O1 -fPIC -shared -fvisibility=hidden -I"$DS_TOP_SRC/include" -I"$DS_TOP_SRC/tests/bad" -o wobble.so \
    wobble.c -lm
status 0 "a run without gradients" "$dshost" --env ./wobble.so --opt adam --budget 30 --pictures no --out blind
grep -q 'budget used: 30 evaluations, 30 of 30 without the requested gradient, best loss' err
result $? "says so at its end"

# ---- signals ----
# Programs started by nohup ignore SIGHUP, dshost too.
hup=HUP:129
case $(sed -n 's/^SigIgn:.*\(.\)$/\1/p' /proc/self/status 2>/dev/null) in
    [13579bdf]) hup= && skip "SIGHUP is ignored here" && skip "SIGHUP is ignored here" ;;
esac
# grown FOLDER N: waits until more than N evaluations are recorded; a signal that comes earlier tests something else
grown() {
    for _ in $(seq 400); do
        [ -f "$1/run.sqlite" ] && [ "$(rows "$1")" -gt "$2" ] && return
        sleep 0.05
    done
}
for s in INT:130 TERM:143 $hup; do
    sig=${s%:*}
    "$dshost" --env "$faulty" --set env.work=0.01 --opt "$badopt" --budget 200 --out "sig$sig" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    grown "sig$sig" 10
    kill -"$sig" $pid
    wait $pid
    [ $? -eq "${s#*:}" ] && grep -q "stopped by a signal, everything is saved" "$tmp/err"
    result $? "SIG$sig ends with status ${s#*:}"
    [ "$(rows "sig$sig")" -gt 10 ] && [ "$(field "sig$sig/summary.json" ended)" = signal ]
    result $? "with everything saved"
done
status 0 "an interrupted run is resumed" "$dshost" resume sigINT
"$dshost" --env "$faulty" --set env.work=0 --opt "$badopt" --budget 200 --out undisturbed >/dev/null 2>&1
same "and equals an undisturbed one" sigINT undisturbed
"$dshost" --env "$faulty" --set env.fault=loop --set env.above=0.5 --opt "$badopt" --budget 200 --jobs 1 --out stuck \
    >"$tmp/out" 2>"$tmp/err" &
pid=$!
grown stuck 0
kill -INT $pid
wait $pid
[ $? -eq 130 ] && [ "$(rows stuck)" -gt 0 ]
result $? "a worker that does not listen is killed"

case ${DS_SANITIZE-} in
*thread*) # its signal handlers wait for the next library call, and this optimizer makes none
    skip "a second signal ends an optimizer that does not listen: not with ThreadSanitizer"
    ;;
*)
    "$dshost" --env "$faulty" --opt "$badopt" --set opt.fault=loop --budget 200 --jobs 1 --out deaf >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    grown deaf 19
    kill -INT $pid
    sleep 0.2
    kill -INT $pid
    wait $pid
    [ $? -eq 130 ] && [ "$(rows deaf)" -eq 20 ] && [ "$(grep -c 'stopping after this step; Ctrl-C again ends at once' "$tmp/err")" -eq 1 ]
    result $? "a second signal ends an optimizer that does not listen"
    ;;
esac

# ---- series ----
status 0 "several seeds" "$dshost" --env analytic --opt rand --budget 20 --runs 3 --seed 4 --out series --pictures no
[ -s series/seed-4/run.sqlite ] && [ -s series/seed-5/run.sqlite ] && [ -s series/seed-6/summary.json ] &&
    [ -s series/run.ini ]
result $? "one folder each"
rm -r series/seed-5 series/seed-6/run.sqlite series/seed-6/summary.json
status 0 "a series is resumed" "$dshost" resume series
[ "$(rows series/seed-5)" -eq 20 ] && [ "$(rows series/seed-6)" -eq 20 ]
result $? "missing runs are started"

refuses 6 "to add seeds later, use dshost bench" "a series does not grow" "$dshost" --env analytic --opt rand --budget 20 \
    --runs 4 --seed 4 --out series
cp series/seed-5/summary.json kept.json
sed -i '/"ended"/d; /"env"/d' series/seed-5/summary.json
status 0 "a summary that somebody has edited is no matter" "$dshost" resume series
cp kept.json series/seed-5/summary.json

# ---- export ----
for f in csv jsonl npz; do
    status 0 "export $f" "$dshost" export again --format $f
    [ -s "$(cat "$tmp/out")" ]
    result $? "leaves a file"
done
[ "$(grep -c . again/export/evaluations.csv)" -eq 61 ] && [ "$(grep -c '^{"id":.*}$' again/export/evaluations.jsonl)" -eq 60 ]
result $? "one line per evaluation"
for f in ioh coco; do
    status 0 "export $f of a series" "$dshost" export series --format $f
done
info=series/export/ioh/IOHprofiler_f1_analytic.json
if command -v jq >/dev/null; then
    jq -e '.function_name == "analytic" and .algorithm.name == "rand" and .scenarios[0].dimension == 10 and
        (.scenarios[0].runs | length == 3 and all(.evals == 20 and (.best.x | length) == 10))' $info >"$tmp/out"
    result $? "IOHanalyzer's head names the runs"
else
    skip "IOHanalyzer's head names the runs: jq is missing"
fi
data=series/export/ioh/data_f1_analytic/IOHprofiler_f1_DIM10.dat
[ "$(grep -c '^evaluations raw_y$' $data)" -eq 3 ] && [ "$(grep -c '^1 ' $data)" -eq 3 ] && [ "$(grep -c '^20 ' $data)" -eq 3 ]
result $? "each block begins with the first evaluation and ends with the last one"
grep -q "coco_version" series/export/coco/bbobexp_f1_i1.info && [ "$(grep -c '^20 ' series/export/coco/data_f1/*.tdat)" -eq 3 ]
result $? "COCO's files, too"
if command -v sqlite3 > /dev/null; then
    sqlite3 again/run.sqlite 'PRAGMA journal_mode' | grep -q wal
    result $? "the record has a write-ahead log"
else
    skip "no sqlite3"
fi
find . -name '*-wal' -o -name '*-shm' > "$tmp/out"
[ ! -s "$tmp/out" ]
result $? "whoever reads a record leaves no files of its log behind"
finish
