#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every optimizer that `dshost list` finds: budget N is N evaluations, the box is kept, failing episodes do
# no harm, the record is the same for 1, 2 and 4 jobs, and a run that was killed is resumed exactly. A new
# optimizer is tested without a change here, as long as it works on the environments chosen by scene().
. "$(dirname "$0")/../lib.sh"
: "${BUDGET:=60}" "${KILLS:=1}" "${OPTIMIZERS:=$("$dshost" list --json | tr '}' '\n' |
    sed -n 's/.*"id": "\([^"]*\)", "kind": "optimizer".*/\1/p')}"
DS_PLUGIN_PATH=$DS_TOP_BUILD/plugins
export DS_PLUGIN_PATH
cd "$tmp" || exit 99

# scene ID: the environment of the counting tests; a fifth of its episodes fail. All have bounds of [-2, 2]
# or less.
scene() {
    case $1 in
    apg | ppo | sac | shac) scene="--env pendulum" ;; # stepwise control
    ilqr) scene="--env planar_hand" ;;
    *) scene="--env analytic --set env.function=rugged --set env.dim=4 --set env.fail_rate=0.2" ;;
    esac
}

# cheap ID: settings that keep the optimizer's own work small.
cheap() {
    case $1 in
    bo | boleap | leaprefine | racer) cheap="--set opt.raw=32 --set opt.starts=2" ;;
    turbo) cheap="--set opt.candidates=60" ;;
    sac) cheap="--set opt.hidden=8 --set opt.updates=1 --set opt.batch=16" ;;
    shac) cheap="--set opt.hidden=8 --set opt.critic_hidden=8 --set opt.passes=2" ;;
    *) cheap="" ;;
    esac
}

# sound CSV: N finite rows inside the bounds, the best finite, no NaN anywhere.
sound() {
    awk -F, -v budget="$BUDGET" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^x[0-9]+$/) x[i] = 1; else if ($i == "best_loss") best = i; next }
        /nan/ { bad = 1 }
        { rows++; last = $best; for (i in x) if ($i == "" || $i < -2 || $i > 2) bad = 1 }
        END { exit !(rows == budget && !bad && last != "" && last != "inf") }' "$1"
}

for id in $OPTIMIZERS; do
    scene "$id"
    cheap "$id"
    for jobs in 1 2 4; do
        # shellcheck disable=SC2086
        "$dshost" $scene --opt "$id" $cheap --budget "$BUDGET" --seed 5 --jobs $jobs --pictures no --out "$id$jobs" \
            >out 2>err || echo "jobs $jobs: exit status $?" >>err
    done
    table "$id"1 >table 2>>err && sound table
    result $? "$id: $BUDGET evaluations in the box, a fifth of them failing"
    same "$id: the same record with 2 jobs" "$id"1 "$id"2
    same "$id: the same record with 4 jobs" "$id"1 "$id"4
done

# Killed at some moment, with episodes that take a while.
case $KILLS in
1) work=0.004 ;;
*) work=0.02 ;;
esac
for id in $OPTIMIZERS; do
    cheap "$id"
    env="--env $faulty --set env.n=4 --set env.noise=0.1 --set env.fault=diverge --set env.share=0.2"
    case $id in
    apg | ppo | sac | shac) env="--env pendulum" ;;
    ilqr) env="--env planar_hand" ;;
    esac
    first="$env --opt $id $cheap --budget $BUDGET --seed 3 --pictures no"
    slowly="--set env.work=$work"
    case $env in *faulty*) ;; *) slowly="" ;; esac
    kills=0
    while [ $kills -lt "$KILLS" ]; do
        if [ -f "killed-$id/run.sqlite" ]; then
            "$dshost" resume "killed-$id" >out 2>err &
        else
            # shellcheck disable=SC2086
            "$dshost" $first $slowly --jobs 2 --out "killed-$id" >out 2>err &
        fi
        pid=$!
        kills=$((kills + 1))
        sleep "0.$((1 + (kills * 7 + $$) % 4))"
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
    done
    if [ -f "killed-$id/run.sqlite" ]; then
        run "$dshost" resume "killed-$id"
    else # too early even for the store
        # shellcheck disable=SC2086
        run "$dshost" $first $slowly --jobs 2 --out "killed-$id"
    fi
    # shellcheck disable=SC2086
    run "$dshost" $first --jobs 1 --out "whole-$id"
    [ "$(rows "whole-$id")" -eq "$BUDGET" ]
    result $? "$id: an undisturbed run"
    same "$id: killed and resumed, the same record" "killed-$id" "whole-$id"
done
finish
