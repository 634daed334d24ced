#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every reader names damaged rows, and they can be repaired; a folder belongs to one run; unusual names of files work;
# temporary files are removed; and a record that disappears is detected.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
new() {
    "$dshost" --env analytic --opt cmaes --budget "${2:-60}" --pictures no --out "$1" >/dev/null 2>&1
}
copy() {
    rm -rf "$2"
    cp -r "$1" "$2"
}
new good
new other
table good >good.csv

# ---- damaged rows ----
if command -v sqlite3 >/dev/null; then
    sql() {
        sqlite3 "$1/run.sqlite" "$2"
    }
    damage() { # NAME SQL PATTERN
        copy good bad
        sql bad "$2"
        for command in "export bad --format csv" "export bad --format ioh" "report bad" "plot bad" "compare bad good" "resume bad" \
            "resume bad --budget 70" "eval --env analytic --x bad" "landscape --env analytic --center bad --grid 3 --out bad_l"; do
            case $1-$command in # all readers for the first damage, then some
            "a loss"-* | *"-export bad --format csv" | *"-resume bad" | *"-eval "*) ;;
            *) [ -n "${CHECK_ALL-}" ] || continue ;;
            esac
            refused=0
            # shellcheck disable=SC2086
            "$dshost" $command >"$tmp/out" 2>"$tmp/err" </dev/null || refused=$?
            [ $refused -eq 6 ] && grep -q "bad/run.sqlite: damaged: .*$3" "$tmp/err"
            result $? "$1: $command"
        done
    }
    damage "a loss" "update eval set loss = loss + 1e-9 where id in (17, 20, 21)" "eval 17 (numbers or texts), eval 20..21 "
    damage "a row less" "delete from eval where id = 60" "eval 60 (missing)"
    damage "a setting" "update setting set value = '6' where key = 'seed'" "setting run.seed"
    damage "a setting less" "delete from setting where key = 'seed'" "setting (.* rows are there)"
    damage "a fact" "update meta set value = '59' where key = 'budget'" "meta budget"
    damage "a count" "delete from total where name = 'eval'" "the count of eval"
    damage "a schema" "pragma writable_schema = 1; update sqlite_master set sql = replace(sql, 'loss', 'lass') where name = 'eval'" \
        "the schema of eval\|no such column"
    damage "an x" "update eval set x = zeroblob(length(x)) where id = 5" "eval 5 (x or gradient)"
    damage "an id" "update eval set id = 1000 where id = 5" "eval 5 (missing)"
    copy good bad
    sql bad "update eval set x = zeroblob(length(x)) where id = 5"
    for format in jsonl npz ioh coco; do
        status 6 "an x is looked at by export to $format" "$dshost" export bad --format $format
        grep -q "bad/run.sqlite: damaged: eval 5 (x or gradient)" "$tmp/err"
        result $? "and named"
    done
    copy good bad
    sql bad "update eval set x = zeroblob(length(x)) where id = 5"
    refuses 6 "damaged: eval 5 (x or gradient)" "by eval --x" "$dshost" eval --env analytic --x bad:5

    # ---- rows of other tables, which the reader does not need ----
    "$dshost" --env cartpole_gym --opt ppo --budget 20 --pictures no --out steps >"$tmp/out" 2>"$tmp/err"
    sqlite3 steps/run.sqlite "update episode set obs = zeroblob(length(obs)) where id = 20"
    for command in "export steps --format csv" "export steps --format jsonl" "export steps --format npz" "export steps --format ioh" \
        "eval --x steps" "eval --x steps:1" "view steps -o steps.html" "landscape --env cartpole_gym --path steps --grid 3 --out steps_l" \
        "plot steps" "compare steps good" "resume steps"; do
        # shellcheck disable=SC2086
        status 6 "a damaged episode: $command" "$dshost" $command
        grep -q "steps/run.sqlite: damaged: episode 20 (its lists)" "$tmp/err"
        result $? "is named"
    done

    # ---- repair ----
    cp bad/run.sqlite before
    status 0 "repaired and gone on with" "$dshost" resume bad --repair
    same "the record is what it was" good bad
    cmp -s before bad/run.sqlite.damaged
    result $? "the damaged file is kept as it was"
    status 0 "again there is nothing to repair" "$dshost" resume bad --repair
    grep -q "nothing to repair" "$tmp/err"
    result $? "which is said"
    copy good bad
    sql bad "update setting set value = '6' where key = 'seed'"
    refuses 6 "cannot be repaired: setting run.seed" "damaged settings cannot be" "$dshost" resume bad --repair
    [ ! -e bad/run.sqlite.damaged ]
    result $? "and nothing is touched"

    # ---- some of several ----
    mkdir set
    cp -r good set/a
    cp -r other set/b
    sql set/b "update eval set loss = 0 where id = 3"
    for command in "report set --no-pictures" "plot set" "export set --format csv" "export set --format ioh" "compare set set"; do
        # shellcheck disable=SC2086
        status 6 "$command: the whole run is read, the status says that one was not" "$dshost" $command
        grep -q "left out: set/b/run.sqlite: damaged: eval 3 " "$tmp/err" && grep -q "^dshost: error: 1 damaged run was left out" "$tmp/err"
        result $? "and which"
    done

    # ---- everything at once, and format 1 ----
    status 6 "doctor looks at every row" "$dshost" doctor set
    grep -q "records *set/a: 60 evaluations, intact" "$tmp/out" && grep -q "set/b/run.sqlite: damaged: eval 3 " "$tmp/out" &&
        grep -q "^dshost: error: 1 record is damaged" "$tmp/err"
    result $? "and says of each record how it is"
    "$dshost" landscape --env analytic --grid 3 --out map >/dev/null 2>&1
    sqlite3 map/landscape.sqlite "update eval set x = zeroblob(length(x)) where id = 7"
    refuses 6 "map/landscape.sqlite: damaged: eval 7 (x or gradient)" "a landscape is not exported" "$dshost" export map --format csv
    refuses 6 "map/landscape.sqlite: damaged: eval 7 (x or gradient)" "nor gone on with" "$dshost" resume map
    status 6 "doctor looks at it, too" "$dshost" doctor map
    grep -q "records *map/landscape.sqlite: damaged: eval 7 (x or gradient)" "$tmp/out"
    result $? "and says what is damaged"
    mkdir maps_of && mv map maps_of/map
    status 6 "doctor looks for landscapes below a folder" "$dshost" doctor maps_of
    grep -q "records *maps_of/map/landscape.sqlite: damaged: eval 7" "$tmp/out"
    result $? "and says what is wrong"
    for k in c a b; do
        "$dshost" landscape --env analytic --grid 3 --out maps_of/$k >/dev/null 2>&1
    done
    "$dshost" doctor maps_of >"$tmp/out" 2>"$tmp/err"
    [ "$(grep -o 'maps_of/[a-c]:' "$tmp/out" | tr -d '\n')" = maps_of/a:maps_of/b:maps_of/c: ]
    result $? "in the order of their names"
    cp -r set/b maps_of/run
    mkdir maps_of/shut
    mv maps_of/map set/map
    chmod 0 maps_of/shut
    # Root may open it all the same.
    as_anyone() {
        if [ "$(id -u)" -eq 0 ]; then
            chown -R 65534 . && setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$tmp" "$@"
        else
            "$@"
        fi
    }
    if [ -z "$DS_SANITIZE" ] && as_anyone test -x "$dshost" 2>/dev/null && as_anyone test -x maps_of 2>/dev/null; then
        as_anyone "$dshost" doctor maps_of >"$tmp/out" 2>"$tmp/err"
        [ $? -eq 6 ] && grep -q "maps_of/run/run.sqlite: damaged: eval 3 " "$tmp/out" && grep -q "maps_of/shut: Permission denied" "$tmp/out" &&
            grep -q "maps_of/b: [0-9]* evaluations" "$tmp/out" && grep -q "^dshost: error: 1 record is damaged" "$tmp/err"
        result $? "a folder that cannot be read hides none"
        rm -r maps_of/run
        as_anyone "$dshost" doctor maps_of >"$tmp/out" 2>"$tmp/err"
        [ $? -eq 6 ] && grep -q "^dshost: error: maps_of/shut: Permission denied" "$tmp/err"
        result $? "and is told"
    else
        skip "no other user"
    fi
    rm -r maps_of set/map
    status 6 "a folder that is not there" "$dshost" doctor good nosuch
    grep -q "records *good: 60 evaluations, intact" "$tmp/out" && grep -q "^dshost: error: nosuch: No such file" "$tmp/err"
    result $? "the one before it is looked at"
    mkdir no_records && told=$("$dshost" doctor no_records 2>&1 >/dev/null)
    [ "${told#dshost: error: no_records holds no run and no landscape}" != "$told" ]
    result $? "a folder without records is told"
    copy good old
    old_format old
    "$dshost" doctor old >"$tmp/out" 2>"$tmp/err"
    grep -q "old: 60 evaluations, store format 1: without checksums" "$tmp/out"
    result $? "and which have no checksums"
    status 0 "so does report" "$dshost" report old good --no-pictures --out page
    grep -q "1 of 2 records have no checksums (store format 1, the first is old)" "$tmp/err" &&
        grep -q "1 of the 2 records have no checksums" page/index.html
    result $? "on its page, too"

    # ---- parts of an experiment ----
    printf '[bench]\nenvs = analytic\nopts = rand cmaes\nruns = 1\n[run]\nbudget = 20\npictures = no\n' >parts.ini
    "$dshost" bench parts.ini --out part >/dev/null 2>&1
    cp -r part sick
    sql sick/analytic/rand/seed-0 "update eval set grp = grp + 1 where id = 7"
    sql sick/analytic/cmaes/seed-0 "update eval set x = zeroblob(length(x)) where id = 9"
    status 6 "merge reads every row" "$dshost" merge whole sick
    grep -q "left out: sick/analytic/rand/seed-0/run.sqlite: damaged: eval 7 (numbers" "$tmp/err" &&
        grep -q "left out: sick/analytic/cmaes/seed-0/run.sqlite: damaged: eval 9 (x or" "$tmp/err" && [ ! -e whole/analytic/rand/seed-0 ]
    result $? "leaves out what is damaged, and says so"
    status 6 "a whole part fills the gap, which is said all the same" "$dshost" merge whole sick part
    same "with its record" part/analytic/cmaes/seed-0 whole/analytic/cmaes/seed-0
    copy part again
    sql again/analytic/rand/seed-0 "update eval set loss = loss - 1 where id = 7"
    status 6 "bench does not count a damaged run" "$dshost" bench parts.ini --out again
    grep -q "again/analytic/rand/seed-0.*damaged: eval 7" "$tmp/err"
    result $? "and says which"
    for file in bench.ini bench.json; do
        copy part again
        head -c 37 "part/$file" >"again/$file"
        printf '\000\377' >>"again/$file"
        "$dshost" report again --no-pictures --out page2 >"$tmp/out" 2>"$tmp/err"
        [ $? -le 6 ]
        result $? "report with a damaged $file"
    done
    copy part again
    printf '[bench\nenvs = \377' >again/bench.ini
    refuses 3 "again/bench.ini:" "merge with a damaged bench.ini: one line" "$dshost" merge whole2 again

    # ---- format 1 is continued ----
    reports=no
    same "a record without checksums is read" good old
    status 0 "and goes on" "$dshost" resume old --budget 90
    new longer 90
    same "as a new one" longer old
    reports=yes
else
    skip "damaged rows: no sqlite3"
fi
copy good bad
: >bad/run.sqlite
refuses 6 "bad/run.sqlite: the file is empty: the run ended before its first record; remove the file, and resume starts anew" \
    "an empty store" "$dshost" resume bad
rm bad/run.sqlite bad/summary.json
status 0 "and without the file resume starts anew" "$dshost" resume bad
same "as the first time" good bad

# ---- starts that were killed before there was a record ----
for budget in 60 80; do
    rm -rf early whole
    mkdir early
    cp good/run.ini early/
    : >early/run.lock
    status 0 "with run.ini alone a run begins" "$dshost" resume early --budget $budget
    cp -r good whole
    "$dshost" resume whole --budget $budget --pictures no >/dev/null 2>&1
    same "and is the same, with a budget of $budget" whole early
done
rm -rf early
mkdir early
: >early/run.lock
refuses 6 "early holds no run (there is no run.sqlite, and no run.ini)" "without it none does" "$dshost" resume early
cp good/run.ini good/summary.json early/
refuses 6 "early holds no run (there is no run.sqlite)" "nor where there was a record" "$dshost" resume early
"$dshost" landscape --env analytic --grid 3 --pictures no --out slice >/dev/null 2>&1
mkdir early_slice
cp slice/landscape.ini early_slice/
status 0 "a landscape begins, too" "$dshost" resume early_slice
cmp -s slice/grid.csv early_slice/grid.csv
result $? "and is the same"

# ---- a worker that is killed while a record is repeated ----
# Products that lm requests are not recorded but computed again. Each byte of the file is a killed worker.
killing=$DS_TOP_BUILD/tests/plugins/.libs/channels.so
"$dshost" --env "$killing" --opt lm --budget 30 --jobs 1 --pictures no --out gauss >/dev/null 2>&1
cp -r gauss gauss_killed
"$dshost" resume gauss --budget 60 --pictures no >/dev/null 2>&1
CHANNELS_KILLS=$tmp/kills
export CHANNELS_KILLS
for jobs in 1 2; do
    for how in "" "--verify false"; do
        rm -rf again
        cp -r gauss_killed again
        printf x >kills
        # shellcheck disable=SC2086
        status 0 "one death is forgiven (jobs $jobs $how)" "$dshost" resume again --budget 60 --jobs $jobs --pictures no $how
        [ ! -s kills ]
        result $? "there was one"
        same "and nothing is lost" gauss again
        rm -rf again
        cp -r gauss_killed again
        printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >kills
        # shellcheck disable=SC2086
        refuses 4 "could not be repeated, twice: the worker was killed by SIGKILL .*; nothing was changed or lost" \
            "two are said (jobs $jobs $how)" "$dshost" resume again --budget 60 --jobs $jobs --pictures no $how
        same "and the record is as it was" gauss_killed again
    done
done
unset CHANNELS_KILLS

# ---- the log that a killed process has left ----
killed() { # DIR: a run with a log that is not folded in
    rm -rf "$1"
    "$dshost" --env analytic --opt rand --pictures no --budget 100000000 --out "$1" >/dev/null 2>&1 &
    pid=$!
    for _ in $(seq 400); do
        [ "$(stat -c %s "$1/run.sqlite-wal" 2>/dev/null || echo 0)" -gt 300000 ] && break
        sleep 0.02
    done
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
}
killed left
copy left bad
status 0 "what a killed run has left" "$dshost" export bad --format csv --out "$tmp/left.csv"
[ ! -s "$tmp/err" ]
result $? "is whole, and nothing is said"
lost="bad/run.sqlite: evaluations [0-9]*\.\.[0-9]* were recorded and are lost: its log (bad/run.sqlite-wal) was damaged or removed"
for how in "a byte of its log" "its log"; do
    for command in "export bad --format csv --out bad.csv" "report bad --no-pictures --out page3" "compare bad good" \
        "resume bad --budget 30"; do
        copy left bad
        if [ "$how" = "its log" ]; then
            rm -f bad/run.sqlite-wal bad/run.sqlite-shm
        else
            printf '\377\001\377' | dd of=bad/run.sqlite-wal bs=1 seek=4800 conv=notrunc 2>/dev/null
            rm -f bad/run.sqlite-shm
        fi
        # shellcheck disable=SC2086
        "$dshost" $command >"$tmp/out" 2>"$tmp/err" </dev/null
        grep -q "^dshost: warning: $lost" "$tmp/err" && [ "$(grep -c "are lost" "$tmp/err")" -eq 1 ]
        result $? "$how is gone: $command"
    done
done
copy left bad
rm -f bad/run.sqlite-wal bad/run.sqlite-shm
there=$(rows bad)
status 0 "resumed" "$dshost" resume bad --budget $((there + 500))
"$dshost" resume bad --budget $((there + 600)) >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && ! grep -q "are lost" "$tmp/err" && [ ! -e bad/run.sqlite-rows ]
result $? "the lost ones are made anew, and the note is gone"
copy left bad
printf 'x' | dd of=bad/run.sqlite-rows bs=1 seek=3 conv=notrunc 2>/dev/null
"$dshost" export bad --format csv --out bad.csv >"$tmp/out" 2>"$tmp/err"
grep -q "bad/run.sqlite-rows: damaged: cannot tell whether evaluations after the [0-9]* that are there were lost" "$tmp/err"
result $? "a note that is damaged itself"

# ---- the summary ----
copy good told
sed -i 's/"best_loss": [^,]*/"best_loss": -5/; s/"env": "analytic"/"env": "x\/..\/..\/esc\/PWNED"/' told/summary.json
status 0 "a summary that says something else" "$dshost" export told --format ioh --out ioh
grep -q "told/summary.json differs from run.sqlite" "$tmp/err" && [ ! -e esc ] && [ ! -e ../esc ] &&
    [ -e ioh/data_f1_analytic ] && ! grep -q '"f_opt": -5' ioh.json
result $? "is not believed, and makes no paths"

# ---- a folder of its own ----
mkdir full experiment upper
echo 1 >full/data.csv
echo >experiment/bench.json
cp -r good upper/seed-1
refuses 6 "full already holds other files (data.csv)" "a folder with files of others" "$dshost" --env analytic --opt rand --budget 5 --out full
refuses 6 "experiment already holds other results (bench.json)" "an experiment's" "$dshost" --env analytic --opt rand --budget 5 --out experiment
refuses 6 "upper already holds other results (seed-1)" "one above a run" "$dshost" --env analytic --opt rand --budget 5 --out upper
refuses 6 "upper already holds other results (seed-1)" "for several runs" "$dshost" --env analytic --opt rand --budget 5 --runs 2 --out upper
refuses 6 "upper already holds other results (seed-1)" "for a landscape" "$dshost" landscape --env analytic --out upper
[ "$(ls full experiment upper | tr '\n' ' ')" = "experiment: bench.json  full: data.csv  upper: seed-1 " ]
result $? "nothing is written there"
printf '[bench]\nenvs = analytic\nopts = rand\n[run]\nbudget = 5\n' >e.ini
refuses 6 "good holds a run: an experiment needs its own folder" "an experiment in a run" "$dshost" bench e.ini --out good
mkdir empty
echo hello >empty/job.log
status 0 "logs and settings do not matter" "$dshost" --env analytic --opt rand --budget 5 --pictures no --out empty
cp -r good empty/inner
status 0 "a run in the folder of a run" "$dshost" compare empty:cmaes good
grep -q "empty/inner is inside the folder of another run, empty" "$tmp/err"
result $? "counts, and is said"

# ---- names ----
for name in 'file:x?mode=memory' ':memory:' '-dash' 'a%41b' 'q?immutable=1' '#h'; do
    rm -rf "./$name"
    "$dshost" --env analytic --opt rand --budget 5 --pictures no "--out=$name" >/dev/null 2>&1
    [ -s "./$name/run.sqlite" ] && [ "$("$dshost" export --format csv --out - -- "$name" 2>/dev/null | wc -l)" -eq 6 ]
    result $? "a folder called '$name'"
done

# ---- temporary files ----
mkdir tmps
(sh -c 'echo $$' >gone)
gone=$(cat gone)
touch "tmps/.tmp-$gone-0" tmps/.tmp-1-0 tmps/.tmp-1-1 tmps/.tmp-x "tmps/.tmp-$gone"
touch -d '1 hour ago' tmps/.tmp-1-1
status 0 "a file is written beside what killed processes have left" "$dshost" export good --format csv --out tmps/t.csv
[ ! -e "tmps/.tmp-$gone-0" ] && [ ! -e tmps/.tmp-1-1 ] && [ -e tmps/.tmp-1-0 ] && [ -e tmps/.tmp-x ] && [ -e "tmps/.tmp-$gone" ]
result $? "which goes, but for what may be at work"

# ---- records that disappear ----
vanish() { # NAME PATTERN COMMAND
    rm -rf live moved
    "$dshost" --env "$faulty" --set env.work=0.001 --opt rand --pictures no --budget 100000000 --out live >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    begun live
    sleep 0.3
    eval "$3"
    got=0
    wait "$pid" || got=$?
    [ $got -eq 6 ] && grep -q "^dshost: error: live/run.sqlite.*$2" "$tmp/err" && ! grep -q "budget used" "$tmp/err"
    result $? "$1"
}
vanish "removed" "was removed while the run worked on it: its evaluations are lost" "rm live/run.sqlite"
vanish "removed with its folder" "was removed while" "rm -rf live"
vanish "moved" "was moved to .*/moved/run.sqlite" "mv live moved"
status 0 "which is whole there" "$dshost" export moved --format csv --out m.csv
vanish "replaced" "was replaced while" "cp good/run.sqlite live/r && mv live/r live/run.sqlite"
# again and again: the moment in which the run itself makes the file longer hides one cut, which SQLite notices then
vanish "cut" "damaged[:,] .*\(has cut it to 8192 bytes\|malformed\)" "for _ in 1 2 3 4; do truncate -s 8192 live/run.sqlite; sleep 0.2; done"
vanish "its log removed" "was removed while the run worked on it; the run ends" "rm live/run.sqlite-wal"
status 0 "is whole" "$dshost" export live --format csv --out m.csv

# ---- a folder that is moved, and another run in its place ----
rm -rf live moved
"$dshost" --env "$faulty" --set env.work=0.001 --opt rand --pictures no --budget 100000000 --out live >"$tmp/out" 2>"$tmp/err" &
first=$!
begun live
kill -STOP $first
mv live moved
"$dshost" --env "$faulty" --set env.work=0.001 --opt rand --seed 7 --pictures no --budget 100000000 --out live >"$tmp/out2" 2>"$tmp/err2" &
pid=$!
begun live
kill -CONT $first
got=0
wait $first || got=$?
[ $got -eq 6 ] && grep -q "^dshost: error: live/run.sqlite: was moved to .*/moved/run.sqlite" "$tmp/err" && [ ! -e live/summary.json ]
result $? "a run whose folder was moved leaves nothing in that of another"
refuses 75 "process $pid is working on this run" "whose lock holds" "$dshost" resume live
kill $pid
wait $pid
grep -q '"seed": 7' live/summary.json && grep -q '"ended": "signal"' live/summary.json
result $? "and whose summary is its own"

# ---- two processes on one folder ----
"$dshost" --env "$faulty" --set env.work=0.0005 --opt rand --pictures no --budget 500000 --out shared >"$tmp/out" 2>"$tmp/err" &
pid=$!
begun shared
for command in "resume shared" "resume shared --repair"; do
    # shellcheck disable=SC2086
    "$dshost" $command >"$tmp/two" 2>&1
    [ $? -eq 75 ] && grep -q "^dshost: error: shared/run.lock: process $pid is working on this run" "$tmp/two" && [ "$(wc -l <"$tmp/two")" -eq 1 ]
    result $? "$command while the run goes on"
done
for _ in 1 2 3; do
    for command in "doctor shared" "export shared --format csv --out live.csv" "report shared --no-pictures --out page4"; do
        # shellcheck disable=SC2086
        "$dshost" $command >"$tmp/two" 2>&1
        bad=$?
        grep -q "damaged:\|are lost" "$tmp/two" && bad=1
        result $bad "$command while the run goes on"
    done
done
awk -F, 'NR > 1 && $1 != NR - 1 { bad = 1 } END { exit bad || NR < 2 }' live.csv
result $? "what is read is a whole beginning"
kill -INT $pid
wait $pid
[ $? -eq 130 ] && "$dshost" doctor shared | grep -q "shared: [0-9]* evaluations, intact"
result $? "the run is as if nobody had looked"
printf '[bench]\nenvs = pendulum\nopts = rand\nruns = 2\n[run]\nbudget = 20000\npictures = no\n' >two.ini
"$dshost" bench two.ini --out twice --jobs 1 >"$tmp/out" 2>"$tmp/err" &
pid=$!
begun twice/pendulum/rand/seed-0
kill -STOP $pid # however slow the machine, the other one finds it at work
refuses 75 "twice/run.lock: process $pid is working on this run" "bench in the folder of another one" "$dshost" bench two.ini --out twice
"$dshost" merge together twice >"$tmp/two" 2>&1
got=$?
{ [ $got -eq 75 ] && grep -q "left out: twice/pendulum/rand/seed-[01]/run.lock: process [0-9]* is working on this run" "$tmp/two"; } || [ $got -eq 0 ]
passed=$?
! grep -q "damaged" "$tmp/two" && [ $passed -eq 0 ]
result $? "merge of what is being worked on"
kill -CONT $pid
wait $pid
status 0 "merge goes on later" "$dshost" merge together twice
same "with the whole record" twice/pendulum/rand/seed-1 together/pendulum/rand/seed-1
"$dshost" landscape --env analytic --grid 41 --out maps >/dev/null 2>one &
pid=$!
got=0
"$dshost" landscape --env analytic --grid 41 --out maps >/dev/null 2>another || got=$?
other=0
wait $pid || other=$?
{ [ $got -eq 0 ] && { [ $other -eq 75 ] || [ $other -eq 6 ]; }; } || { [ $other -eq 0 ] && { [ $got -eq 75 ] || [ $got -eq 6 ]; }; }
passed=$?
[ "$(cat one another | grep -c '^dshost: error: maps.*\(is working on this run\|already holds a landscape\)')" -eq 1 ] && [ $passed -eq 0 ]
result $? "two landscapes into one folder: one is made"

# ---- limits ----
(ulimit -f 40 && exec "$dshost" --env analytic --opt rand --budget 50000 --pictures no --out limit) >"$tmp/out" 2>"$tmp/err" </dev/null
[ $? -eq 6 ] && grep -q "limit/run.sqlite.*File too large; the file size limit (ulimit -f) is too small" "$tmp/err"
result $? "ulimit -f from the beginning"
(ulimit -f 400 && exec "$dshost" --env analytic --opt rand --budget 9000 --pictures no --out limit2) >"$tmp/out" 2>"$tmp/err" </dev/null
[ $? -eq 6 ] && grep -q "limit2/run.sqlite: .*(ulimit -f) is too small" "$tmp/err"
result $? "ulimit -f during the run"
[ "$(grep -c '^dshost: error: ' "$tmp/err")" -eq 1 ]
result $? "is told once"
for command in "compare good other" "doctor good"; do
    # shellcheck disable=SC2086
    (ulimit -f 8 && exec "$dshost" $command) >"$tmp/out" 2>"$tmp/err" </dev/null
    result $? "a record is read where there is no room for a file: $command"
done
status 0 "what was done is resumed" "$dshost" resume limit2
[ "$(rows limit2)" = 9000 ]
result $? "to its end"
# ---- file systems without the functions that SQLite needs ----
# As on network file systems: no locks (reported in two ways), or an index of the log that cannot be mapped.
cat >shim.c <<'EOT'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int is(const char *what)
{
    const char *s = getenv("SHIM");
    return s != NULL && strcmp(s, what) == 0;
}
#define LOCKS(name) \
    int name(int fd, int what, ...) \
    { \
        va_list list; \
        va_start(list, what); \
        void *arg = va_arg(list, void *); \
        va_end(list); \
        int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, #name); \
        if ((what == F_SETLK || what == F_SETLKW) && (is("enolck") || is("einval"))) { \
            errno = is("enolck") ? ENOLCK : EINVAL; \
            return -1; \
        } \
        return real(fd, what, arg); \
    }
LOCKS(fcntl)
LOCKS(fcntl64)
#define MAPS(name, type) \
    void *name(void *at, size_t n, int prot, int flags, int fd, type from) \
    { \
        void *(*real)(void *, size_t, int, int, int, type) = \
            (void *(*)(void *, size_t, int, int, int, type))dlsym(RTLD_NEXT, #name); \
        char link[40], path[4096]; \
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd); \
        ssize_t k = fd >= 0 && is("shm") ? readlink(link, path, sizeof path) : 0; \
        if (k > 4 && memcmp(path + k - 4, "-shm", 4) == 0) { \
            errno = ENODEV; \
            return MAP_FAILED; \
        } \
        return real(at, n, prot, flags, fd, from); \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)
EOT
if [ -z "$DS_SANITIZE" ] && ${DS_CC:-cc} -O1 -fPIC -shared -o shim.so shim.c -ldl 2>"$tmp/err"; then
    shim() {
        env SHIM="$1" LD_PRELOAD="$tmp/shim.so" "$dshost" "$2" "$3" "$4" "$5" --pictures no
    }
    for how in "enolck:No locks available" "einval:Invalid argument"; do
        copy good bad
        # shellcheck disable=SC2086
        refuses 6 "its file system has no locks (${how#*:}); put the result folder on a local disk" "no locks: run" \
            env SHIM="${how%:*}" LD_PRELOAD="$tmp/shim.so" "$dshost" --env analytic --opt rand --budget 5 --pictures no --out unlocked
        refuses 6 "its file system has no locks (${how#*:})" "no locks: resume" shim "${how%:*}" resume bad --budget 70
        rm -rf unlocked
    done
    status 0 "an index that cannot be mapped is done without: run" env SHIM=shm LD_PRELOAD="$tmp/shim.so" \
        "$dshost" --env analytic --opt cmaes --budget 60 --pictures no --out unmapped
    same "and the record is the same" good unmapped
    status 0 "so does resuming" shim shm resume unmapped --budget 90
    status 0 "and reading" env SHIM=shm LD_PRELOAD="$tmp/shim.so" "$dshost" export unmapped --format csv --out unmapped.csv
    [ "$(wc -l <unmapped.csv)" -eq 91 ] && [ -z "$(ls unmapped | grep run.sqlite-)" ]
    result $? "of all rows, with no file left beside"
else
    skip "file systems: a sanitizer, or the shim does not compile"
fi
finish
