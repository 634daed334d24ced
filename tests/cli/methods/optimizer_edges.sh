#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# optimizer_edges.sh - parameters at the ends of their ranges, failures, and interrupted searches.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
export OPENBLAS_NUM_THREADS=1

go() { # go FOLDER FLAGS: a run without pictures
    out=$1
    shift
    rm -rf "$out"
    "$dshost" run "$@" --isolation none --pictures no --out "$out" > "$tmp/out" 2> "$tmp/err"
}

field() { # field FOLDER KEY: a number of the summary
    sed -n "s/^ *\"$2\": *\"*\([^\",]*\)\"*,*\$/\\1/p" "$1/summary.json" | head -n 1
}

# ---- stepwise control ----
go lanes --env pendulum --opt ppo --budget 90 --set opt.episodes=64 --set opt.evaluate_every=64 --set opt.evaluate_episodes=4
result $? "ppo: more open episodes than the host holds, and trials"

go all --env pendulum --opt ppo --budget 12 --set opt.episodes=2 --set opt.minibatch=1 --set opt.epochs=1 --set opt.target_kl=0 \
    --set opt.value=0 --set opt.evaluate_every=0
first=$(field all best_loss)
go none --env pendulum --opt ppo --budget 12 --set opt.episodes=2 --set opt.minibatch=1 --set opt.epochs=1 --set opt.target_kl=0 \
    --set opt.value=0 --set opt.evaluate_every=0 --set opt.lr=0
[ -n "$first" ] && [ "$first" != "$(field none best_loss)" ]
result $? "ppo: minibatches of one step move the policy"

go auto --env pendulum --opt sac --budget 12 --set opt.learning_starts=60 --set opt.hidden=8 --set opt.batch=8
first=$(field auto best_loss)
go one --env pendulum --opt sac --budget 12 --set opt.learning_starts=60 --set opt.hidden=8 --set opt.batch=8 --set opt.reward_scale=1
[ -n "$first" ] && [ "$first" != "$(field one best_loss)" ]
result $? "sac: rewards are scaled also where learning begins in the second episode"

# ---- failures ----
# Failures depend on the point alone, so requesting a failed point again wastes an evaluation.
go fails --env analytic --set env.function=rosenbrock --set env.fail_rate=0.2 --opt lbfgsb --budget 400 --seed 1 --max-failed 1
"$dshost" export fails --format csv --no-times --out - > "$tmp/table" 2> "$tmp/err"
grep ',\(diverged\|infeasible\|error\),' "$tmp/table" | cut -d, -f11- > "$tmp/failed"
[ "$(wc -l < "$tmp/failed")" -gt 40 ] && [ -z "$(sort "$tmp/failed" | uniq -d)" ]
result $? "lbfgsb: no failed point is tried again"

go tol --env analytic --opt cmaes --budget 20000 --set opt.restarts=none --set opt.lambda=50 --set opt.tolfun=1e-3 \
    --max-failed 1 --set env.fail_rate=0.2
n=$(field tol evaluations)
[ -n "$n" ] && [ "$n" -lt 8000 ]
result $? "cmaes: failures do not keep tolfun from ending a search (after $n)"

# ---- small numbers ----
go single --env analytic --set env.dim=4 --opt boleap --budget 60 --set opt.k=1 --set opt.mu=1 --set opt.weights=log
result $? "boleap: a single sample with logarithmic weights"
go polish --env analytic --set env.dim=4 --opt boleap --budget 60 --set opt.polish=1
result $? "boleap: polish of the whole budget"
# A step costs 1, a Jacobian 20: one Jacobian and its step fit into 30, another Jacobian does not.
go squares --env analytic --set env.dim=20 --opt pbh --budget 220 --set opt.workers=1 --set opt.j=30
"$dshost" export squares --format csv --no-times --out - 2> "$tmp/err" > "$tmp/table"
most=$(tail -n +2 "$tmp/table" | cut -d, -f7 | sort | uniq -c | sort -n | awk 'END { print $1 }')
[ "$most" -gt 20 ] && [ "$most" -le 30 ]
result $? "pbh: a search does not exceed j (most $most)"
refuses 4 "j = 10 leaves a search no evaluation for a step: a Jacobian costs 20, so give at least 22" "pbh: j that allows no step" \
    "$dshost" run --env analytic --set env.dim=20 --opt pbh --budget 100 --set opt.j=10 --isolation none --out few

# A batch takes no candidate twice.
go batch --env analytic --set env.dim=1 --opt turbo --set opt.batch=200 --budget 202
"$dshost" export batch --format csv --no-times --out - 2> "$tmp/err" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR > 1 { print $at["x0"] }' | sort | uniq -d > "$tmp/twice"
[ ! -s "$tmp/twice" ]
result $? "turbo: a batch as large as there are candidates has no point twice"
refuses 3 "candidates = 50 are too few for batch = 60 points" "turbo: fewer candidates than points" \
    "$dshost" run --env analytic --opt turbo --set opt.candidates=50 --set opt.batch=60 --budget 100 --isolation none --out refused

# ---- many variables ----
for opt in boleap leaprefine; do
    refuses 3 "6000 variables are too many: .* it takes at most 5000" "$opt: more variables than its matrices" \
        "$dshost" run --env analytic --set env.dim=6000 --opt $opt --budget 20 --isolation none --out refused
done
for opt in racer "cem --set opt.polish=0.3 --set opt.samples=20 --set opt.elite=5"; do
    # shellcheck disable=SC2086
    go wide-${opt%% *} --env analytic --set env.dim=6000 --opt $opt --budget 40
    result $? "${opt%% *}: many variables need no matrix"
done

# ---- a model of few of many points ----
go many --env analytic --set env.dim=5 --set env.function=rugged --opt bo --budget 330 --set opt.j=1 --set opt.raw=64 \
    --set opt.starts=1 --set opt.n_max=220
result $? "bo: more points than n_max"
finish
