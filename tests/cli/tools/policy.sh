#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# policy.sh - the policy learned by ppo and sac is in the run's folder, is the same for every way to run and after
# kill -9 and resume, and can be played with other parameters, starts and noise; other optimizers save files in the
# same way; and every error of a user or an author gives one line.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
faulty_rl=$DS_TOP_BUILD/tests/plugins/.libs/faulty_rl.so
saver=$DS_TOP_BUILD/tests/plugins/.libs/saver.so

# flags OPT: flags of a short run that saves a policy, that of its best trial; episodes of 12 steps of 2 ms.
flags() {
    case $1 in
    ppo) more="--set opt.episodes=8" ;;
    sac) more="--set opt.hidden=16,16 --set opt.batch=32 --set opt.updates=1" ;;
    esac
    echo "--env $faulty_rl --set env.limit=true --set env.work=0.002 --opt $1 $more --set opt.evaluate_every=10
        --set opt.evaluate_episodes=2 --seed 4 --budget 30 --pictures no"
}
# shellcheck disable=SC2046
learn() { # learn OPT FOLDER FLAGS...
    opt=$1
    out=$2
    shift 2
    "$dshost" run $(flags "$opt") --out "$out" "$@" >out 2>err
}
equal() { # equal NAME FOLDER FOLDER: the policies are.
    [ -s "$2/policy.npz" ] && cmp "$2/policy.npz" "$3/policy.npz" >out 2>err &&
        cmp "$2/policy_best.npz" "$3/policy_best.npz" >>out 2>>err
    result $? "$1"
}

wait_rows() { # wait_rows FOLDER COUNT: until the run there, process $pid, has recorded so many.
    while [ "$(rows "$1")" -lt "$2" ] && kill -0 $pid 2>/dev/null; do
        sleep 0.02
    done
}

# ---- the same policy in every way to run ----
for opt in ppo sac; do
    learn $opt $opt
    result $? "$opt: a run of 30 episodes"
    grep -A3 '"files"' $opt/summary.json >out 2>err
    grep -q '"policy.npz"' out && grep -q '"policy_best.npz"' out
    result $? "$opt: summary.json names policy.npz and policy_best.npz"
    learn $opt $opt-2 --jobs 2 --isolate-optimizer true
    equal "$opt: --jobs 2, in a process of its own: the same files" $opt $opt-2
    learn $opt $opt-3 --isolation none --isolate-optimizer false
    equal "$opt: all in one process: the same files" $opt $opt-3
done
learn ppo ppo-portable --portable
"$dshost" eval --policy ppo-portable --json >out 2>err && [ -s ppo-portable/policy.npz ]
result $? "portable mode leaves a policy, which runs"

# ---- kill -9 and resume; Ctrl-C ----
for how in "ppo true 2" "sac false 1"; do
    # shellcheck disable=SC2086
    set -- $how
    opt=$1
    # shellcheck disable=SC2046
    "$dshost" run $(flags "$opt") --isolate-optimizer "$2" --jobs "$3" --out "$opt-kill" >out 2>err &
    pid=$!
    while [ ! -e "$opt-kill/run.sqlite" ] && kill -0 $pid 2>/dev/null; do
        sleep 0.02
    done
    sleep 0.2
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    killed=$(rows "$opt-kill")
    "$dshost" resume "$opt-kill" >out 2>err
    [ $? -eq 0 ] && [ "$killed" -lt 30 ]
    result $? "$opt: killed after $killed of 30 episodes and resumed"
    equal "$opt: the same files as those of a whole run" "$opt" "$opt-kill"
done
# shellcheck disable=SC2046
"$dshost" run $(flags sac) --set env.work=0.02 --out stopped >out 2>err &
pid=$!
wait_rows stopped 2
kill -INT $pid
wait $pid
is=$?
[ $is -eq 130 ] && "$dshost" eval --policy stopped >out 2>err && grep -q '^policy .*: sac .* after [1-9]' out
result $? "a run stopped by Ctrl-C leaves the policy so far (status $is)"

# ---- playing a policy ----
"$dshost" run --env cartpole_gym --set env.start=random --opt ppo --budget 120 --pictures no --out gym >out 2>err
result $? "cartpole_gym with ppo"
good "eval --policy" eval --policy gym
has "policy    gym/policy.npz: ppo " "says what it runs"
good "a single file, elsewhere" eval --policy gym/policy.npz --json
cp out one.json
mkdir -p elsewhere && cp gym/policy.npz elsewhere/mine.npz
good "... brings its environment along" eval --policy elsewhere/mine.npz --json
sed 's/"[^"]*npz"/FILE/; s/"wall_s": [^,}]*//' one.json >a
sed 's/"[^"]*npz"/FILE/; s/"wall_s": [^,}]*//' out >b
cmp -s a b
result $? "... with the same answer as in the run's folder"
good "several starts" eval --policy gym --seeds 0..9
[ "$(grep -c ' ok ' out)" -eq 10 ] && grep -q '^10 episodes, 0 failed$' out && grep -q '^loss  *mean .*standard deviation' out
result $? "a row for each, mean and spread"
[ "$(grep ' ok ' out | awk '{ print $3 }' | sort -u | wc -l)" -gt 1 ] || [ "$(grep -c ' 500 ' out)" -eq 10 ]
result $? "other starts end otherwise, or all hold the pole to the end"
cp out first
good "the same again" eval --policy gym --seeds 0..9
cmp -s first out
result $? "gives the same"
good "drawn actions" eval --policy gym --seeds 7 --stochastic --json
cp out first
good "the same seed" eval --policy gym --seeds 7 --stochastic --json
sed 's/"wall_s": [^,}]*//' first >a
sed 's/"wall_s": [^,}]*//' out >b
cmp -s a b
result $? "draws the same"
good "another seed" eval --policy gym --seeds 8 --stochastic --json
sed 's/"wall_s": [^,}]*//' out >b
! cmp -s a b
result $? "draws others"
good "another parameter of the environment" eval --policy gym --set env.steps=50 --set env.start=fixed --set env.theta0=0.1 --json
good "as a table in JSON" eval --policy gym --seeds 1,3 --json
has '"seed": 3' "with its seeds"
good "seeds by two flags" eval --policy gym --seeds 1 --seeds 3..4 --json
has '"seed": 4,' "are all of them"
good "large seeds" eval --policy gym --seeds 18446744073709551614..18446744073709551615 --json
has '"seed": "18446744073709551615"' "are texts"
good "all that eval does with a point" eval --policy gym --seeds 2 --metrics --trajectory t.npz --picture p.png
[ -s t.npz ] && [ -s p.png ]
result $? "frames and a picture"

# An episode defines a point: the loss of its actions equals that in the table of episodes.
good "one of the episodes" eval --policy gym --seeds 5 --json
loss=$(sed 's/.*"loss": \([^,]*\),.*/\1/' out)
good "the same in a table" eval --policy gym --seeds 5,6 --json
[ -n "$loss" ] && grep -q "\"seed\": 5,[^}]*\"loss\": $loss[,}]" out
result $? "has the same loss, $loss"

# ---- errors of users ----
bad 3 "gym/policy.npz: a policy for cartpole_gym, not for pendulum" eval --env pendulum --policy gym
"$dshost" run --env analytic --opt rand --budget 5 --pictures no --out none >out 2>err
bad 3 "none: the run has no policy" eval --policy none
bad 3 "absent.npz: cannot open" eval --policy absent.npz
bad 3 "t.npz: not a policy that can be used: it has no array 'format'" eval --policy t.npz
bad 3 "gym/run.ini: not an .npz file, or damaged" eval --policy gym/run.ini
head -c 9000 gym/policy.npz >cut.npz
bad 3 "cut.npz: not an .npz file, or damaged" eval --policy cut.npz
bad 2 "--seeds 5..2: expected" eval --policy gym --seeds 5..2
bad 2 "--seeds a: expected" eval --policy gym --seeds a
bad 2 "--seeds 0..999999999: expected" eval --policy gym --seeds 0..999999999
bad 2 "--seeds needs --policy" eval --env cartpole --seeds 3
bad 2 "--stochastic needs --policy" eval --env cartpole --stochastic
bad 2 "--x and --policy both define x" eval --policy gym --x start
bad 2 "several episodes print a table" eval --policy gym --seeds 1,2 --gradient
"$dshost" run --env cartpole --opt ppo --budget 3 --pictures no --out pole >out 2>err
bad 2 "has no noise with these parameters" eval --policy pole --seeds 1,2
bad 3 "unknown parameter 'nothing'" eval --policy gym --set env.nothing=1
command -v python3 >/dev/null && python3 - gym/policy.npz <<'PY'
import sys, zipfile
whole = zipfile.ZipFile(sys.argv[1])
arrays = {n: whole.read(n) for n in whole.namelist()}
def write(path, arrays, method):
    with zipfile.ZipFile(path, "w", method) as z:
        for name, data in arrays.items():
            z.writestr(name, data)
write("packed.npz", arrays, zipfile.ZIP_DEFLATED)
write("less.npz", {n: d for n, d in arrays.items() if n != "weight_1.npy"}, zipfile.ZIP_STORED)
nan = dict(arrays)
nan["bias_0.npy"] = nan["bias_0.npy"][:128] + b"\x00\x00\xc0\x7f" + nan["bias_0.npy"][132:]
write("nan.npz", nan, zipfile.ZIP_STORED)
PY
if [ -s nan.npz ]; then
    good "an archive that others have packed" eval --policy packed.npz
    bad 3 "less.npz: weight_1: the file has no such array" eval --policy less.npz
    bad 3 "nan.npz: bias_0: element 0 is nan" eval --policy nan.npz
else
    skip "archives of others: no python3"
fi

# ---- files of other optimizers ----
saves() { # saves FOLDER FLAGS...
    out=$1
    shift
    "$dshost" run --env analytic --opt "$saver" --seed 3 --budget 60 --pictures no --out "$out" "$@" >out 2>err
}
for apart in true false; do
    saves files-$apart --isolate-optimizer $apart
    [ $? -eq 0 ] && grep -q '^60 .* analytic 1$' files-$apart/state.txt && [ -s files-$apart/settings.npz ] &&
        [ -f files-$apart/empty ] && [ ! -s files-$apart/empty ]
    result $? "an optimizer of somebody else leaves files (isolate_optimizer = $apart)"
    [ -z "$(find files-$apart -name '.tmp*')" ]
    result $? "... and nothing else"
done
cmp -s files-true/state.txt files-false/state.txt && cmp -s files-true/settings.npz files-false/settings.npz
result $? "they are the same"
sed -n '/"files"/,/]/p' files-true/summary.json | tr -d ' \n' >out
has '"files":["state.txt","settings.npz","empty"]' "summary.json names them"

# A killed run resumes: while it replays its record, an old file does not replace a newer one.
"$dshost" run --env analytic --opt "$saver" --seed 3 --budget 60 --pictures no --out replay --set opt.wait=0.03 \
    --set opt.watch="$tmp/replay/state.txt" >out 2>err &
pid=$!
while ! grep -q '^[2-5]0 ' replay/state.txt 2>/dev/null && kill -0 $pid 2>/dev/null; do
    sleep 0.02
done
kill -9 $pid
wait $pid 2>/dev/null
before=$(cut -d' ' -f1 replay/state.txt)
[ "$before" -ge 20 ] && [ "$before" -lt 60 ]
result $? "killed with $before in its file"
status 0 "resumed" "$dshost" resume replay
sed -n 's/.*at \([0-9]*\) there is \([0-9]*\).*/\1 \2/p' err >seen
[ "$(wc -l <seen)" -eq 6 ] && awk -v most="$before" '{ if ($2 < most) { exit 1 } most = $2 }' seen
result $? "its file was never an older one on the way"
cut -d' ' -f2- replay/state.txt >a
cut -d' ' -f2- files-true/state.txt >b
cmp -s a b
result $? "and is the one of a whole run at the end"

# ---- errors of authors ----
wrong() { # wrong FAULT TEXT ISOLATED...: the run ends with one line.
    text=$2
    fault=$1
    shift 2
    for apart in "$@"; do
        saves "$fault-$apart" --isolate-optimizer "$apart" --set opt.fault="$fault"
        is=$?
        [ $is -eq 4 ] && grep -qF -- "saver: breaks the contract of save(): $text" err &&
            [ "$(rows "$fault-$apart")" -eq 60 ] && [ "$(grep -c '^dshost: error: ' err)" -eq 1 ]
        result $? "$fault: one line, all is recorded (isolate_optimizer = $apart, status $is)"
    done
}
names="a name has 1 to 63 letters, digits"
wrong dots "$names" true false
wrong empty "$names" true
wrong long "$names" true
wrong hidden "$names" true
wrong own "'run.ini': names that begin with 'run.' are reserved for dshost" true false
wrong many "'many-15' is one more than the 16 files" true false
wrong larger "'larger' has 268435457 bytes, at most 268435456 are taken" true false
wrong nothing "'nothing': data is NULL" true false
[ ! -e state.txt ] && grep -q '^\[run\]' files-true/run.ini
result $? "and nothing was written elsewhere"

searched() { # searched FAULT STATUS TEXT: dshost check says so.
    "$dshost" check "$saver" --only search.points,search.repeat --set opt.fault="$1" >out 2>err
    is=$?
    [ $is -eq "$2" ] && grep -q -- "$3" out
    result $? "dshost check, $1: status $is, $3"
}
searched none 0 '^ok .*search.repeat'
searched dots 8 'save(): a name has 1 to 63'
searched clock 8 'it requests the same points but saves other files'

# ---- a file that cannot be written ----
mkdir -p full/large.txt
saves full --set opt.fault=large
is=$?
[ $is -eq 6 ] && [ "$(grep -c '^dshost: error: .*full/large.txt' err)" -eq 1 ] && [ "$(rows full)" -eq 60 ]
result $? "one line with its path, all is recorded (status $is)"
rmdir full/large.txt
status 0 "when it can, a resume makes it" "$dshost" resume full
[ "$(wc -c <full/large.txt)" -eq 1048576 ]
result $? "and it is whole"
finish
