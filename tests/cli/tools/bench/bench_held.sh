#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `dshost bench` in a folder that already holds an experiment: permitted, kept and refused changes; estimates; signals.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/bench_lib.sh"
cd "$tmp" || exit 99

# some FILE ENVS DIM RUNS BUDGET: an experiment with `rand` alone; the first environment may be `sphere`.
some() {
    printf '[bench]\nenvs = %s\nopts = rand\nruns = %s\n[run]\nbudget = %s\n' "$2" "$4" "$5" >"$1"
    case $2 in
    *sphere*) printf '[env sphere]\nplugin = analytic\ndim = %s\n' "$3" >>"$1" ;;
    esac
}
# waits FOR COMMAND...: waits until the command succeeds, at most FOR tenths of a second.
waits() {
    most=$1
    shift
    while [ "$most" -gt 0 ] && ! "$@"; do
        most=$((most - 1))
        sleep 0.1
    done
    [ "$most" -gt 0 ]
}
has_done() { # has_done DIR N
    [ -f "$1/bench.json" ] && [ "$(count "$1" done)" -ge "$2" ]
}

# ---- long lists ----
some sweep.ini sphere 2 1 5
printf '[sweep env sphere]\ninstance = 1' >>sweep.ini
awk 'BEGIN { for (i = 2; i <= 12; i++) printf " | %d", i; print "" }' >>sweep.ini
status 0 "variants with long names" "$dshost" bench sweep.ini --out sweep
status 0 "and again" "$dshost" bench sweep.ini --out sweep --runs 2
[ "$(count sweep done)" = 24 ]
result $? "with another seed for all"
some skip.ini bounce 0 1 5
awk 'BEGIN { printf "skip ="; for (i = 0; i < 12; i++) printf "\n  long_environment_name_%d/long_optimizer_name", i; print "" }' >names
sed -i '3r names' skip.ini
status 0 "a long list of cells to skip" "$dshost" bench skip.ini --out skip
status 0 "and again" "$dshost" bench skip.ini --out skip
printf '[bench]\nenvs = analytic\nopts = rand\nruns = 1\n[run]\nbudget = 5\n[env analytic]\ndim = 200\nlower =' >many.ini
awk 'BEGIN { for (i = 0; i < 200; i++) printf "%s%.4f", i % 20 ? " " : "\n  ", -4 - i / 1000
    printf "\n[sweep env analytic]\ninstance = 1"
    for (i = 2; i <= 990; i++) printf i % 20 ? " | %d" : " |\n  %d", i
    print "" }' >>many.ini
status 0 "hundreds of variants with all their parameters" "$dshost" bench many.ini --out many --only '*=7/*'
[ "$(wc -c <many/bench.ini)" -gt 1048576 ] && [ "$(count many done)" = 1 ]
result $? "are more than other files may hold"
status 0 "and again" "$dshost" bench many.ini --out many --only '*=7/*'
long=deep
while [ ${#long} -lt 200 ]; do
    long=$long/a_folder_with_a_long_name
done
mkdir -p "$long"
cp "$DS_TOP_BUILD/plugins/envs/.libs/bounce.so" "$long"
ln -s "$long" short
printf '[bench]\nenvs = b\nopts = rand\nruns = 1\n[run]\nbudget = 5\n[env b]\nplugin = short/bounce.so\n' >path.ini
status 0 "a plugin in a folder with a long name" "$dshost" bench path.ini --out path
status 0 "and again" "$dshost" bench path.ini --out path --runs 2

# ---- other parameters ----
some c1.ini 'sphere bounce' 10 2 20
some c2.ini bounce 0 2 20
some c3.ini 'sphere bounce' 3 2 20
status 0 "an experiment" "$dshost" bench c1.ini --out cc
status 0 "a variant is taken out of the file" "$dshost" bench c2.ini --out cc
before=$(cat cc/bench.ini)
bad 3 "cc holds runs of sphere with dim = 10, but the file says 3" bench c3.ini --out cc
bad 3 "cc holds runs of sphere with dim = 10, but the file says 3" bench c3.ini --out cc --dry-run
[ "$before" = "$(cat cc/bench.ini)" ]
result $? "nothing changed"
sed -i '/^dim = /d' cc/sphere/rand/run.ini
status 0 "a parameter that is new in the plugin" "$dshost" bench c3.ini --out cc
rm -rf cc/sphere/rand/seed-*
some c4.ini 'sphere bounce' 4 2 20
status 0 "a variant without runs may change" "$dshost" bench c4.ini --out cc

# ---- budget and time ----
bad 2 "cc/sphere/rand/seed-0 has a budget of 20 evaluations, so 10 are too few" bench c4.ini --out cc --budget 10
grep -q '^budget = 20$' cc/bench.ini
result $? "a smaller budget is refused"
printf '[bench]\nenvs = faulty\nopts = rand\nruns = 2\n[run]\nbudget = 60\n[env faulty]\nplugin = %s\nwork = 0.01\n' "$faulty" >time.ini
status 0 "runs with a limit of time" "$dshost" bench time.ini --set run.seconds=0.1 --out time
[ "$(rows time/faulty/rand/seed-0)" -lt 60 ]
result $? "end there"
status 0 "the same again" "$dshost" bench time.ini --set run.seconds=0.1 --out time
grep -q '2 done already' "$tmp/err"
result $? "has nothing to do"
status 0 "a larger limit" "$dshost" bench time.ini --set run.seconds=300 --out time
[ "$(rows time/faulty/rand/seed-0)" -eq 60 ] && [ "$(rows time/faulty/rand/seed-1)" -eq 60 ]
result $? "extends them"
some time.ini bounce 0 2 1000000000
status 0 "an estimate" "$dshost" bench time.ini --set run.seconds=2 --jobs 8 --dry-run --json --out none
grep -q '"left_s": 4.0, "left_parallel_s": 2.0, ' "$tmp/out"
result $? "knows the limit, and that there are two runs for eight slots"

# ---- a part ----
some part.ini 'sphere bounce' 2 3 10
status 0 "an experiment of six runs" "$dshost" bench part.ini --out part
status 0 "a part of it" "$dshost" bench part.ini --out part --only 'bounce/*' --runs 2
grep -q '2 runs in 1 cells, 2 done already' "$tmp/err" && [ "$(count part runs)" = 6 ] && [ "$(count part done)" = 6 ] &&
    grep -q '^runs = 3$' part/bench.ini
result $? "leaves the rest in bench.json and bench.ini"
bad 2 "--only nothing/* matches none of 2 cells" bench part.ini --out part --only 'nothing/*'
status 0 "a folder that begins with a dash" "$dshost" bench part.ini --out=-x
status 0 "is resumed, too" "$dshost" bench part.ini --out=-x --budget 15
[ "$(rows ./-x/bounce/rand/seed-0)" = 15 ]
result $? "with more evaluations"

# ---- other seeds ----
# listed DIR CELL: the seeds in bench.json, and how many of the runs are done.
listed() {
    tr -d ' \n' <"$1/bench.json" | grep -o "\"folder\":\"$2/seed-[0-9]*\"[^}]*" | sed 's/.*seed-\([0-9]*\)".*"state":"\([a-z]*\)".*/\1 \2/' |
        sort -n | tr '\n' ' '
}
some seeds.ini 'sphere bounce' 2 2 10
sed -i '3s/^/seed = 1000\n/' seeds.ini
status 0 "an experiment with seeds 1000 and 1001" "$dshost" bench seeds.ini --out seeds
status 0 "two more of one cell" "$dshost" bench seeds.ini --out seeds --only 'sphere/*' --seed 1002 --runs 2
grep -q '2 runs in 1 cells, 0 done already' "$tmp/err" && [ "$(listed seeds sphere/rand)" = "1000 done 1001 done 1002 done 1003 done " ] &&
    [ "$(listed seeds bounce/rand)" = "1000 done 1001 done 1002 open 1003 open " ] &&
    grep -q '^seed = 1000$' seeds/bench.ini && grep -q '^runs = 4$' seeds/bench.ini && grep -q '^seed = 1000$' seeds/sphere/rand/run.ini
result $? "are listed beside the others"
status 0 "seeds before them" "$dshost" bench seeds.ini --out seeds --seed 998
grep -q '4 runs in 2 cells, 0 done already' "$tmp/err" && [ "$(listed seeds bounce/rand)" = "998 done 999 done 1000 done 1001 done 1002 open 1003 open " ] &&
    grep -q '^seed = 998$' seeds/bench.ini && grep -q '^runs = 6$' seeds/bench.ini
result $? "are, too"
status 0 "the file alone" "$dshost" bench seeds.ini --out seeds
grep -q '4 runs in 2 cells, 4 done already' "$tmp/err" && grep -q '^seed = 998$' seeds/bench.ini && [ "$(count seeds runs)" = 12 ] && [ "$(count seeds done)" = 10 ]
result $? "forgets none"
status 0 "an ordinary run" "$dshost" --env analytic --opt rand --set env.dim=2 --budget 10 --pictures no --seed 998 --out direct
same "is what a run with such a seed is" seeds/sphere/rand/seed-998 direct
before=$(cat seeds/bench.ini)
bad 2 "seeds holds runs of seeds 998 to 1003, which bench.ini would lose with seeds 1005 to 1006: leave no gap" bench seeds.ini --out seeds --seed 1005
bad 2 "seeds holds runs of seeds 998 to 1003" bench seeds.ini --out seeds --seed 5 --dry-run
[ "$before" = "$(cat seeds/bench.ini)" ] && [ ! -e seeds/sphere/rand/seed-1005 ]
result $? "nothing changed"
status 0 "a shard" "$dshost" bench seeds.ini --out shard --shard 1/2
bad 2 "shard holds runs of seeds 1000 to 1001, which bench.ini would lose with seeds 1002 to 1003: keep the first seed of a shard" \
    bench seeds.ini --out shard --shard 1/2 --seed 1002

# ---- an environment that cannot be created ----
printf '[bench]\nenvs = faulty analytic\nopts = rand\n[env faulty]\nplugin = %s\nfault = error\nstage = create\n' "$faulty" >create.ini
"$dshost" bench create.ini --dry-run >"$tmp/out" 2>"$tmp/err"
[ $? -ne 0 ] && grep -q '^dshost: error: faulty: ' "$tmp/err" && grep -q '^analytic/rand' "$tmp/out"
result $? "--dry-run ends with its status, after all others"

# ---- while runs are active ----
cat >two.ini <<END
[bench]
envs = analytic faulty
opts = rand
runs = 1
jobs = 2
[run]
budget = 20000
[env faulty]
plugin = $faulty
work = 0.02
END
"$dshost" bench two.ini --out two >"$tmp/out" 2>"$tmp/err" &
pid=$!
waits 300 has_done two 1
result $? "bench.json tells of the first run while the second one is at work"
kill -INT $pid
wait $pid
[ $? -eq 130 ]
result $? "SIGINT ends it"
some quick.ini bounce 0 2000 5
"$dshost" bench quick.ini --jobs 1 --out quick >"$tmp/out" 2>"$tmp/err" &
pid=$!
waits 300 has_done quick 1
kill -INT $pid
wait $pid
got=$?
[ $got -eq 130 ] && [ "$(count quick open)" -gt 0 ]
result $? "also where it comes between two runs"
sed 's/^work = .*/work = 0.5/; s/^jobs = 2//' two.ini >wait.ini
awk 'BEGIN { printf "[sweep env faulty]\nn = 1"; for (i = 2; i <= 60; i++) printf " |\n  %d", i; print "" }' >>wait.ini
"$dshost" bench wait.ini --dry-run >"$tmp/out" 2>"$tmp/err" &
pid=$!
waits 300 grep -q '^faulty' "$tmp/out"
kill -INT $pid
wait $pid
got=$?
[ $got -eq 130 ] && [ "$(grep -c '^faulty' "$tmp/out")" -lt 60 ]
result $? "and an estimate"
finish
