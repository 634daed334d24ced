#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# landscape_kill.sh - kill -9 at random moments, resume, kill again: the record and the files of the
# landscape equal those of an undisturbed one.
. "$(dirname "$0")/../lib.sh"
: "${KILLS:=12}"
cd "$tmp" || exit 99
settings="--env $faulty --seed 3 --set env.n=4 --set env.fault=segv --set env.share=0.01 --grid 15x15 --samples 30 --jumps 10"
settings="$settings --pictures no"
seed=$$

start() {
    if [ -f map/landscape.sqlite ]; then
        "$dshost" resume map > out.log 2> err.log &
    else
        # shellcheck disable=SC2086
        "$dshost" landscape $settings --set env.work=0.003 --jobs 2 --out map > out.log 2> err.log &
    fi
    pid=$!
}

kills=0
bad=0
while [ $kills -lt "$KILLS" ] && [ $bad -eq 0 ]; do
    start
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    sleep "$(awk -v r=$((seed / 65536)) 'BEGIN { printf "%.3f", (r % 250) / 1000 + 0.005 }')"
    kill -9 $pid
    wait $pid 2> /dev/null
    case $? in
    137) kills=$((kills + 1)) ;;
    0) rm -r map ;; # it was faster: another one
    *) bad=1 ;;
    esac
done
result $bad "$kills kills"
start
wait $pid
got=$?
cp out.log "$tmp/out"
cp err.log "$tmp/err"
result $got "the last resume finishes the landscape"
# shellcheck disable=SC2086
status 0 "an undisturbed one" "$dshost" landscape $settings --jobs 1 --out whole
same "both records are equal" map whole
for f in grid.csv samples.csv landscape.npz center.npy; do
    cmp -s map/$f whole/$f
    result $? "$f is equal"
done
strip() { # the summary without times and folder
    grep -v '"wall_s"\|"evaluation_s"\|"folder"' "$1/summary.json"
}
strip map > one
strip whole > two
cmp -s one two
result $? "summary.json is equal but for times"

# After a signal everything is saved, and the status reports the signal.
# shellcheck disable=SC2086
"$dshost" landscape $settings --set env.work=0.01 --jobs 1 --out stopped > out.log 2> err.log &
pid=$!
sleep 0.5
kill -TERM $pid
wait $pid
got=$?
[ $got -eq 143 ] && grep -q 'continue with: dshost resume stopped' err.log
result $? "SIGTERM: status 143 and how to go on"
finish
