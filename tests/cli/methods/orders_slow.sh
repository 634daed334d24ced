#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The order of optimizers on five landscapes: rugged, rugged with half of the gradients wrong, a valley, the pendulum, a
# plateau. Medians of the best losses of eight runs of 1000 evaluations, each with another optimum (a mean would only count
# the runs that missed the right bump of the plateau). The tested orders differed by a factor of three in another program on
# similar landscapes.
. "$(dirname "$0")/../lib.sh"
DS_PLUGIN_PATH=$DS_TOP_BUILD/plugins
export DS_PLUGIN_PATH
cd "$tmp" || exit 99
: "${RUNS:=8}"

for scene in rugged noisy valley pendulum plateau; do
    for id in rand cmaes randdescents bo boleap paper; do
        opt="--opt $id"
        case $id in
        paper) opt="--opt boleap --set opt.profile=paper" ;;
        esac
        case $scene/$id in
        noisy/*) ;; # with a fit to fewer points bo ends at 1.0 there instead of 0.3
        */bo | */boleap | */paper) opt="$opt --set opt.raw=128 --set opt.starts=4 --set opt.fit_max=150" ;;
        esac
        seed=0
        while [ $seed -lt "$RUNS" ]; do
            seed=$((seed + 1))
            here="--env analytic --set env.rotate=true --set env.instance=$seed --set env.function=$scene"
            case $scene in
            rugged) env="$here --set env.dim=10" ;;
            noisy) env="--env analytic --set env.rotate=true --set env.instance=$seed --set env.function=rugged
                --set env.dim=10 --set env.grad_noise=0.5" ;;
            valley | plateau) env="$here --set env.dim=15" ;;
            pendulum) env="--env pendulum" ;;
            esac
            # shellcheck disable=SC2086
            "$dshost" $env $opt --seed $seed --isolation none --pictures no --out run >/dev/null 2>&1
            sed -n "s/.*\"best_loss\": *\([^,]*\).*/$scene $id \1/p" run/summary.json >>losses
            rm -rf run
        done
    done
done

# median SCENE ID
median() {
    awk -v s="$1" -v o="$2" '$1 == s && $2 == o { print $3 }' losses | sort -g |
        awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# below SCENE A B...: A has a lower median than each B.
below() {
    scene=$1 better=$2
    shift 2
    a=$(median "$scene" "$better")
    for worse; do
        b=$(median "$scene" "$worse")
        echo "$a $b" | awk 'NF == 2 && $1 < $2 { good = 1 } END { exit !good }'
        result $? "$scene: $better ($a) is ahead of $worse ($b)"
    done
}

for scene in rugged noisy valley pendulum plateau; do
    for id in cmaes bo boleap; do
        below $scene $id rand
    done
done
for scene in rugged valley pendulum plateau; do
    below $scene randdescents rand
done
below rugged bo randdescents
below noisy cmaes randdescents paper
below noisy bo randdescents boleap paper
below pendulum randdescents cmaes
below pendulum bo cmaes
below pendulum boleap cmaes
below plateau bo randdescents boleap
below plateau boleap randdescents paper
below plateau cmaes randdescents
finish
