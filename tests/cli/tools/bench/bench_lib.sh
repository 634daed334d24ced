# SPDX-License-Identifier: Apache-2.0
# Helpers of the tests of `dshost bench`; sourced after lib.sh.

# same_bench NAME DIR DIR: the same runs with equal records, in all columns but times; at least one.
same_bench() {
    passed=0
    (cd "$2" && find . -name run.sqlite | sort) >"$tmp/runs1"
    (cd "$3" && find . -name run.sqlite | sort) >"$tmp/runs2"
    [ -s "$tmp/runs1" ] && cmp -s "$tmp/runs1" "$tmp/runs2" || passed=1
    while read -r f; do
        table "$2/${f%/run.sqlite}" >"$tmp/table1" 2>"$tmp/err" && table "$3/${f%/run.sqlite}" >"$tmp/table2" 2>>"$tmp/err" &&
            [ -s "$tmp/table1" ] && cmp -s "$tmp/table1" "$tmp/table2" || {
            echo "#   ${f%/run.sqlite} differs"
            passed=1
        }
    done <"$tmp/runs1"
    result $passed "$1"
}

# count DIR KEY: a number of bench.json's counts.
count() {
    sed -n '/"counts"/,/}/p' "$1/bench.json" | sed -n "s/^ *\"$2\": \([0-9]*\),\{0,1\}\$/\1/p"
}

# cheap FILE RUNS BUDGET: an experiment of 6 x 6 cheap cells.
cheap() {
    cat >"$1" <<END
[bench]
envs = analytic rosenbrock cartpole pinball pinball16 bounce
opts = rand cmaes adam lbfgsb randdescents small
seed = 1000
runs = $2
[run]
budget = $3
[env analytic rosenbrock]
dim = 5
[env rosenbrock]
plugin = analytic
function = rosenbrock
[env cartpole]
steps = 50
[env pinball pinball16]
plugin = pinball
steps = 200
[env pinball16]
variant = pinball16
[opt small]
plugin = cmaes
lambda = 6
END
}
