#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Third-party plugins that misuse their process when they are loaded, queried, called or ended: every command ends in
# time, with its own status and one line, and no evaluation is lost.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_abort=0 # a crash is one in sanitizer builds, too
HOME=$tmp
export ASAN_OPTIONS HOME
mkdir plugins
for id in rogue rogue_env; do
    cp "$DS_TOP_BUILD/tests/plugins/.libs/$id.so" plugins/
done
DS_PLUGIN_PATH=$tmp/plugins
export DS_PLUGIN_PATH
start="its start-up code"
few "$tmp/few" envs/analytic optimizers/boleap
: "${LIMIT:=100}" # seconds that no command may take, on any machine

# rogue WISH COMMAND...: with that wish (rogue.h), in a process group of its own.
rogue() {
    wish=$1
    shift
    env ROGUE="$wish" setsid -w timeout -s KILL "$LIMIT" "$@"
}

# ---- what takes its time, while the others are tried ----
# begin NAME COMMAND...: in the background; `await NAME` gets its status in $got, and NAME.out and NAME.err to out and err.
begin() {
    name=$1
    shift
    { got=0 && "$@" >"$name.out" 2>"$name.err" </dev/null || got=$?; echo $got >"$name.status"; } &
    eval "pid_$name=\$!"
}
await() {
    eval "wait \$pid_$1"
    got=$(cat "$1.status")
    cp "$1.out" out
    cp "$1.err" err
}
begin patient rogue start:hang "$dshost" --env analytic --opt rogue --out patient
for what in block multiply; do
    begin list_$what rogue start:$what "$few" list
done
begin create_block rogue "" "$dshost" --env analytic --opt rogue --budget 60 --pictures no --out create_block \
    --set opt.create=block --start-timeout-s 10
for what in run=threads_stubborn destroy=hang; do
    begin "slow_${what#*=}" rogue "" "$dshost" --env analytic --opt rogue --budget 60 --pictures no --out "slow_${what#*=}" --set opt.$what
done

# ---- opening ----
# opens STATUS PATTERN WISH: by every command that opens a plugin.
opens() {
    for command in "run --env analytic --opt rogue --budget 5 --pictures no --out opened" \
        "run --env rogue_env --opt rand --budget 5 --pictures no --out opened" \
        "eval --env rogue_env" "eval --env rogue_env --isolation none" "help rogue" "help rogue_env --json" \
        "template analytic rogue" "template rogue_env rand" "check --list ./plugins/rogue.so" \
        "landscape --env rogue_env --out opened" \
        "run --env analytic --opt rogue --isolate-optimizer no --budget 5 --out opened"; do
        case $3-$command in # all commands for one of them, for the others some
        query:abort-* | *"-run --env analytic"* | *"-help rogue" | *"-eval --env rogue_env") ;;
        *) [ -n "${CHECK_ALL-}" ] || continue ;;
        esac
        # shellcheck disable=SC2086
        refuses "$1" "$2" "$3: $command" rogue "$3" "$dshost" $command
        [ ! -s out ] && [ ! -e opened ]
        result $? "$3: nothing is printed or left"
    done
}
[ -n "$DS_SANITIZE" ] || opens 4 "plugins/rogue.*so: $start ended the process with signal 11" start:segv
opens 4 "plugins/rogue.*so: $start ended the process with signal 6" query:abort
opens 4 "plugins/rogue.*so: $start ended the process with exit status 0" start:exit
opens 4 "plugins/rogue.*so: $start ended the process with exit status 0" query:quick
opens 4 "plugins/rogue.*so: $start ended the process with signal 6" start:orphan
opens 4 "plugins/rogue.*so: $start" start:close
cat > experiment.ini << 'TEXT'
[bench]
envs = analytic
opts = rogue rand
runs = 1
[run]
budget = 5
TEXT
refuses 4 "cannot be loaded: optimizer rogue;.*$start ended the process with exit status 0" "bench" rogue start:exit \
    "$dshost" bench experiment.ini --out bench

# ---- list continues ----
# lists NAME TEXT WISH: with the other plugins, and names the bad ones.
lists() {
    if [ -e "list_${3#start:}.out" ]; then
        await "list_${3#start:}"
    else
        got=0
        rogue "$3" "$few" list >out 2>err || got=$?
    fi
    [ $got -eq 0 ] && grep -q '^  boleap ' out && grep -q "plugins/rogue.so: $2" out && grep -q "plugins/rogue_env.so: $2" out
    result $? "list: $1"
}
lists "exit(0)" "$start ended the process with exit status 0" query:exit
lists "a crash" "$start ended the process with signal 6" start:abort
lists "an end of its process group" "$start ended the process with signal 9" start:group
lists "a crash with descriptors kept open" "$start ended the process with signal 6" query:orphan
lists "one that hangs, and takes no signal" "$start did not end within 10 s" start:block
lists "one that multiplies" "$start did not end within 10 s" start:multiply
lists "one that closes all descriptors" "$start" start:close_range
lists "one that lets nobody write any more" "its process cannot write its description: the file size limit" start:limits
# goes_on NAME WISH: it does nothing to the host, and is listed.
goes_on() {
    rogue "$2" "$few" list >out 2>err
    [ $? -eq 0 ] && grep -q '^  boleap ' out && grep -q '^  rogue ' out && grep -q '^  rogue_env ' out
    result $? "list: $1"
}
for what in stdout read place restart ties variables write term trace open handlers; do
    goes_on "start-up code that does not matter: $what" start:$what
done
rogue start:print "$few" list --json >out 2>err
[ $? -eq 0 ] && ! grep -q '"rogue": 1' out && grep -q '"id": "rogue"' out
result $? "list --json: what a plugin prints is no data"
rogue start:exit "$few" doctor >out 2>err
[ $? -eq 1 ] && grep -q "rogue.so: $start ended the process with exit status 0" out
result $? "doctor names it"
refuses 4 "$start did not end within 3 s" "run: start-up code that hangs" rogue start:hang "$dshost" --env analytic \
    --opt rogue --start-timeout-s 3 --out hang

# ---- harmless to the host ----
rogue "" "$dshost" --env analytic --opt rogue --budget 60 --pictures no --out whole >out 2>err
result $? "a run"
[ "$(rows whole)" -eq 60 ]
result $? "all of it"
# harmless NAME ARGUMENT...: the run of an optimizer that does it has the record of one that does not, and status 0.
harmless() {
    name=$1
    shift
    rm -rf same
    status 0 "$name" rogue "$wish" "$dshost" run --env analytic --opt rogue --budget 60 --pictures no --json --out same "$@"
    grep -v '^ *"\(wall\|evaluation\)_s"' "$tmp/out" >json
    grep -q '^{' json && ! grep -q rogue.:.1 json && same "$name: the same record" whole same
}
for phase in start $(all query) end; do
    for what in print handlers place child atexit_9 atexit; do
        wish=$phase:$what
        harmless "$wish"
    done
done
wish=
for what in restart ties variables write read term trace; do
    harmless "run: $what" --set opt.run=$what
    harmless "create: $what" --set opt.create=$what
done
for what in restart ties variables write read term; do # and of an environment
    rm -rf plain same
    "$dshost" --env rogue_env --opt rand --budget 30 --pictures no --out plain >out 2>err
    for phase in $(all create) evaluate; do
        rm -rf same
        status 0 "an environment's $phase(): $what" rogue "" "$dshost" --env rogue_env --opt rand --set env.$phase=$what \
            --jobs 2 --budget 30 --pictures no --out same
        same "has the same record" plain same
    done
done
for what in print handlers place limits child atexit_9 recurse rounding; do
    [ $what = recurse ] || [ $what = rounding ] || harmless "run: $what" --set opt.run=$what
    [ $what = limits ] || harmless "create: $what" --set opt.create=$what
    [ $what = limits ] || harmless "destroy: $what" --set opt.destroy=$what
done
for what in print handlers place atexit_9 atexit rounding; do
    [ $what = rounding ] || harmless "run, in the host: $what" --set opt.run=$what --isolate-optimizer no
    harmless "create, in the host: $what" --set opt.create=$what --isolate-optimizer no
done
harmless "a status that is none" --set opt.status=-12345
harmless "a status that is none, in the host" --set opt.status=-12345 --isolate-optimizer no
wish=end:quick
harmless "a destructor that ends the process of the host" --isolate-optimizer no
wish=

# ---- what ends a run ----
# ends STATUS PATTERN ROWS ARGUMENT...: one line, and all rows are saved.
ends() {
    code=$1
    pattern=$2
    count=$3
    shift 3
    rm -rf ended
    refuses "$code" "$pattern" "$*" rogue "" "$dshost" run --env analytic --opt rogue --budget 60 --pictures no --out ended "$@"
    if [ "$count" = none ]; then
        [ ! -e ended ] && ! grep -q 'resume\|saved' "$tmp/err"
        result $? "$*: there is no folder, and nobody says so"
    else
        rows ended | grep -qx "$count"
        result $? "$*: everything it was told is saved"
    fi
}
contract="rogue: breaks the contract of the objective: it was called from another thread than that of run()"
for where in yes no; do
    ends 4 "$contract" 20 --set opt.run=threads --isolate-optimizer $where
    ends 4 "variable 4 is 6, outside of its bounds -5..5" 20 --set opt.run=overwrite --isolate-optimizer $where
    ends 4 "crash (SIGABRT, abort) in rogue\|was killed by SIGABRT" none --set opt.create=abort --isolate-optimizer $where
    ends 4 "exit() called in rogue\|ended by itself with exit status 0" none --set opt.create=exit --isolate-optimizer $where
    ends 4 "exit() called in rogue\|ended by itself with exit status 0" 20 --set opt.run=exit --isolate-optimizer $where
done
ends 4 "$contract" 20 --set opt.run=leave
for where in yes no; do # asks for the first time when run() has returned
    ends 4 "$contract" 20 --set opt.run=leave_late --isolate-optimizer $where
done
ends 4 "rogue: after 2[01] evaluations" 2[01] --set opt.run=close
ends 4 "rogue: after 20 evaluations the optimizer's process ended by itself with exit status 0" 20 --set opt.run=quick
ends 7 "no shared memory for the rows of a call" 20 --set opt.run=astronomic
# slow NAME PATTERN ROWS: the same of what was begun above.
slow() {
    await "$1"
    [ "$got" -eq 4 ] && grep -q "^dshost: error: .*$2" err && [ "$(grep -c '^dshost: error: ' err)" -eq 1 ]
    result $? "$1"
    if [ "$3" = none ]; then
        [ ! -e "$1" ]
    else
        [ "$(rows "$1")" -eq "$3" ]
    fi
    result $? "$1: everything it was told is saved"
}
slow create_block "create() has not ended within 10 s" none
slow slow_threads_stubborn "$contract" 20
slow slow_hang "destroy() did not return within 10 s" 60

# ---- numbers in every locale ----
if mkdir locales && localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 >/dev/null 2>&1; then
    LOCPATH=$tmp/locales
    export LOCPATH
    "$dshost" --env rogue_env --opt rand --budget 30 --pictures no --out plain >out 2>err
    for where in yes no; do
        harmless "setlocale() in run(), --isolate-optimizer $where" --set opt.run=locale --isolate-optimizer $where
        ! grep -q '[0-9],[0-9]' same/summary.json same/run.ini
        result $? "files have no commas in numbers"
        status 0 "resumed" "$dshost" resume same --budget 80 --isolate-optimizer $where
        harmless "setlocale() in create(), --isolate-optimizer $where" --set opt.create=locale --isolate-optimizer $where
        status 0 "resumed" "$dshost" resume same --budget 80 --isolate-optimizer $where
    done
    for phase in create evaluate; do
        for isolation in process none; do
            rm -rf same
            status 0 "setlocale() in $phase() of an environment, isolation $isolation" "$dshost" --env rogue_env --opt rand \
                --set env.$phase=locale --isolation $isolation --budget 30 --pictures no --out same
            same "has the same record" plain same
            status 0 "and is resumed" "$dshost" resume same --budget 40
        done
    done
    status 0 "eval" "$dshost" eval --env rogue_env --set env.evaluate=locale --isolation none --json
    ! grep -q '[0-9],[0-9]' "$tmp/out"
    result $? "prints numbers with points"
else
    skip "no German locale can be made: the package locales is missing"
fi

# ---- the floating-point mode of an environment ----
for isolation in process none; do
    rm -rf plain same
    "$dshost" --env rogue_env --opt rand --budget 30 --pictures no --jobs 1 --out plain >out 2>err
    status 0 "an environment that changes the mode, isolation $isolation" "$dshost" --env rogue_env --opt rand \
        --set env.evaluate=rounding --isolation $isolation --budget 30 --pictures no --jobs 2 --out same
    same "gets the losses of one that does not" plain same
done

# ---- with default limits ----
await patient
[ "$got" -eq 4 ] && grep -q "^dshost: error: .*rogue.so: $start did not end within 30 s: raise run.start_timeout_s" err
result $? "start-up code that hangs has 30 s"

# ---- our own are those that were built with the host ----
"$dshost" list --json | tr '}' '\n' | sed -n 's/.*"id": "\([a-z0-9_]*\)".*"path": "\([^"]*\)".*/\1 \2/p' | grep -v rogue |
    while read -r id path; do
        if ! grep -q "\"$id\"" "$DS_TOP_BUILD/own_plugins.h"; then
            echo "$path"
        fi
    done >unknown
[ ! -s unknown ]
result $? "the list of our own plugins is whole"
finish
