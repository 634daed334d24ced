#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 at random moments, resume, kill again: the record of the finished run equals that of an undisturbed
# one. A run that is finished before its last kill is compared, and the next one begun.
# KILLS, OPT and MORE (settings) are set by other versions of this test.
. "$(dirname "$0")/../lib.sh"
: "${KILLS:=15}" "${OPT:=rand}" "${ENV:=$faulty}" "${BUDGET:=400}" "${WORK:=0.004}" "${LONGEST:=300}" "${MORE:=}"
seed=$$
cd "$tmp" || exit 99
settings="--seed 3 --budget $BUDGET --pictures no $MORE"
work=
if [ "$ENV" = "$faulty" ]; then
    settings="$settings --set env.n=4 --set env.noise=0.1 --set env.fault=segv --set env.share=0.01"
    work="--set env.work=$WORK"
fi

start() {
    if [ -f run/run.sqlite ]; then
        "$dshost" resume run >out.log 2>err.log &
    else
        # shellcheck disable=SC2086
        "$dshost" --env "$ENV" --opt "$OPT" $settings $work --jobs 2 --out run >out.log 2>err.log &
    fi
    pid=$!
}

# The finished run is compared with the undisturbed one.
compare() {
    same "both records are equal" run whole
    [ "$(rows run)" -eq "$BUDGET" ]
    result $? "and complete"
}

# shellcheck disable=SC2086
status 0 "an undisturbed run" "$dshost" --env "$ENV" --opt "$OPT" $settings ${work:+--set env.work=0} --jobs 1 --out whole
kills=0
bad=0
while [ $kills -lt "$KILLS" ] && [ $bad -eq 0 ]; do
    start
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    sleep "$(awk -v r=$((seed / 65536)) -v m="$LONGEST" 'BEGIN { printf "%.3f", (r % m) / 1000 + 0.005 }')"
    kill -9 $pid
    wait $pid 2>/dev/null
    got=$?
    if [ $got -eq 137 ]; then
        kills=$((kills + 1))
    elif [ $got -eq 0 ]; then
        compare
        rm -r run
    else
        bad=1
        cp err.log "$tmp/err"
    fi
done
[ $bad -eq 0 ]
result $? "$kills kills at work"
start
wait $pid
got=$?
cp out.log "$tmp/out"
cp err.log "$tmp/err"
result $got "the last resume finishes the run"
compare
finish
