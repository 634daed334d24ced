#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A thousand kills: 50 of every optimizer at work, 150 of bench, 100 of landscape; all records equal undisturbed ones.
# usage: kill_every_slow.sh [OPTIMIZER...]; EACH kills of each.
. "$(dirname "$0")/../lib.sh"
: "${EACH:=50}"
here=$(cd "$(dirname "$0")" && pwd)
rl=$DS_TOP_BUILD/tests/plugins/.libs/faulty_rl.so
if [ $# -eq 0 ]; then
    for plugin in "$DS_TOP_BUILD"/plugins/optimizers/*.so; do
        set -- "$@" "$(basename "$plugin" .so)"
    done
fi

# inner NAME SCRIPT VARIABLE=VALUE...: a script of kills as one test.
inner() {
    name=$1
    script=$2
    shift 2
    env "$@" sh "$here/$script" >"$tmp/out" 2>"$tmp/err" && ! grep -q '^not ok' "$tmp/out" && grep -q '^1\.\.' "$tmp/out"
    result $? "$name: $(sed -n 's/.* - \([0-9]* kills\).*/\1/p' "$tmp/out")"
}

for opt in "$@"; do
    case $opt in
        ppo | sac) inner "$opt" kill.sh OPT="$opt" KILLS="$EACH" ENV="$rl" BUDGET=60 LONGEST=500 MORE="--set env.work=0.002" ;;
        lm | pbh) inner "$opt" kill_lm.sh OPT="$opt" KILLS="$EACH" ;;
        *) inner "$opt" kill.sh OPT="$opt" KILLS="$EACH" LONGEST=600 ;;
    esac
done
inner bench ../tools/bench/bench_kill.sh KILLS=$((3 * EACH)) RUNS=10 BUDGET=60 LONGEST=1000 ONLY='*'
inner landscape ../tools/landscape_kill.sh KILLS=$((2 * EACH))
finish
