#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The progress line on terminals of all widths, and the tables at the end of several runs.
. "$(dirname "$0")/../../lib.sh"
cd "$tmp" || exit 99

# on_terminal COLUMNS COMMAND: runs it on a terminal of that width and writes every state of the progress line as a line
# to $tmp/shown.
on_terminal() {
    TERM=xterm script -qec "stty cols $1; $2" /dev/null </dev/null 2>"$tmp/err" | tr -d '\n' | tr '\r' '\n' | sed 's/\x1b\[K//g' >"$tmp/shown"
}
# The lines of a current run, at their full length.
whole='^\(faulty cmaes seed 4242: \)\{0,1\}[0-9]*/30000\(, best \(loss \)\{0,1\}[0-9.e+-]*\)\{0,1\}\(, \([0-9.]*\(\/s\| evaluations\/s\)\|first evaluations running\)\)\{0,1\}, \([0-9:]*\(s\|h\|d\)\{0,1\}\|[0-9a-z :]*\|?\) left$'
if ! command -v script >/dev/null || ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    skip "there is no script(1) that makes terminals"
    finish
    exit 0
fi
search="'$dshost' --env '$faulty' --set env.work=0.001 --opt cmaes --seed 4242 --budget 30000 --seconds 1.2 --pictures no"
for columns in 40 80 200; do
    on_terminal $columns "$search --out w$columns"
    grep '/30000' "$tmp/shown" >"$tmp/out"
    [ "$(wc -l <"$tmp/out")" -ge 1 ] && [ "$(awk -v n=$columns 'length($0) >= n' "$tmp/out" | wc -l)" -eq 0 ]
    result $? "$columns columns: lines that fit"
    [ "$(grep -vc "$whole" "$tmp/out")" -eq 0 ]
    result $? "$columns columns: nothing is cut, and the time that is left is there"
done
grep -q '^faulty cmaes seed 4242: .* evaluations/s' "$tmp/out"
result $? "200 columns have room for all"
on_terminal 200 "COLUMNS=50 $search --out told"
[ "$(grep '/30000' "$tmp/shown" | awk 'length($0) >= 50' | wc -l)" -eq 0 ] && grep -q '/30000' "$tmp/shown"
result $? "COLUMNS says less than the terminal"
on_terminal 200 "(until [ -s narrow/run.sqlite ]; do sleep 0.1; done; sleep 0.8; stty cols 42 </dev/tty) & $(echo "$search" | sed 's/1.2/2.5/') --out narrow"
grep '/30000' "$tmp/shown" >"$tmp/out"
[ "$(tail -n 1 "$tmp/out" | awk 'length($0) < 42' | wc -l)" -eq 1 ] && [ "$(head -n 1 "$tmp/out" | awk 'length($0) >= 42' | wc -l)" -eq 1 ]
result $? "a terminal that gets narrower"
eval "$search --out plain" >"$tmp/out" 2>"$tmp/err" </dev/null
[ "$(grep -c '^dshost: faulty cmaes seed 4242: [0-9]*/30000' "$tmp/err")" -eq 1 ] && ! grep -q "$(printf '\r')" "$tmp/err"
result $? "no terminal: a plain line now and then"

# ---- several runs ----
status 0 "three runs" "$dshost" --env analytic --opt rand --runs 3 --budget 20 --pictures no --out 'a b'
[ "$(cat "$tmp/out")" = 'a b' ]
result $? "print their folder"
# Median and quartiles from the summaries.
for s in 0 1 2; do
    sed -n 's/.*"best_loss": \([^,]*\),/\1/p' "a b/seed-$s/summary.json"
done | sort -g | awk '{ v[NR] = $1 } END { printf "%.5g %.5g %.5g .. %.5g", v[1], v[2], (v[1] + v[2]) / 2, (v[2] + v[3]) / 2 }' >want
sed -n 's/^dshost:   analytic  *rand  */ /p' "$tmp/err" | awk '{ printf "%s %s %s %s %s", $2, $3, $4, $5, $6 }' >got
[ -s want ] && cmp -s want got
result $? "end with best, median and quartiles"
grep -q "dshost report 'a b'" "$tmp/err"
result $? "and say how to see more"
status 0 "one run" "$dshost" --env analytic --opt rand --budget 20 --pictures no --out one
! grep -q 'dshost report' "$tmp/err"
result $? "has no table"
run "$dshost" --env "$faulty" --set env.fault=error --set env.share=1 --set run.max_failed=0.5 --opt rand --runs 2 --budget 300 --pictures no --out bad
grep -q 'faulty  *rand  *0 of 2  *-  *-  *-  .* 2$' "$tmp/err"
result $? "runs that failed are counted"
cat >two.ini <<'INI'
[bench]
envs = analytic pendulum
opts = rand cmaes
runs = 2
[run]
budget = 30
INI
status 0 "an experiment" "$dshost" bench two.ini --out two
[ "$(cat "$tmp/out")" = two ] && [ "$(grep -c '^dshost:   \(analytic\|pendulum\)  *\(rand\|cmaes\)  *2  ' "$tmp/err")" -eq 4 ] &&
    grep -q 'dshost report two' "$tmp/err"
result $? "ends with a table of its cells"
[ "$(sed -n 's/^dshost:   analytic  *[a-z]*  *2  *[^ ]*  *\([^ ]*\) .*/\1/p' "$tmp/err" | sort -gc 2>&1)" = "" ]
result $? "the best first"
cat >long.ini <<'INI'
[bench]
envs = a_long_name_of_an_env_that_ends
opts = rand
runs = 2
[run]
budget = 20
[env a_long_name_of_an_env_that_ends]
plugin = analytic
[sweep env a_long_name_of_an_env_that_ends]
dim = 2 | 3
INI
status 0 "environments with long names that differ at their ends" "$dshost" bench long.ini --out long
grep -q '^dshost:   a_long_name_o..at_ends@dim=2  rand ' "$tmp/err" && grep -q '^dshost:   a_long_name_o..at_ends@dim=3  rand ' "$tmp/err"
result $? "are told apart in the table"
finish
