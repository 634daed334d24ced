#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 of a bench at random moments: repeating the command, which is killed again, finally gives the records of an
# undisturbed bench. The slow version of this test sets RUNS, BUDGET, KILLS and ONLY.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/bench_lib.sh"
: "${RUNS:=2}" "${BUDGET:=30}" "${KILLS:=5}" "${LONGEST:=1200}" "${ONLY:=*/cmaes */adam */small}"
cd "$tmp" || exit 99
seed=$$
cheap all.ini "$RUNS" "$BUDGET"
status 0 "the undisturbed bench" "$dshost" bench all.ini --only "$ONLY" --jobs 2 --out whole
kills=0
whole_benches=0
bad=0
while [ $kills -lt "$KILLS" ]; do
    "$dshost" bench all.ini --only "$ONLY" --jobs 2 --out run >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    sleep "$(awk -v r=$((seed / 65536)) -v m="$LONGEST" 'BEGIN { printf "%.3f", (r % m) / 1000 + 0.01 }')"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    case $? in
    137) kills=$((kills + 1)) ;;
    0) # It was faster: another one, which is killed, too.
        whole_benches=$((whole_benches + 1))
        rm -rf run
        ;;
    *)
        bad=1
        break
        ;;
    esac
done
echo "# $whole_benches finished in between"
result $bad "$KILLS kills"
status 0 "the last start finishes it" "$dshost" bench all.ini --only "$ONLY" --jobs 2 --out run
sed -n 's/^dshost: \([0-9]* runs in .*\)/# \1/p' "$tmp/err" | head -n 1
same_bench "the records are those of the undisturbed bench" whole run
grep -v wall_s whole/bench.json | grep -v '"name": "whole"' >one
grep -v wall_s run/bench.json | grep -v '"name": "run"' >two
cmp -s one two
result $? "and so is bench.json"
[ "$(find run -name '*.log' | wc -l)" -eq 0 ]
result $? "no run failed"
finish
