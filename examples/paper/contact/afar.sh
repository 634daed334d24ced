#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Searches from starts without contact, where the exact gradient is zero: what do a term for proximity, a softened contact
# and a gradient at a distance help? Adam with each of them, with exact gradients, and CMA-ES. Where a descent has ended
# (no gradient; 60 steps on pinball) the next one begins anywhere. Every best point is judged by the loss of the task, with
# hard contact and without such a term.
#
#     examples/paper/contact/afar.sh                            all, in results/afar: about 15 CPU minutes
#     examples/paper/contact/afar.sh --small                    3 starts, short searches: a minute
#     examples/paper/contact/afar.sh results/x push_far         one system, into another folder
#
# Prints, for each system and method, how many of the 20 starts got below the mark (95 % interval of Wilson), and the median
# loss of the task. The same command again goes on where it was.
. "$(dirname "$0")/../dshost.sh"
starts=20 small=
if [ "${1-}" = --small ]; then
    starts=3 small=1
    shift
fi
out=${1-results/afar$small}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- push_far pinball pinch torus

# Sets env, its settings for the task, budget, the longest descent, the loss that counts as success, and the methods: name:optimizer:settings.
settings() {
    case $1 in
    push_far)
        env=push_far task="start=0,3,0,0 target=4 limit=4" budget=300 longest=300 mark=0.01
        methods="exact:adam: hard:adam:contact_loss=1 soft:adam:contact_loss=1+proximity=soft softplus:adam:softness=softplus
            barrier:adam:softness=barrier+width=0.01 gaussian:adam:softness=gaussian distance:adam:contact_grad=distance cmaes:cmaes:"
        ;;
    pinball)
        env=pinball task="start=4,9.5 half_length=1.9" budget=300 longest=60 mark=0.5
        methods="exact:adam: hard:adam:contact_loss=1 soft:adam:contact_loss=1+proximity=soft softplus:adam:softness=softplus
            barrier:adam:softness=barrier+softness_width=0.01 gaussian:adam:softness=gaussian distance:adam:contact_grad=distance cmaes:cmaes:"
        ;;
    pinch | torus)
        env=$1 task="preset=small steps=20 precision=f32 weight_contact=0" budget=50 longest=50
        mark=$([ "$1" = pinch ] && echo 2.75 || echo 4.7)
        methods="exact:adam: hard:adam:weight_contact=40+contact=hard soft:adam:weight_contact=40 cmaes:cmaes:"
        ;;
    *)
        echo "afar.sh: $1: expected push_far, pinball, pinch or torus" >&2
        exit 2
        ;;
    esac
    [ -z "$small" ] || budget=20
}

# flags SETTINGS...: as --set env.KEY=VALUE
flags() {
    for setting in $(echo "$*" | tr '+' ' '); do
        printf ' --set env.%s' "$setting"
    done
}

# The number called $1, and the numbers of x, of the JSON on stdin.
number() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"; }
numbers() { sed -n 's/.*"x": \[\([^]]*\)\].*/\1/p' | tr -d ' '; }

# search FOLDER OPTIMIZER SEED BUDGET SETTINGS...: a run, unless it is there
search() {
    folder=$1 opt=$2 seed=$3 evaluations=$4
    shift 4
    [ "$opt" != adam ] || set -- "$@" --set opt.j="$longest" --set opt.patience="$longest" --set opt.lr=0.05
    [ -f "$folder/summary.json" ] || "$dshost" run --env $env "$@" --opt "$opt" --seed "$seed" --budget "$evaluations" \
        --pictures false --isolation none --out "$folder" > /dev/null 2> "$out/errors" || { cat "$out/errors" >&2; exit 1; }
}

# apart SEED: does the search of this seed begin without contact?
apart() {
    # shellcheck disable=SC2046
    search "$out/$system/first/seed-$1" adam "$1" 1 $(flags "$task")
    "$dshost" eval --x "$out/$system/first/seed-$1" --gradient --json > "$out/$system/first.json" || exit 1
    sed -n 's/.*"gradient": \[\([^]]*\)\].*/\1/p' "$out/$system/first.json" | grep -q '[1-9]' && return 1
    return 0
}

# judged FOLDER: the loss of the task at the best point of a run
judged() {
    if [ ! -f "$1/task" ]; then
        "$dshost" eval --x "$1" --json | numbers > "$1/x.txt"
        # shellcheck disable=SC2046
        "$dshost" eval --env $env $(flags "$task") --x "$1/x.txt" --json | number loss > "$1/task"
    fi
    cat "$1/task"
}

mkdir -p "$out"
printf '%-10s %-9s %-24s %s\n' system method "below the mark" "median loss of the task"
for system in "$@"; do
    settings "$system"
    seeds= count=0 seed=1000
    while [ $count -lt $starts ]; do
        if apart $seed; then
            seeds="$seeds $seed" count=$((count + 1))
        fi
        seed=$((seed + 1))
    done
    for method in $methods; do
        name=${method%%:*} rest=${method#*:}
        for seed in $seeds; do
            # shellcheck disable=SC2046
            search "$out/$system/$name/seed-$seed" "${rest%%:*}" "$seed" "$budget" $(flags "$task" "${rest#*:}")
            judged "$out/$system/$name/seed-$seed"
        done | sort -g | awk -v mark="$mark" -v task="$system" -v name="$name" '
            { loss[NR] = $1; won += $1 < mark }
            END {
                z = 1.96; p = won / NR; centre = (p + z * z / (2 * NR)) / (1 + z * z / NR)
                half = z / (1 + z * z / NR) * sqrt(p * (1 - p) / NR + z * z / (4 * NR * NR))
                low = centre > half ? centre - half : 0; high = centre + half < 1 ? centre + half : 1
                printf "%-10s %-9s %2d of %d (%.2f to %.2f)    %.3g\n", task, name, won, NR, low, high,
                    NR % 2 ? loss[(NR + 1) / 2] : (loss[NR / 2] + loss[NR / 2 + 1]) / 2
            }'
    done
done
