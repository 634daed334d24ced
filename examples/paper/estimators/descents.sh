#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Descents with first-, zeroth- and alpha-order gradients, with the constants of the authors, after figures 7 (ball_wall,
# momentum) and 8 (push10, push1000, friction) of Suh et al., "Do differentiable simulators give better policy gradients?"
# (2022). Prints where they start and end: mean loss under noise, first variable, and mean alpha, with 95 % intervals over seeds.
#
#     examples/paper/estimators/descents.sh                          all, in results/descents: minutes
#     examples/paper/estimators/descents.sh --small                  fewer seeds: a minute
#     examples/paper/estimators/descents.sh results/x push10         one system, into another folder
. "$(dirname "$0")/../dshost.sh"
small=
if [ "${1-}" = --small ]; then
    small=1
    shift
fi
out=${1-results/descents$small}
mkdir -p "$out" || exit 6
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- ball_wall momentum push10 push1000 friction

# Sets env (and its parameters), samples, sigma, step, iterations, gamma, largest, seeds.
settings() {
    env=$1
    more=
    seeds=20
    largest=1
    case $1 in
    ball_wall) samples=50 sigma=0.1 step=0.1 iterations=1000 gamma=0.01 ;;
    momentum) samples=50 sigma=0.02 step=0.01 iterations=500 gamma=0.2 ;;
    push10 | push1000)
        env=push
        more="--set env.set=k${1#push}"
        samples=10 sigma=0.1 step=1e-3 iterations=500 gamma=1e8 largest=100
        ;;
    friction) samples=10 sigma=0.1 step=1e-4 iterations=100 gamma=2e4 largest=100 ;;
    *)
        echo "descents.sh: $1: expected ball_wall, momentum, push10, push1000 or friction" >&2
        exit 2
        ;;
    esac
    if [ -n "$small" ]; then
        seeds=5
        case $1 in push*) iterations=200 ;; esac
    fi
}

# ends FOLDER: start, end, first variable and alpha of all traces in it: means and half widths of the intervals.
ends() {
    awk -F, '
    FNR == 2 { n++; start[n] = $3; alphas = count = 0 }
    FNR > 1 { end[n] = $3; x[n] = $11; alphas += $9; count++; alpha[n] = alphas / count }
    function show(v,   i, m, s) {
        for (i = 1; i <= n; i++) m += v[i] / n
        for (i = 1; i <= n; i++) s += (v[i] - m) ^ 2
        printf " %12.6g +- %-9.2g", m, (n > 1 ? t * sqrt(s / (n - 1) / n) : 0)
    }
    END {
        split("12.71 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 2.120 2.110 2.101 2.093", quantile, " ")
        t = n > 20 ? 2 : quantile[n - 1]
        show(start); show(end); show(x); show(alpha)
        print ""
    }' "$1"/*/trace.csv
}

printf '%-10s %-7s %-25s %-25s %-25s %s\n' system order "loss at the start" "at the end" "first variable" "mean alpha"
for system in "$@"; do
    settings "$system"
    for order in first zeroth alpha; do
        rows=$samples
        [ $order = first ] || rows=$((samples + 1))
        [ $order != alpha ] || rows=$((2 * samples + 1))
        seed=0
        while [ $seed -lt $seeds ]; do
            folder=$out/$system/$order/seed-$seed
            # shellcheck disable=SC2086
            [ -f "$folder/summary.json" ] || "$dshost" run --env $env $more --opt alphaorder --seed $seed --budget $((rows * iterations)) \
                --set opt.order=$order --set opt.shared=false --set opt.antithetic=false --set opt.units=x --set opt.step=sgd \
                --set opt.clip=inf --set opt.rule=bias --set opt.small=1e-5 --set opt.start=x0 --set opt.samples=$samples \
                --set opt.s=$sigma --set opt.lr=$step --set opt.gamma=$gamma --set opt.largest=$largest --set opt.delta_repo=true \
                --set opt.j=1000000000 --set opt.patience=1000000000 --set opt.trace=true --pictures false --isolation none \
                --out "$folder" > /dev/null 2> "$out/errors" || { cat "$out/errors" >&2; exit 1; }
            seed=$((seed + 1))
        done
        printf '%-10s %-7s' "$system" $order
        ends "$out/$system/$order"
    done
done
