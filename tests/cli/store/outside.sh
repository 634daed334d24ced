#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No command changes a file outside the result folder, even where a link, a hard link or a pipe replaces a file that the command
# writes, or a link replaces a folder; and no command executes text of a record.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
quiet="--pictures no"
mkdir made victims
"$dshost" --env analytic --opt rand --budget 20 $quiet --out made/run >/dev/null 2>&1
printf '[bench]\nenvs = analytic\nopts = rand\nruns = 1\n[run]\nbudget = 20\npictures = no\n' >b.ini
"$dshost" bench b.ini --out made/bench >/dev/null 2>&1
"$dshost" landscape --env analytic --grid 3 $quiet --out made/land >/dev/null 2>&1
sed 's/budget = 20/budget = 30/' b.ini >c.ini

# Files outside the result folder. The shell itself compares them, because it does so some hundred times.
victims() {
    rm -rf victims
    mkdir -p victims/folder
    echo precious >victims/file
    echo precious >victims/folder/seed-0.log
    echo precious >victims/folder/run.ini
    echo precious >victims/folder/evaluations.csv
}
victims

# plant KIND PATH: a link, a second name, a pipe there, instead of a file or folder; a folder for a name that ends with /.
plant() {
    name=${2%/}
    rm -rf "$name"
    [ -d "${name%/*}" ] || mkdir -p "${name%/*}"
    case $1:$2 in
    *:*/) ln -s "$tmp/victims/folder" "$name" ;;
    link:*) ln -s "$tmp/victims/file" "$name" ;;
    gone:*) ln -s "$tmp/victims/new" "$name" ;;
    hard:*) ln victims/file "$name" ;;
    pipe:*) mkfifo "$name" ;;
    esac
}

# is_precious FILE: one line, as it was written.
is_precious() {
    { read -r line && [ "$line" = precious ] && ! read -r line && [ -z "$line" ]; } <"$1"
}

whole() {
    there=
    for file in victims/* victims/.[!.]* victims/folder/* victims/folder/.[!.]*; do
        there="$there $file"
    done
    [ "$there" = " victims/file victims/folder victims/.[!.]* victims/folder/evaluations.csv victims/folder/run.ini\
 victims/folder/seed-0.log victims/folder/.[!.]*" ] || return 1
    for file in victims/file victims/folder/*; do
        is_precious "$file" || return 1
    done
}

# keeps "FROM or -" "NAMES" COMMAND...: with each of the names planted in a copy of FROM, called it.
keeps() {
    from=$1
    names=$2
    shift 2
    bad=
    for name in $names; do
        for kind in link gone hard pipe; do
            case $kind:$name in gone:*/ | hard:*/ | pipe:*/) continue ;; esac
            rm -rf it
            mkdir it
            [ "$from" = - ] || cp -r "$from/." it
            plant $kind "it/$name"
            got=0
            timeout -s KILL 20 "$dshost" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
            if ! whole; then
                bad="$bad $kind:$name"
                victims
            fi
            [ $got -le 8 ] || bad="$bad $kind:$name($got)"
            if [ $got -ne 0 ] && [ "$(grep -c '^dshost: \(error\|failed\): ' "$tmp/err")" -ne 1 ]; then
                bad="$bad $kind:$name(lines)"
            fi
        done
    done
    [ -z "$bad" ] || echo "#  $bad"
    [ -z "$bad" ]
    result $? "what lies elsewhere stays as it is: $*"
}
store="run.sqlite run.sqlite-wal run.sqlite-shm run.sqlite-journal run.sqlite-rows"
keeps - "run.lock run.ini run.sqlite.new run.sqlite.new-wal run.sqlite.new-shm run.sqlite.new-journal run.sqlite.new-rows
    run.sqlite-wal run.sqlite-rows summary.json" --env analytic --opt rand --budget 5 $quiet --out it
keeps made/run "run.lock $store summary.json" resume it --budget 25 $quiet
keeps made/run "convergence.png convergence.svg" resume it --budget 25
keeps - failure-0001.ini --env "$faulty" --set env.fail_every=1 --opt rand --budget 2 --max-failed 1 $quiet --out it
keeps - policy.npz --env cartpole_gym --opt ppo --budget 2 $quiet --out it
keeps made/run "export/ export/evaluations.csv $store" export it --format csv
keeps made/run "export/ export/ioh/ export/ioh.json" export it --format ioh
keeps made/run "report/ report/figures/ report/index.html report/runs.csv" report it --no-pictures --no-episodes
keeps made/run "curves.png" plot it
keeps - "seed-0/ seed-1/ run.ini" --env analytic --opt rand --budget 2 --runs 2 $quiet --out it
keeps made/bench "run.lock bench.json bench.ini analytic/ analytic/rand/ analytic/rand/run.ini analytic/rand/seed-0.log
    analytic/rand/seed-0/" bench c.ini --out it
keeps - "run.lock bench.json bench.ini analytic/ analytic/rand/ analytic/rand/.seed-0.new/ analytic/rand/.seed-0.old/
    analytic/rand/seed-0/" merge it made/bench
keeps made/bench "run.lock analytic/ analytic/rand/seed-0/ analytic/rand/seed-0/run.lock" merge other it
keeps - "run.lock landscape.ini landscape.sqlite.new landscape.sqlite.new-wal summary.json grid.csv center.npy landscape.html" \
    landscape --env analytic --grid 3 $quiet --out it
keeps made/run "run.lock $store" eval --env analytic --x it

# ---- a named pipe in the place of a file that is only read: no command waits for its writer ----
# answers FROM "NAMES" COMMAND...: with each of the names a pipe in a copy of FROM, the command ends.
answers() {
    from=$1
    names=$2
    shift 2
    bad=
    for name in $names; do
        rm -rf it
        cp -r "$from" it
        plant pipe "it/$name"
        got=0
        timeout -s KILL 20 "$dshost" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
        [ $got -le 8 ] || bad="$bad $name($got)"
    done
    [ -z "$bad" ] || echo "#  $bad"
    [ -z "$bad" ]
    result $? "does not wait for a pipe: $*"
}
answers made/run "run.ini summary.json run.sqlite" report it --no-pictures --no-episodes
answers made/run "run.ini summary.json" resume it --budget 22 $quiet
answers made/run "run.ini run.sqlite" eval --env analytic --x it
answers made/bench "bench.json analytic/rand/seed-0/summary.json" table it
answers made/bench "bench.json analytic/rand/seed-0/run.ini" bench b.ini --out it
answers made/land "marks.csv landscape.ini" landscape it

# ---- what the user has named may be a link, as may the folder that he names ----
mkdir target
ln -s target by_link
status 0 "a result folder that is named by a link" "$dshost" --env analytic --opt rand --budget 5 $quiet --out by_link
[ -e target/run.sqlite ] && "$dshost" resume by_link --budget 9 $quiet >"$tmp/out" 2>"$tmp/err"
result $? "and resumed"
echo old >table
ln -s table linked.csv
status 0 "a file that is named by a link" "$dshost" export target --format csv --out linked.csv
[ -h linked.csv ] && [ "$(wc -l <table)" -eq 10 ]
result $? "is written where it leads"
rm -rf copy && cp -r target copy && rm copy/run.sqlite && ln target/run.sqlite copy/run.sqlite
status 0 "a record with a second name, as in a backup, is read" "$dshost" export copy --format csv --out copy.csv
refuses 6 "copy/run.sqlite: has a second name (a hard link)" "and not gone on with" "$dshost" resume copy --budget 12

# ---- the code that a record names ----
# The plugin leaves a file where it is loaded.
cat >plugin.c <<'EOT'
#include <diffsim/helper/simple.h>
#include <stdio.h>
static void __attribute__((constructor)) loaded(void)
{
    FILE *f = fopen(TRACE, "a");
    if (f != NULL) {
        fclose(f);
    }
}
EOT
sed -n '/^#include/!p' "$DS_TOP_SRC/examples/hill.c" >>plugin.c
unset DS_TRUSTED_PLUGINS
trace=$tmp/trace
if ${DS_CC:-cc} -O1 -fPIC -shared -fvisibility=hidden -DTRACE="\"$trace\"" -I"$DS_TOP_SRC/include" -o hill.so plugin.c -lm 2>"$tmp/err"; then
    mkdir theirs
    status 0 "a plugin that the user names runs" "$dshost" --env ./hill.so --opt rand --budget 12 --out theirs/run
    ! grep -q "running the plugin" "$tmp/err" && [ -e theirs/run/convergence.png ]
    result $? "and nothing is said about it"
    printf '[bench]\nenvs = hill\nopts = rand\nruns = 1\n[env hill]\nplugin = %s/hill.so\n[run]\nbudget = 12\npictures = no\n' "$tmp" >hill.ini
    status 0 "so does one of an experiment" "$dshost" bench hill.ini --out theirs/bench
    sed 's/budget = 12/budget = 20/' hill.ini >longer.ini
    status 0 "whose runs go on" "$dshost" bench longer.ini --out theirs/bench
    "$dshost" landscape --env ./hill.so --grid 3 $quiet --out theirs/land >/dev/null 2>&1
    mkdir theirs/begun && cp theirs/run/run.ini theirs/begun/
    "$dshost" --env ./hill.so --opt rand --budget 4 --runs 2 $quiet --out theirs/series >/dev/null 2>&1
    rm -r theirs/series/seed-1
    names="names the plugin $tmp/hill.so, which is not on the plugin path\. .* add --trust-plugin $tmp/hill.so"
    cp -r theirs before
    for command in "resume theirs/run --budget 14" "eval --x theirs/run" "view theirs/run -o v.html" "resume theirs/begun" \
        "resume theirs/series" "landscape theirs/land" "resume theirs/land" "merge whole theirs/bench"; do
        rm -f "$trace"
        # shellcheck disable=SC2086
        refuses 4 "$names" "refused: $command" "$dshost" $command
        [ ! -e "$trace" ]
        result $? "and nothing of it was loaded"
    done
    rm -f "$trace"
    status 0 "report leaves its pictures out" "$dshost" report theirs/run --out page --metrics
    grep -q "warning: .*$names" "$tmp/err" && [ ! -e "$trace" ]
    result $? "says so, and loads nothing"
    for command in "export theirs/run --format csv --out -" "plot theirs/run --out p.png" "compare theirs/bench:rand theirs/bench:rand" "doctor theirs"; do
        # shellcheck disable=SC2086
        run "$dshost" $command
        [ ! -e "$trace" ]
        result $? "nothing is loaded: $command"
    done
    rm -rf theirs && cp -r before theirs
    for flag in "$tmp/hill.so" ./hill.so "$tmp"; do
        status 0 "trusted: $flag" "$dshost" eval --x theirs/run --trust-plugin "$flag"
        grep -q "^dshost: running the plugin $tmp/hill.so, which theirs/run/run.sqlite names" "$tmp/err"
        result $? "and named"
    done
    for command in "resume theirs/run --budget 14" "resume theirs/begun" "resume theirs/series" "resume theirs/land" "merge whole theirs/bench" \
        "view theirs/run -o v.html" "report theirs/run --out page"; do
        # shellcheck disable=SC2086
        status 0 "trusted: $command" "$dshost" $command --trust-plugin hill.so
    done
    status 0 "by the variable" env DS_TRUSTED_PLUGINS="/nowhere:$tmp" "$dshost" resume theirs/run --budget 16
    status 0 "or on the plugin path" env DS_PLUGIN_PATH="$tmp" "$dshost" resume theirs/run --budget 18
    refuses 2 "trust-plugin nowhere.so: no such file" "nothing to trust" "$dshost" resume theirs/run --trust-plugin nowhere.so
else
    result 1 "the plugin of this test compiles"
fi
"$dshost" --env ffi --opt rand --budget 4 $quiet --out code >/dev/null 2>&1
refuses 4 "code/run.sqlite sets parameters of ffi that name code to run.* add --trust-plugin ffi" \
    "parameters that name code" "$dshost" eval --x code
status 0 "trusted" "$dshost" eval --x code --trust-plugin ffi
mkdir below
printf '[run]\nenv = analytic\nopt = rand\nbudget = 4\npictures = no\nout = ../up\n' >below/o.ini
cd below || exit 99
refuses 3 "o.ini:6: out = ../up: a file may only name a folder below the working directory" "a file whose results would go elsewhere" "$dshost" --config o.ini
sed "s|../up|$tmp/up|" o.ini >p.ini
refuses 3 "a file may only name a folder below the working directory" "or anywhere" "$dshost" --config p.ini
printf '[bench]\nenvs = analytic\nopts = rand\nruns = 1\nout = /tmp/x\n[run]\nbudget = 4\n' >q.ini
refuses 3 "a file may only name a folder below the working directory" "or those of an experiment" "$dshost" bench q.ini
status 0 "the user may say so" "$dshost" --config o.ini --out ../up
cd .. || exit 99

# ---- the text of a record ----
if command -v sqlite3 >/dev/null; then
    "$dshost" --env analytic --opt rand --budget 20 --seed 1 $quiet --out text >/dev/null 2>&1
    sqlite3 other.db "create table t(a); insert into t values('precious')"
    cp other.db before.db
    # hostile NAME PATTERN SQL: each command refuses the record.
    hostile() {
        bad=
        for old in no yes; do
            rm -rf it
            cp -r text it
            [ $old = no ] || old_format it
            # shellcheck disable=SC2059
            sqlite3 it/run.sqlite "$3"
            sqlite3 it/run.sqlite "update eval set x = zeroblob(1) where id = 15"
            for command in "resume it --repair" "resume it --budget 25" "export it --format csv --out -" "report it --out page" \
                "eval --env analytic --x it" "merge whole it"; do
                got=0
                # shellcheck disable=SC2086
                timeout -s KILL 20 "$dshost" $command >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
                [ "$command" = "merge whole it" ] || grep -q "it/run.sqlite: $2" "$tmp/err" || bad="$bad $old:$command"
                [ $got -ge 2 ] && [ $got -le 6 ] && cmp -s other.db before.db || bad="$bad $old:$command($got)"
            done
        done
        [ -z "$bad" ] || echo "#  $bad"
        [ -z "$bad" ]
        result $? "a record with $1 is refused"
    }
    hostile "a statement behind a table" "damaged: the schema of eval" "pragma writable_schema = 1; update sqlite_master set sql = sql ||
        '; ATTACH ''other.db'' AS o; DELETE FROM o.t' where name = 'eval'"
    hostile "a generated column" "damaged: the schema of extra" "create table extra(id integer primary key, kind as (1))"
    hostile "a default" "damaged: the schema of extra" "create table extra(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL DEFAULT 3)"
    hostile "a trigger" "refused: it contains trigger 't'" "create trigger t after insert on eval begin delete from meta; end"
    hostile "a view" "refused: it contains view 'extra'" "create view extra as select 1"
    hostile "another table" "refused: it contains a table 'mine'" "create table mine(a)"
    hostile "an index" "refused: it contains an index 'i'" "create index i on eval(abs(loss))"
    if sqlite3 :memory: "create virtual table f using fts5(a)" 2>/dev/null; then
        hostile "a virtual table" "refused: it contains a table 'f" "create virtual table f using fts5(a)"
    fi
    for old in no yes; do
        rm -rf it
        cp -r text it
        [ $old = no ] || old_format it
        sqlite3 it/run.sqlite "update eval set x = zeroblob(1) where id = 15"
        status 0 "a record of ours is repaired (format 1: $old)" "$dshost" resume it --repair
        same "and is what it was" text it
    done
else
    skip "the text of a record: no sqlite3"
fi
finish
