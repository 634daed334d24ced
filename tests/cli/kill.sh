#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 at random moments, resume, kill again: the record of the finished run equals that of an undisturbed
# one.
# KILLS, OPT and MORE (settings) are set by other versions of this test.
. "$(dirname "$0")/lib.sh"
: "${KILLS:=15}" "${OPT:=rand}" "${ENV:=$faulty}" "${BUDGET:=400}" "${WORK:=0.004}" "${LONGEST:=300}" "${MORE:=}"
seed=$$
cd "$tmp" || exit 99
settings="--seed 3 --budget $BUDGET --pictures no $MORE"
[ "$ENV" = "$faulty" ] && settings="$settings --set env.n=4 --set env.noise=0.1 --set env.fault=segv --set env.share=0.01"

# shellcheck disable=SC2086
start() {
    if [ -f run/run.sqlite ]; then
        "$dshost" resume run >out.log 2>err.log &
    elif [ "$ENV" = "$faulty" ]; then
        "$dshost" --env "$ENV" --opt "$OPT" $settings --set env.work=$WORK --jobs 2 --out run >out.log 2>err.log &
    else
        "$dshost" --env "$ENV" --opt "$OPT" $settings --jobs 2 --out run >out.log 2>err.log &
    fi
    pid=$!
}

kills=0
unfinished=0
bad=0
while [ $kills -lt "$KILLS" ]; do
    start
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    sleep "$(awk -v r=$((seed / 65536)) -v m="$LONGEST" 'BEGIN { printf "%.3f", (r % m) / 1000 + 0.005 }')"
    if kill -9 $pid 2>/dev/null; then
        wait $pid 2>/dev/null
        kills=$((kills + 1))
    else
        wait $pid || { bad=1; cp err.log "$tmp/err"; }
        kills=$((kills + 1))
        [ "$(rows run)" -ge "$BUDGET" ] && "$dshost" resume run --budget "$BUDGET" >/dev/null 2>&1
    fi
done
[ $bad -eq 0 ]
result $? "$KILLS kills"
[ -f run/run.sqlite ] || unfinished=1
[ $unfinished -eq 0 ]
result $? "the store is there"
start
wait $pid
got=$?
cp out.log "$tmp/out"
cp err.log "$tmp/err"
result $got "the last resume finishes the run"
# shellcheck disable=SC2086
if [ "$ENV" = "$faulty" ]; then
    "$dshost" --env "$ENV" --opt "$OPT" $settings --set env.work=0 --jobs 1 --out whole >"$tmp/out" 2>"$tmp/err"
else
    "$dshost" --env "$ENV" --opt "$OPT" $settings --jobs 1 --out whole >"$tmp/out" 2>"$tmp/err"
fi
result $? "an undisturbed run"
same "both records are equal" run whole
[ "$(rows run)" -eq "$BUDGET" ]
result $? "and complete"
finish
