#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `dshost bench`: files and their errors, equality with ordinary runs, failures, resuming, extending, shards
# and merge.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/bench_lib.sh"
cd "$tmp" || exit 99

# ---- files ----
# ini TEXT: writes f.ini; "|" ends a line.
ini() {
    printf '%s\n' "$1" | tr '|' '\n' >f.ini
}
short='[bench]|envs=analytic|opts=rand|runs=2'
bad 2 "name the experiment file" bench
bad 3 "none.ini: cannot be opened" bench none.ini
bad 2 "did you mean --skip-missing?" bench f.ini --skip-mising
ini '[bench]|envs=analytic'
bad 3 "f.ini: [bench] opts is missing" bench f.ini
ini "$short|[rum]"
bad 3 "f.ini:5: unknown section [rum]: use [bench], [run], [env NAME]" bench f.ini
ini "$short|[env]"
bad 3 "f.ini:5: section [env]: name the environments" bench f.ini
ini "$short|[bench]|sead=3"
bad 3 "f.ini:6: unknown key 'sead' in [bench]; did you mean 'seed'?" bench f.ini
ini "$short|[run]|budgt=3"
bad 3 "f.ini:6: unknown parameter 'budgt' in [run]; did you mean 'budget'?" bench f.ini
ini "$short|[run]|seed=3"
bad 3 "f.ini:6: 'seed' is not a key of [run] in experiments: move it to [bench]" bench f.ini
ini "$short|[env analitic]|dim=3"
bad 3 "f.ini:5: 'analitic' is not in [bench] envs; did you mean 'analytic'?" bench f.ini
ini "$short|[env analytic]|din=3"
bad 3 "f.ini:6: analytic: unknown parameter 'din' in [env]; did you mean 'dim'?" bench f.ini
ini "$short|[env analytic]|dim=3|[env analytic]|dim=4"
bad 3 "f.ini:8: 'dim' is set twice (first at f.ini:6)" bench f.ini
ini "$short|[env analytic]|dim=many"
bad 3 "f.ini:6: analytic: dim = many" bench f.ini
ini '[bench]|envs=analytic analytic|opts=rand'
bad 3 "f.ini:2: envs: 'analytic' is named twice" bench f.ini
ini '[bench]|envs=./my.so|opts=rand'
bad 3 "f.ini:2: envs: './my.so' cannot be a name" bench f.ini
ini '[bench]|envs=analytic|opts=rand|seed=-1'
bad 3 "f.ini:4: seed = -1: expected a whole number" bench f.ini
ini "$short"
bad 2 "--runs" bench f.ini --runs 0
bad 2 "--budget" bench f.ini --budget none
bad 2 "--shard 3/2: expected I/N" bench f.ini --shard 3/2
bad 2 "--shard 1/2x: expected I/N" bench f.ini --shard 1/2x
bad 2 "only run.KEY is possible here" bench f.ini --set env.dim=3
bad 2 "--only torus/* matches none" bench f.ini --only 'torus/*'
ini "$short|seed=18446744073709551615"
bad 3 "f.ini:5: seed = 18446744073709551615 with 2 runs: the last seed would exceed" bench f.ini
ini '[bench]|envs=run.lock|opts=rand|[env run.lock]|plugin=analytic'
bad 3 "f.ini:2: envs: 'run.lock' cannot be a name" bench f.ini
ini '[run]|env=analytic|[env]|dim=3'
bad 3 "f.ini: contains settings for one run, not an experiment: use dshost run --config f.ini" bench f.ini
ini '[run]|env=analytic|[landscape]|axes=0'
bad 3 "f.ini: contains settings for one run, not an experiment: use dshost landscape --config f.ini" bench f.ini
{
    printf '[bench]\nopts = rand\nenvs = analytic\n'
    awk 'BEGIN { for (i = 0; i < 1001; i++) print " e" i }'
} >f.ini
bad 3 "f.ini:3: more than 1000 names" bench f.ini
ini '[bench]|envs=analytic atlantis|opts=rand poseidon nereus'
bad 4 "f.ini: cannot be loaded: environment atlantis, optimizers poseidon nereus; install them, or leave them out" bench f.ini
# A copy elsewhere does not find the MPI module, unless one is installed.
cp "$dshost" alone
env OMPI_COMM_WORLD_RANK=0 ./alone bench f.ini --skip-missing >"$tmp/out" 2>"$tmp/err"
if [ $? -eq 4 ]; then
    grep -q 'started by mpirun, but this dshost was built without MPI' "$tmp/err"
    result $? "under mpirun without the module: one line"
else
    skip "under mpirun without the module: it is installed"
fi
rm -rf alone results
# No cell matches; reported after all names, plugins and parameters were checked.
for f in "$DS_TOP_SRC"/examples/paper/*.ini "$DS_TOP_SRC"/examples/paper/*/*.ini; do
    grep -q "^\[bench\]" "$f" || continue
    refuses 2 'matches none' "$(basename "$f") is understood" "$dshost" bench "$f" --only 'nothing/*' --skip-missing
done
[ ! -e results ]
result $? "nothing was written"
status 0 "--skip-missing runs the rest" "$dshost" bench f.ini --skip-missing --runs 1 --budget 5 --out rest
[ "$(grep -c 'warning: f.ini: left out' "$tmp/err")" = 1 ] && [ "$(count rest done)" = 1 ]
result $? "with one warning"
ini '[bench]|envs=analytic|opts=rand lbfgsb adam|skip=*/lbf* nothing/adam|runs=1|[sweep opt adam]|lr=0.1 \174 1|beta1=0.5 \174 0.9'
sed -i 's/\\174/|/g' f.ini
status 0 "a sweep makes a variant of every combination" "$dshost" bench f.ini --budget 5 --out sweep
# shellcheck disable=SC2012
[ "$(ls sweep/analytic | tr '\n' ' ')" = "adam@lr=0.1@beta1=0.5 adam@lr=0.1@beta1=0.9 adam@lr=1@beta1=0.5 adam@lr=1@beta1=0.9 rand " ] &&
    grep -q '^beta1 = 0.9' sweep/analytic/adam@lr=1@beta1=0.9/seed-0/run.ini && grep -q '^lr = 1$' sweep/analytic/adam@lr=1@beta1=0.9/seed-0/run.ini
result $? "and skip leaves out cells"
status 0 "the effective file gives the experiment again" "$dshost" bench sweep/bench.ini --out sweep2
same_bench "with the same records" sweep sweep2

ini '[bench]|envs=analytic|opts=adam|runs=1|[opt adam]|lr=0.3|beta1=0.7|[sweep opt adam]|lr=0.1 \174 1|beta1=0.5 \174 0.9|beta2=0.12345678901234567 \174 0.99'
sed -i 's/\\174/|/g' f.ini
status 0 "names of variants that would be too long" "$dshost" bench f.ini --budget 5 --out long
grep -q '^lr = 0.1$' long/analytic/adam@1/seed-0/run.ini && grep -q '^beta2 = 0.99' long/analytic/adam@8/seed-0/run.ini &&
    grep -q '^beta1 = 0.9' long/analytic/adam@8/seed-0/run.ini && [ "$(count long done)" = 8 ]
result $? "are numbers, and a sweep wins over the section"
ini '[bench]|envs=analytic|opts=rand|runs=1|skip=analitic/rand'
status 0 "a pattern that skips nothing" "$dshost" bench f.ini --budget 5 --out slip
grep -q 'warning: f.ini: skip analitic/rand matches no cell' "$tmp/err"
result $? "is named"

# ---- runs ----
cheap cheap.ini 2 20
status 0 "an experiment of 72 runs" "$dshost" bench cheap.ini --jobs 3
[ "$(cat "$tmp/out")" = results/cheap ] && [ "$(count results/cheap done)" = 72 ] && [ "$(count results/cheap failed)" = 0 ]
result $? "all done, and the folder is printed"
"$dshost" --env pinball --opt cmaes --set env.variant=pinball16 --set env.steps=200 --set opt.lambda=6 --seed 1001 --budget 20 \
    --out single >"$tmp/out" 2>"$tmp/err"
same "a run of it is an ordinary run" results/cheap/pinball16/small/seed-1001 single
status 0 "again: nothing to do" "$dshost" bench cheap.ini
grep -q '72 runs in 36 cells, 72 done already' "$tmp/err"
result $? "and it says so"
status 0 "all of it for COCO" "$dshost" export results/cheap --format coco --out cc
[ "$(find cc -name '*.info' | wc -l)" -eq 36 ] && [ ! -e cc/export.json ] && grep -q '"env": *"pinball16"' cc.json
result $? "a folder for each optimizer, with all environments"
# One of the runs on an environment has reached the best value.
for f in 1 2 3 4 5 6; do
    cat cc/*/bbobexp_f${f}_i1.info
done | grep -o '|[^,]*' | grep -c '^|0.0e+00$' >zeros
[ "$(cat zeros)" -ge 6 ] && [ "$(grep -c 'algId = .small.' cc/small/bbobexp_f5_i1.info)" -eq 1 ]
result $? "with the best loss of all optimizers as the optimum"
status 0 "and for IOHanalyzer" "$dshost" export results/cheap --format ioh --out ioh
[ "$(find ioh -name '*.json' | wc -l)" -eq 36 ] && grep -q '"function_name": *"pinball16"' ioh/small/IOHprofiler_f5_pinball16.json
result $? "with the names of the experiment"
status 0 "a cell can be exported" "$dshost" export results/cheap/bounce/rand --format ioh
[ -f results/cheap/bounce/rand/export/ioh/IOHprofiler_f1_bounce.json ]
result $? "without a folder for its only optimizer"
rm -f results/cheap/bench.json results/cheap/bounce/rand/seed-1000/summary.json
status 0 "without bench.json, and with a run that was cut off" "$dshost" bench cheap.ini
[ "$(count results/cheap done)" = 72 ]
result $? "the state is found out from the folders"
sed 's/^runs = 2/runs = 3/; s/^opts = /opts = nlopt /' cheap.ini >more.ini
status 0 "a larger experiment in the same folder" "$dshost" bench more.ini --out results/cheap --jobs 3 --only 'bounce/*'
grep -q '21 runs in 7 cells, 12 done already' "$tmp/err"
result $? "does what is new"
status 0 "a larger budget extends the runs" "$dshost" bench cheap.ini --budget 30 --only 'bounce/rand analytic/rand'
"$dshost" --env bounce --opt rand --seed 1000 --budget 30 --out direct >"$tmp/out" 2>"$tmp/err"
same "as resume does" results/cheap/bounce/rand/seed-1000 direct
sed 's/^dim = 5/dim = 6/' cheap.ini >other.ini
bad 3 "results/cheap holds runs of analytic with dim = 5, but the file says 6" bench other.ini --out results/cheap
"$dshost" bench cheap.ini --only 'bounce/rand' --out begun1 >/dev/null 2>&1
"$dshost" bench cheap.ini --only 'bounce/rand' --only 'analytic/rand' --out twice --dry-run --json >"$tmp/out" 2>"$tmp/err"
grep -q bounce/rand "$tmp/out" && grep -q analytic/rand "$tmp/out" && ! grep -q cmaes "$tmp/out"
result $? "--only twice means both"
status 0 "what has no run yet may change" "$dshost" bench other.ini --only 'analytic/rand' --out begun1
bad 3 "begun1 holds runs of analytic with dim = 6, but the file says 5" bench cheap.ini --out begun1
status 0 "--dry-run" "$dshost" bench cheap.ini --dry-run --out new
[ ! -e new ] && grep -q '^72 runs in 36 cells, 0 done' "$tmp/out" && [ "$(grep -c '^[a-z0-9]*/' "$tmp/out")" = 36 ]
result $? "estimates and writes nothing"
status 0 "--dry-run --json" "$dshost" bench cheap.ini --budget 30 --dry-run --json
grep -q '"measured": *"runs"' "$tmp/out"
result $? "takes the time of finished runs"

ini '[bench]|envs=analytic pendulum|opts=rand bo ppo|skip=analytic/ppo|[run]|budget=1000|[env analytic]|dim=10'
"$dshost" bench f.ini --dry-run --json --out new >all.json 2>"$tmp/err"
own() { # own CELL: seconds of the optimizer itself, null = not known
    tr '{' '\n' <all.json | sed -n "s|.*\"$1\".*\"optimizer_s\": *\([^,]*\),.*|\1|p"
}
awk -v bo="$(own analytic/bo)" -v least="$(own analytic/rand)" 'BEGIN { exit !(bo > 0.1 && bo > 20 * least) }' && [ "$(own pendulum/ppo)" = null ]
result $? "--dry-run knows that bo takes time of its own, and that it does not know what ppo takes"
ini '[bench]|envs=push|opts=ilqr|runs=1|[run]|budget=20'
status 0 "--dry-run of ilqr" "$dshost" bench f.ini --dry-run --out new
[ ! -s "$tmp/err" ]
result $? "prints nothing about the function of its trial search"

# ---- shards ----
for i in 1 2 3; do
    "$dshost" bench cheap.ini --shard $i/3 --only 'bounce/* cartpole/rand' >>"$tmp/shards" 2>"$tmp/err" || echo failed
done
[ "$(tr '\n' ' ' <"$tmp/shards")" = "results/cheap-1of3 results/cheap-2of3 results/cheap-3of3 " ]
result $? "three shards in folders of their own"
"$dshost" bench cheap.ini --only 'bounce/* cartpole/rand' --out whole >/dev/null 2>&1
status 0 "merge" "$dshost" merge merged results/cheap-1of3 results/cheap-3of3
grep -q '9 runs copied\|10 runs copied' "$tmp/err"
result $? "of a part of the shards"
status 0 "merge again, with all" "$dshost" merge merged results/cheap-1of3 results/cheap-2of3 results/cheap-3of3
same_bench "shards and merge give the whole" whole merged
cp -r whole begun
"$dshost" bench cheap.ini --only 'bounce/rand' --out begun --budget 25 >/dev/null 2>&1
bad 3 "are parts of different experiments" merge m2 whole begun
bad 2 "name the target folder and the parts" merge m2
bad 2 "is both the target folder and a part" merge whole whole
bad 6 "holds no experiment" merge m2 "$tmp"

# ---- failures ----
cat >bad.ini <<END
[bench]
envs = analytic faulty
opts = rand badopt
runs = 2
[run]
budget = 60
[env faulty]
plugin = $faulty
fault = error
[opt badopt]
plugin = $badopt
fault = segv
END
status 4 "the status of the first run that failed" "$dshost" bench bad.ini
[ "$(count results/bad done)" = 2 ] && [ "$(count results/bad failed)" = 6 ] &&
    [ "$(grep -c '^dshost: failed: ' "$tmp/err")" = 6 ] && grep -q 'failed: faulty/rand/seed-1 (status 5): ' "$tmp/err"
result $? "failed runs are kept and named"
grep -qE 'SIGSEGV|ended by itself with exit status 1' results/bad/analytic/badopt/seed-0.log && [ ! -e results/bad/analytic/rand/seed-0.log ]
result $? "with what they said"
before=$(rows results/bad/faulty/rand/seed-0)
sed 's/^fault = segv/fault = none/' bad.ini >mended.ini
"$dshost" bench bad.ini >"$tmp/out" 2>"$tmp/err"
[ $? -eq 4 ] && [ "$(rows results/bad/faulty/rand/seed-0)" = "$before" ]
result $? "failed runs are tried again, but not those with too many failures"
grep -q 'failed: faulty/rand/seed-0 (status 5): .*see results/bad/faulty/rand/seed-0.log; --retry repeats the run' "$tmp/err"
result $? "which are told how"
cat >slow.ini <<END
[bench]
envs = faulty
opts = badopt
runs = 4
[run]
budget = 100
[env faulty]
plugin = $faulty
work = 0.02
[opt badopt]
plugin = $badopt
END
"$dshost" bench slow.ini --jobs 2 >"$tmp/out" 2>"$tmp/err" &
pid=$!
sleep 1
refuses 75 "is working on this run" "the folder is locked meanwhile" "$dshost" bench slow.ini
kill -INT $pid
wait $pid
[ $? -eq 130 ] && [ "$(count results/slow failed)" = 0 ] && [ "$(count results/slow open)" -ge 2 ]
result $? "SIGINT stops all runs with everything saved"
[ -f results/slow/faulty/badopt/seed-0/summary.json ]
result $? "and their summaries"
finish
