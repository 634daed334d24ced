#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stepwise control through the host: the same record for every number of jobs and isolation, also when steps
# crash; kill -9 and resume; extension; what cannot be combined.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
faulty_rl=$DS_TOP_BUILD/tests/plugins/.libs/faulty_rl.so

# record DIR: rows, and what episodes add to them.
record() {
    table "$1"
    command -v sqlite3 >/dev/null && sqlite3 "$1/run.sqlite" \
        "select id, key, steps, ended, hex(obs), hex(reward) from episode"
}
equal() { # equal NAME DIR DIR
    record "$2" >"$tmp/a" 2>/dev/null && record "$3" >"$tmp/b" 2>/dev/null && [ -s "$tmp/a" ] && cmp -s "$tmp/a" "$tmp/b"
    result $? "$1"
}
ppo() {
    "$dshost" --env "$faulty_rl" --opt ppo --set opt.episodes=8 --seed 2 --budget 60 --pictures no "$@" >"$tmp/out" 2>"$tmp/err"
}

ppo --jobs 1 --out plain
result $? "a run of 60 episodes"
[ "$(rows plain)" -eq 60 ] && [ "$(table plain | grep -c ,rollout,)" -eq 60 ]
result $? "is 60 rows"
for k in 2 3; do
    ppo --jobs $k --out plain$k
    equal "jobs = 1 and $k give the same record" plain plain$k
done
ppo --isolation none --out local
equal "with and without isolation the same record" plain local

# ---- faults: each costs one episode and leaves the other lanes of its worker alone ----
for fault in segv diverge nan error early unknown long cut; do
    ppo --jobs 1 --set env.fault=$fault --out $fault
    result $? "$fault: the run ends well"
    ppo --jobs 3 --set env.fault=$fault --out $fault-3
    equal "$fault: jobs = 1 and 3 give the same record" $fault $fault-3
    case $fault in
    segv) word=crashed ;;
    diverge) word=diverged ;;
    nan | unknown | long | cut) word=invalid ;;
    error) word=error ;;
    early) word= ;;
    esac
    if [ -n "$word" ]; then
        count=$(table $fault | grep -c ",$word,")
        [ "$count" -ge 3 ] && [ "$count" -le 30 ] && [ "$(rows $fault)" -eq 60 ]
        result $? "$fault: some episodes are '$word', all count"
    fi
done
grep -q "DS_STEPS_TRUNCATED at the horizon, but info() lacks DS_STEPS_TIME_LIMIT" "$tmp/err"
result $? "an episode that is cut where its horizon is a part of the task: the line says so"
ppo --jobs 2 --set env.fault=cut --set env.limit=true --out limit-cut
[ $? -eq 0 ] && ! table limit-cut | grep -q ",invalid,"
result $? "... and is none where it is a time limit"
ppo --jobs 2 --budget 16 --timeout-s 0.3 --set env.fault=loop --set env.share=0.3 --out loop
[ $? -eq 0 ] && table loop | grep -q ",timeout,"
result $? "a step that hangs costs its episode"
ppo --jobs 2 --set env.fault=segv --set env.share=1 --out all
[ $? -eq 5 ] && grep -q "evaluations failed" "$tmp/err"
result $? "a run in which all fail ends with status 5"

# ---- kill -9, resume, extension ----
for opt in "ppo --set opt.episodes=8" "sac --set opt.hidden=16,16 --set opt.batch=32"; do
    which=${opt%% *}
    # shellcheck disable=SC2086
    set -- --env "$faulty_rl" --set env.limit=true --opt $opt --seed 4 --budget 50 --pictures no
    "$dshost" "$@" --set env.work=0.001 --jobs 2 --out "$which-kill" >/dev/null 2>&1 &
    pid=$!
    for wait in 0.35 0.3 0.25; do
        sleep $wait
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        "$dshost" resume "$which-kill" >/dev/null 2>&1 &
        pid=$!
    done
    wait $pid
    status 0 "$which: killed three times and resumed" "$dshost" resume "$which-kill"
    "$dshost" "$@" --jobs 1 --out "$which-whole" >/dev/null 2>&1
    equal "$which: equal to an undisturbed run" "$which-kill" "$which-whole"
    status 0 "$which: extended" "$dshost" resume "$which-whole" --budget 70
    [ "$(rows "$which-whole")" -eq 70 ]
    result $? "$which: to 70 episodes"
done
"$dshost" --env "$faulty_rl" --set env.limit=true --opt sac --set opt.hidden=16,16 --set opt.batch=32 \
    --seed 4 --budget 70 --pictures no --out direct >/dev/null 2>&1
equal "sac: 50 extended to 70 equals 70" sac-whole direct

# Lanes that were free when the budget was used up could not begin, and what was learned of the others is in the record:
# an extended run goes the same way, again and again.
"$dshost" --env "$faulty_rl" --set env.limit=true --opt ppo --set opt.n_steps=5 --set opt.envs=7 --seed 4 --budget 17 \
    --pictures no --jobs 2 --out ppo-lanes >/dev/null 2>&1
cp -r ppo-lanes ppo-again
for budget in 29 40 64; do
    status 0 "ppo: free lanes at the end of the budget: extended to $budget" "$dshost" resume ppo-lanes --budget $budget
    "$dshost" resume ppo-again --budget $budget --jobs 1 >/dev/null 2>&1
done
equal "ppo: the same way twice" ppo-lanes ppo-again
[ "$(rows ppo-lanes)" -eq 64 ]
result $? "ppo: to 64 episodes"

# ---- how episodes ended: in the record, in that of a dshost before 0.2, and to the optimizer ----
ends() { # ends DIR: how many episodes ended how
    sqlite3 "$1/run.sqlite" "select ended, count(*) from episode group by ended" | tr '\n' ' '
}
if command -v sqlite3 >/dev/null; then
    [ "$(ends plain)" = "1|60 " ] && [ "$(ends sac-whole)" = "2|70 " ]
    result $? "episodes of 12 steps: terminated, and truncated where these are a time limit"
    for which in ppo sac; do
        case $which in
        ppo) set -- --opt ppo --set opt.episodes=8 ;;
        sac) set -- --opt sac --set opt.hidden=16,16 --set opt.batch=32 ;;
        esac
        set -- --env "$faulty_rl" --set env.limit=true "$@" --seed 4 --pictures no
        "$dshost" "$@" --budget 30 --out "$which-old" >/dev/null 2>&1
        "$dshost" "$@" --budget 40 --out "$which-new" >/dev/null 2>&1
        old_format "$which-old"
        sqlite3 "$which-old/run.sqlite" "create table old as select id, key, steps, obs, reward from episode;
            drop table episode; alter table old rename to episode"
        status 0 "$which: a record without \`ended\` is extended" "$dshost" resume "$which-old" --budget 40
        [ "$(ends "$which-old")" = "|30 2|10 " ]
        result $? "$which: what is new says how it ended"
    done
    sqlite3 sac-old/run.sqlite "update episode set ended = 2 where ended is null"
    reports=no
    equal "sac: the episodes before count as truncated, as they do at the horizon" sac-old sac-new
    sqlite3 sac-new/run.sqlite "update episode set ended = 3 where id = 7"
    refuses 6 "damaged: episode 7 " "another value than these is damage" \
        "$dshost" resume sac-new --budget 41
else
    skip "how episodes ended: no sqlite3"
fi

# ---- the best episode is what evaluate() gives ----
"$dshost" --env pendulum --set env.variant=gym --set env.start=random --opt ppo --set opt.episodes=5 --budget 10 --out pictures \
    >/dev/null 2>&1
[ -s pictures/best.png ] && [ -s pictures/convergence.png ]
result $? "pictures of the best episode"
refuses 4 "sac needs stepwise control, which analytic does not have; use" "no stepwise control, one line" \
    "$dshost" --env analytic --opt sac --budget 10 --out none
refuses 4 "analytic does not have" "the same for ppo" "$dshost" --env analytic --opt ppo --budget 10 --out none
"$dshost" list >"$tmp/out" 2>&1
stepwise=$(grep -c "\[stepwise control\]$" "$tmp/out")
[ "$stepwise" -ge 17 ] && grep -q "^  sac .*\[needs stepwise control\]$" "$tmp/out"
result $? "dshost list says what offers and needs it"
"$dshost" doctor >"$tmp/out" 2>&1
grep -q "^plugins_with_rl  *$stepwise$" "$tmp/out"
result $? "dshost doctor counts them"
for env in swing realtosim pinball bounce smoke gear; do
    refuses 4 "$env does not have" "$env has no actions, ppo says so" "$dshost" --env $env --opt ppo --budget 10 --out none
done

# ---- whole scenes ----
for env in flip torus fluid; do
    case $env in
    flip) set -- --set env.duration=0.3 ;;
    *) set -- --set env.preset=small ;;
    esac
    for how in "--jobs 1 --isolation none" "--jobs 2"; do
        # shellcheck disable=SC2086
        "$dshost" --env $env "$@" --opt ppo --set opt.envs=3 --set opt.episodes=6 --budget 8 --seed 5 --pictures no $how \
            --out "$env-${how##* }" >/dev/null 2>&1
    done
    equal "$env: one process and two workers give the same record" "$env-none" "$env-2"
    "$dshost" export "$env-2" --format jsonl --out - | sed -n 3p >row
    sed 's/.*"x": *\[\([^]]*\)\].*/\1/' row | tr ',' '\n' >x.txt
    loss=$(sed 's/.*"loss": *\([^,}]*\).*/\1/' row)
    "$dshost" eval --env $env "$@" --x x.txt --json >"$tmp/out" 2>"$tmp/err"
    grep -qF "\"loss\": $loss," "$tmp/out"
    result $? "$env: an episode has the loss of its actions"
done
status 0 "the test environment passes the kit" "$dshost" check "$faulty_rl" --only rl,inst.ext,eval.points
finish
