#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# env.expect: an evaluation is the mean of several episodes. One row of the record for each, the budget counts episodes,
# and every command works with it: jobs, isolation, resume, run.ini, bench, report, compare, landscape, pictures.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99
if ! command -v sqlite3 >/dev/null; then
    echo "1..0 # SKIP no sqlite3"
    exit 0
fi

# points DIR: loss, x and gradient of all evaluations, as text.
points() {
    sqlite3 "$1/run.sqlite" "SELECT id, quote(loss), hex(x), hex(grad) FROM eval ORDER BY id" 2>/dev/null
}
rows() {
    sqlite3 "$1/run.sqlite" "SELECT count(*) FROM eval"
}
over='length*=uniform(0.8, 1.2), start_theta[0]+=normal(0, 0.1)'
same="--env cartpole --set env.steps=20 --set env.expect=8 --pictures no --seed 3"
for case in cmaes:row lbfgsb:run; do
    opt=${case%:*} draws=${case#*:}
        set -- --opt "$opt" --set "env.expect_over=$over" --set env.expect_draws=$draws
        rm -rf a b c d
        # shellcheck disable=SC2086
        "$dshost" run $same "$@" --budget 161 --jobs 1 --isolation none --out a >out 2>err &&
            "$dshost" run $same "$@" --budget 160 --jobs 2 --isolate-optimizer yes --out b >out 2>err &&
            [ "$(rows a)" -eq 20 ] && [ "$(points a)" = "$(points b)" ] &&
            grep -q '"episodes_per_evaluation": 8' b/summary.json && grep -q '"evaluations": 20,' b/summary.json &&
            "$dshost" resume a --jobs 2 --isolation process --budget 240 >out 2>err &&
            "$dshost" run --config b/run.ini --out c --jobs 1 >out 2>err && [ "$(points c)" = "$(points b)" ] &&
            "$dshost" resume c --budget 240 >out 2>err && [ "$(rows c)" -eq 30 ] && [ "$(points a)" = "$(points c)" ]
        result $? "$opt, new draws for each $draws: jobs, isolation, run.ini, resume; 160 episodes are 20 rows"
done

# ilqr: each draw has a linear model of its own, of which none is that of the mean.
for env in cartpole planar_hand push; do
    rm -rf law
    "$dshost" run --env $env --opt ilqr --set env.expect=2 --set "env.expect_over=x+=normal(0,0.01)" --budget 20 \
        --pictures no --out law >out 2>err && [ "$(rows law)" -eq 10 ] && [ "$(grep -c 'damped gradient descent' err)" -eq 1 ]
    result $? "ilqr, two draws of $env: a gradient descent, which says so"
done

# One least-squares problem over all draws: J v has the rows of each draw.
"$dshost" run --env analytic --set env.function=rosenbrock --set env.dim=3 --opt lm --set env.expect=4 \
    --set "env.expect_over=x+=uniform(-0.1,0.1)" --budget 400 --pictures no --out lm >out 2>err &&
    [ "$("$dshost" help analytic --set env.function=rosenbrock --set env.dim=3 --set env.expect=4 \
        --set "env.expect_over=x+=uniform(-0.1,0.1)" --json | tr -d ' \n' | grep -c '"residuals":16')" -eq 1 ]
result $? "lm: residuals of four draws"

cat >two.ini <<END
[bench]
out = two
envs = one many
opts = rand cmaes
runs = 2
[run]
budget = 100
pictures = no
[env one]
plugin = cartpole
steps = 10
[env many]
plugin = cartpole
steps = 10
expect = 8
expect_over = $over
END
"$dshost" bench two.ini >out 2>err && [ "$(rows two/many/rand/seed-0)" -eq 12 ] && [ "$(rows two/one/rand/seed-0)" -eq 100 ] &&
    "$dshost" bench two.ini --dry-run >out 2>err && "$dshost" bench two.ini >out 2>again && grep -q "0 of\|nothing\|8 done already" again
result $? "bench: 12 evaluations of 8 episodes next to 100 single ones; a second start has nothing to do"
"$dshost" report two >out 2>err && [ -s two/report/index.html ] && ! grep -q "different budgets" two/report/index.html
result $? "report"
mkdir A B && cp -r two/one/rand A && cp -r two/many/rand B
! "$dshost" compare A B >out 2>err && grep -q "kept apart, as cartpole@expect= and cartpole@expect=8" err &&
    "$dshost" compare two/many/rand two/many/cmaes >out 2>err && ! grep -q "different budgets" out
result $? "compare: another expectation is another environment"
"$dshost" landscape --env cartpole --set env.steps=5 --set env.expect=2 --set "env.expect_over=x+=normal(0,0.1)" \
    --axes 0,1 --grid 4 --out land >out 2>err && [ -s land/landscape.html ]
result $? "landscape"

wrong() {
    code=$1
    text=$2
    shift 2
    got=0
    "$dshost" run --budget 16 --out w "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" -eq "$code" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q -- "$text" "$tmp/err" && [ ! -e w ]
    result $? "refused: $text"
}
wrong 3 "^dshost: error: --set env.expect_over: pendulum: expect_over = masss=uniform(1,2): pendulum has no parameter" \
    --env pendulum --opt rand --set env.expect=8 --set "env.expect_over=masss=uniform(1,2)"
wrong 3 "a budget of 16 episodes is less than one evaluation of env.expect = 17" \
    --env pendulum --opt rand --set env.expect=17 --set "env.expect_over=x+=normal(0,1)"
wrong 4 "needs stepwise control, which pendulum with env.expect does not have" \
    --env pendulum --opt ppo --set env.expect=8 --set "env.expect_over=x+=normal(0,1)"
"$dshost" help expect >out 2>err && grep -q "expect_over" out && "$dshost" help expect --json >out 2>err && grep -q '"expect_draws"' out
result $? "help expect"
finish
