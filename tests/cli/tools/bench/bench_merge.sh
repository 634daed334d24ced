#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `dshost merge` with parts that are running, damaged, read-only, from other machines, or of another experiment.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/bench_lib.sh"
cd "$tmp" || exit 99

cat >f.ini <<END
[bench]
envs = sphere@instance=1@dimension=2 bounce
opts = rand some_optimizer_with_a_long_name
runs = 2
[run]
budget = 20
[env sphere@instance=1@dimension=2]
plugin = $DS_TOP_BUILD/plugins/envs/.libs/analytic.so
dim = 2
[opt some_optimizer_with_a_long_name]
plugin = rand
END
"$dshost" bench f.ini --out whole >"$tmp/out" 2>"$tmp/err"
for i in 1 2; do
    "$dshost" bench f.ini --shard $i/2 --out part$i >"$tmp/out" 2>"$tmp/err"
done
[ "$(count part1 done)" = 4 ] && [ "$(count part2 done)" = 4 ]
result $? "two parts"

# ---- damaged, locked ----
run=$(cd part2 && find . -name 'seed-*' -type d | sort | head -n 1)
cp -r part2 broken
head -c 5000 /dev/zero >"broken/$run/run.sqlite"
refuses 6 "1 runs were left out" "a damaged store" "$dshost" merge m1 part1 broken
[ "$(count m1 done)" = 7 ] && grep -q "left out: broken/" "$tmp/err"
result $? "does not keep the others out"
status 0 "the same with a good one" "$dshost" merge m1 part1 part2
same_bench "has all" whole m1
if command -v flock >/dev/null; then
    refuses 75 "1 runs were left out" "a run that is at work" flock "part2/$run/run.lock" "$dshost" merge m2 part1 part2
    [ "$(count m2 done)" = 7 ]
    result $? "does not keep the others out"
    rm -f "part2/$run/run.lock"
    status 0 "and comes later" "$dshost" merge m2 part1 part2
    rm "m2/$run/run.sqlite"
    refuses 75 "1 runs were left out" "a run of the whole that is at work" flock "m2/$run/run.lock" "$dshost" merge m2 part1 part2
    [ "$(count m2 done)" = 7 ] && [ ! -e "m2/$run/run.sqlite" ]
    result $? "keeps its folder"
    rm -f "m2/$run/run.lock"
    status 0 "and is copied later" "$dshost" merge m2 part1 part2
    [ "$(count m2 done)" = 8 ]
    result $? "as a whole"
else
    skip "there is no flock"
fi

# ---- other experiments ----
sed 's/^dim = 2/dim = 3/' f.ini >other.ini
"$dshost" bench other.ini --out other --only 'bounce/rand' >"$tmp/out" 2>"$tmp/err"
before=$(cat other/bench.ini)
bad 3 "are parts of different experiments" merge other part1 part2
[ "$before" = "$(cat other/bench.ini)" ]
result $? "the folder for the whole keeps its experiment"
bad 3 "dim = 2, other/bench.ini:" merge m3 part1 other
sed "s|^plugin = .*/analytic.so|plugin = $tmp/nowhere/analytic.so|; s/^timeout_s = .*/timeout_s = 5/" part1/bench.ini >ini
cp ini part1/bench.ini
status 0 "folders and limits of another machine" "$dshost" merge m4 part1 part2
same_bench "do not matter" whole m4

# ---- drafts ----
printf '[bench]\nenvs = bounce\nopts = rand\nruns = 1\n[run]\nbudget = 5000\n' >large.ini
"$dshost" bench large.ini --out large >"$tmp/out" 2>"$tmp/err"
(ulimit -f 100 && "$dshost" merge m5 large >"$tmp/out" 2>"$tmp/err")
[ $? -ne 0 ] && [ "$(find m5 -name '.seed-*' -type d | wc -l)" -gt 0 ] && [ "$(find m5 -name 'seed-*' -type d | wc -l)" -eq 0 ]
result $? "a copy that is not finished is no run"
status 0 "and is finished by the same command" "$dshost" merge m5 large
[ "$(find m5 -name '.seed-*' | wc -l)" -eq 0 ] && [ "$(count m5 done)" = 1 ]
result $? "which leaves nothing behind"

# ---- read-only ----
cat >read_only.sh <<END
mount --bind part2 part2 && mount -o remount,ro,bind part2 || exit 99
exec "$dshost" merge m6 part2
END
if unshare -rm sh -c 'mount --bind part2 part2' 2>/dev/null; then
    status 0 "a part on a medium that cannot be written" unshare -rm sh ./read_only.sh
    [ "$(count m6 done)" = 4 ]
    result $? "is read"
else
    skip "nothing can be mounted here"
fi
finish
