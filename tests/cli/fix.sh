#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fixed variables: --fix, run.fix and environments with lower = upper. The optimizer searches for the others, the record
# keeps all of them, and every command works with them.
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
# column DIR K: the different values of variable K, as text.
column() {
    sqlite3 "$1/run.sqlite" "SELECT DISTINCT substr(hex(x), 1 + 16 * $2, 16) FROM eval"
}
small="--env analytic --set env.dim=4 --set env.optimum=origin --budget 30 --pictures no --seed 3"
# where 0.5 and -1 are fixed, in two ways
fixed="--fix 1=0.5 --fix x[3]=-1"
box="--set env.lower=-5,0.5,-5,-1 --set env.upper=5,0.5,5,-1"
half=000000000000E03F
for opt in $("$dshost" list --json | tr '{' '\n' | sed -n 's/^"id": "\([a-z]*\)", "kind": "optimizer".*/\1/p'); do
    rm -rf a b c
    # shellcheck disable=SC2086
    "$dshost" run $small --opt "$opt" $fixed --jobs 1 --isolation none --out a >out 2>err
    got=$?
    if [ "$got" -eq 4 ] && grep -q "needs .*stepwise control, which analytic with fixed variables does not have" err; then
        result 0 "$opt: stepwise control is refused in one line"
        continue
    fi
    # shellcheck disable=SC2086
    [ "$got" -le 1 ] && [ "$(column a 1)" = $half ] && [ "$(column a 3)" = 000000000000F0BF ] &&
        [ "$(column a 0 | wc -l)" -gt 1 ] &&
        "$dshost" run $small --opt "$opt" $box --jobs 2 --out b >out 2>err &&
        [ "$(points a)" = "$(points b)" ] &&
        "$dshost" run --config a/run.ini --jobs 2 --isolation process --isolate-optimizer yes --out c >out 2>err &&
        [ "$(points a)" = "$(points c)" ] && "$dshost" resume a --budget 40 >out 2>err &&
        "$dshost" resume c --budget 40 >out 2>err && [ "$(points a)" = "$(points c)" ]
    result $? "$opt: fixed by --fix, by bounds, jobs 2, apart, resumed, from run.ini"
done

# Queries about channels: lm requests J v, which has a column for each free variable.
rm -rf a b
# shellcheck disable=SC2086
"$dshost" run $small --set env.function=rosenbrock --opt lm $fixed --out a >out 2>err &&
    [ "$(column a 1)" = $half ] && "$dshost" resume a --budget 60 >out 2>err
result $? "products with a Jacobian"

wrong() {
    code=$1
    text=$2
    shift 2
    got=0
    # shellcheck disable=SC2086
    "$dshost" run $small --opt rand --out w "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" -eq "$code" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q -- "$text" "$tmp/err" && [ ! -e w ]
    result $? "refused: $text"
}
wrong 2 "fix = 4=1: analytic has no variable '4'" --fix 4=1
wrong 2 "fix = gravity=1: analytic has no variable 'gravity'" --fix gravity=1
wrong 2 "fix = 1=7: variable x1 of analytic has the bounds -5..5" --fix 1=7
wrong 2 "fix = 1=nan: expected NAME=VALUE" --fix 1=nan
wrong 2 "fix = 1: expected NAME=VALUE" --fix 1
wrong 2 "variable x1 is fixed twice" --fix 1=1,x1=2
wrong 3 "run.fix: fix = 9=1" --set run.fix=9=1
wrong 2 "all 4 variables are fixed" --fix "0=1 1=1 2=1 3=1"
wrong 3 "all 4 variables are fixed" --set env.lower=1 --set env.upper=1

# The other commands.
"$dshost" eval --env bounce --fix velocity.y=-4 --gradient --fd --json >out 2>err &&
    tr -d ' ' <out | grep -q '"x":\[5.0,-4.0,' && tr -d ' ' <out | grep -q '"gradient_fd_verdict":\["agrees","fixed",' 
result $? "eval: the start has it, and there is no difference quotient"
status 3 "eval: another value of a point is refused" "$dshost" eval --env bounce --fix velocity.y=-4 --x 5,-5,0
"$dshost" landscape --env bounce --fix velocity.x=5 --grid 5 --out land --pictures no >out 2>err &&
    grep -q 'axis 0    variable 1: velocity.y' out
result $? "landscape: the axes are free variables"
"$dshost" landscape --env bounce --fix velocity.x=5 --axes velocity.x --grid 5 --out other >out 2>err
[ $? -eq 2 ] && grep -q "variable 0 is fixed" err
result $? "landscape: no axis along a fixed one"
"$dshost" gradients --env bounce --fix velocity.x=5 --samples 20 --json >out 2>err
result $? "gradients"
"$dshost" run --env bounce --opt cmaes --fix velocity.y=-4 --budget 30 --out pic >out 2>err && [ -s pic/best.png ] &&
    "$dshost" eval --x pic --json >out 2>err && grep -q '"x": \[[^,]*, -4.0, ' out && "$dshost" export pic --format csv >out 2>err &&
    "$dshost" report pic --out rep >out 2>err
result $? "pictures, eval --x, export and report see all variables"
"$dshost" check analytic --set env.dim=4 --set env.lower=-5,0.5,-5,-1 --set env.upper=5,0.5,5,-1 >out 2>err
result $? "check of an environment with fixed variables"
cat >f.ini <<'END'
[bench]
envs = a
opts = r
out = bench
runs = 1
seed = 1
[run]
budget = 12
fix = 0=1 1=1
    2=0.5
[env a]
plugin = analytic
dim = 4
[opt r]
plugin = rand
END
"$dshost" bench f.ini >out 2>err && [ "$(column bench/a/r/seed-1 2)" = $half ] && "$dshost" bench f.ini >out 2>err &&
    sed -i 's/2=0.5/2=1/' f.ini && ! "$dshost" bench f.ini >out 2>err && grep -q "with fix = " err
result $? "bench: fixed in the file, skipped again, refused with another value"
for f in 0=1 0=2; do
    "$dshost" run --env analytic --opt rand --fix "$f" --budget 5 --pictures no --out "sets/$f" >out 2>err
done
"$dshost" report sets --out sets-report >out 2>err && grep -q '^analytic@fix=0_1,' sets-report/runs.csv &&
    grep -q '^analytic@fix=0_2,' sets-report/runs.csv
result $? "report keeps runs with other fixed variables apart"
many=$(seq -s ' ' -f '%g=1.2345678901234567' 0 98)
"$dshost" run --env analytic --set env.dim=100 --opt rand --budget 3 --fix "$many" --pictures no --out many >out 2>err &&
    "$dshost" run --config many/run.ini --out again >out 2>err && [ "$(points many)" = "$(points again)" ]
result $? "run.ini holds a long list"
finish
