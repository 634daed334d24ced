#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Optimizers in their own process: the record equals a search in the host, and a crash, a hang or an end of that process gives
# one line, status 4, and a run that can be resumed.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0 # a crash is one in sanitizer builds, too
export ASAN_OPTIONS
search() {
    "$dshost" "$@" --seed 3 --pictures no >"$tmp/out" 2>"$tmp/err"
}

# ---- equal records ----
# alike NAME ARGUMENT...: with one and with two jobs.
alike() {
    name=$1
    shift
    search "$@" --jobs 1 --isolate-optimizer no --out "$name"
    result $? "$name in the host"
    for jobs in 1 2; do
        search "$@" --jobs $jobs --isolate-optimizer yes --out "$name-$jobs"
        same "$name in a process of its own, --jobs $jobs" "$name" "$name-$jobs"
    done
}
alike rand --env analytic --opt rand --budget 2000
alike cmaes --env analytic --opt cmaes --budget 300
alike lbfgsb --env analytic --opt lbfgsb --budget 150
alike bo --env analytic --opt bo --budget 60
alike noise --env "$faulty" --set env.noise=0.1 --set env.fault=segv --set env.share=0.04 --opt cmaes --budget 100
alike lm --env analytic --set env.function=rosenbrock --opt lm --budget 120
alike pbh --env analytic --set env.function=rosenbrock --opt pbh --budget 120
alike ppo --env pendulum --opt ppo --set opt.episodes=8 --budget 24
alike sac --env pendulum --opt sac --budget 10
alike wide --env analytic --set env.dim=300 --opt "$badopt" --set opt.rows=200 --set opt.gradient=yes --budget 500

# ---- resuming, in the other process ----
search --env analytic --opt cmaes --budget 100 --isolate-optimizer yes --out there
status 0 "isolated, then extended in the host" "$dshost" resume there --budget 300 --isolate-optimizer no
same "is one run" cmaes there
search --env analytic --opt cmaes --budget 100 --out here
status 0 "in the host, then extended isolated" "$dshost" resume here --budget 300 --isolate-optimizer yes
same "is one run, too" cmaes here
for first in yes no; do
    search --env pendulum --opt ppo --set opt.episodes=8 --budget 8 --isolate-optimizer $first --out steps-$first
    status 0 "the same of episodes" "$dshost" resume steps-$first --budget 24 --isolate-optimizer $([ $first = no ] && echo yes || echo no)
done
same "the same run both times" steps-yes steps-no
search --env analytic --set env.function=rosenbrock --opt lm --budget 50 --isolate-optimizer yes --out squares
status 0 "and of residuals" "$dshost" resume squares --budget 120 --isolate-optimizer no
same "which is one run, at last" lm squares

# ---- faults ----
# fault NAME STATUS PATTERN ROWS ARGUMENT...
fault() {
    name=$1
    expected=$2
    pattern=$3
    count=$4
    shift 4
    refuses "$expected" "$pattern" "$name" "$dshost" --env "$faulty" --opt "$badopt" --set opt.fault="$name" --budget 60 \
        --pictures no --jobs 1 --isolate-optimizer yes --out "$name" "$@"
    [ "$(rows "$name")" -eq "$count" ] && [ "$(field "$name/summary.json" ended)" = error ] &&
        [ "$(field "$name/summary.json" evaluations)" -eq "$count" ]
    result $? "$name: everything it was told is saved"
}
process="badopt: after 20 evaluations the optimizer's process"
mended="everything is saved; once it is fixed continue with: dshost resume"
fault segv 4 "$process was killed by SIGSEGV (Segmentation fault); $mended segv" 20
refuses 4 "$process was killed by SIGSEGV (Segmentation fault); $mended segv" "resuming ends the same way" "$dshost" resume segv
fault abort 4 "$process was killed by SIGABRT (Aborted); $mended abort" 20
# shellcheck disable=SC2016 # of the inner shell
refuses 4 "was killed by SIGABRT" "a parent that ignores the end of children does not hide it" sh -c 'trap "" CHLD; exec "$@"' sh "$dshost" resume abort
fault exit 4 "$process ended by itself with exit status 0; $mended exit" 20
fault error 4 "badopt: run() failed: the matrix is not positive definite" 20
fault outside 4 "row 1 of 4, variable 0 is .*outside of its bounds" 20
fault empty 4 "count is 0" 20
fault stubborn 4 "badopt: after 60 evaluations run() did not return within 10 s or 10000 calls of its end" 60
fault destroy 4 "badopt: after 60 evaluations the optimizer's process was killed by SIGABRT" 60
if [ -z "$DS_SANITIZE" ]; then
    fault stack 4 "$process was killed by SIGSEGV" 20
    fault alloc 4 "$process was killed by SIGSEGV" 20 --memory-mb 64
else
    skip "stack and memory limits are not for sanitizer builds"
fi
refuses 3 "badopt: create() failed: fault = create: refused as asked" "create() fails" "$dshost" --env "$faulty" \
    --opt "$badopt" --set opt.fault=create --isolate-optimizer yes --out none
refuses 3 "opt.rows: badopt: rows = 0: expected" "settings are refused as ever" "$dshost" --env "$faulty" \
    --opt "$badopt" --set opt.rows=0 --isolate-optimizer yes --out none
refuses 4 "is an environment, but an optimizer is expected here" "so is a plugin of the other kind" "$dshost" \
    --env "$faulty" --opt "$faulty" --isolate-optimizer yes --out none
[ ! -e none ]
result $? "no folder is left then"

# ---- the end of a run ----
search --env "$faulty" --opt "$badopt" --budget 200 --out whole
# begin ARGUMENT...: a run in the background whose only process is that of the optimizer; waits for its 20 first evaluations.
begin() {
    rm -rf cut
    "$dshost" --env "$faulty" --opt "$badopt" --budget 200 --seed 3 --pictures no --isolation none --isolate-optimizer yes \
        --out cut "$@" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    k=0
    while [ $k -lt 200 ] && [ "$(rows cut)" -lt 20 ]; do
        sleep 0.1
        k=$((k + 1))
    done
}
begin --set opt.work_ms=20
kill -INT $pid
wait $pid
[ $? -eq 130 ] && grep -q "continue with: dshost resume cut" "$tmp/err" && ! grep -q "^dshost: error" "$tmp/err" &&
    [ "$(field cut/summary.json ended)" = signal ] && [ "$(rows cut)" -lt 200 ]
result $? "SIGINT ends the run as ever"
begin --set opt.work_ms=20
children=$(ps -o pid= --ppid $pid)
# shellcheck disable=SC2086
kill -9 $children
wait $pid
[ $? -eq 4 ] && grep -q "^dshost: error: badopt: after [0-9]* evaluations the optimizer's process was killed by SIGKILL" "$tmp/err" &&
    [ "$(field cut/summary.json ended)" = error ] && [ "$(rows cut)" -eq "$(field cut/summary.json evaluations)" ]
result $? "kill -9 of its process ends the run"
status 0 "which is resumed" "$dshost" resume cut
same "to the same record" whole cut
begin --set opt.work_ms=20
children=$(ps -o pid= --ppid $pid)
kill -9 $pid
wait $pid 2>/dev/null
k=0
# shellcheck disable=SC2086
while [ $k -lt 50 ] && [ -n "$children" ] && kill -0 $children 2>/dev/null; do
    sleep 0.1
    k=$((k + 1))
done
[ -n "$children" ] && [ $k -lt 50 ]
result $? "its process ends with the host"
status 0 "polls: the time limit reaches should_stop()" "$dshost" --env "$faulty" --opt "$badopt" --set opt.fault=polls \
    --budget 60 --seconds 0.3 --pictures no --isolate-optimizer yes --out polls
[ "$(rows polls)" -eq 20 ] && [ "$(field polls/summary.json ended)" = time ]
result $? "polls: and it returns"
# Two that listen to nothing, for ten seconds each.
begin --set opt.fault=loop
kill -INT $pid
fault loop 4 "badopt: after 20 evaluations run() did not return within 10 s" 20 --seconds 0.2
wait $pid
[ $? -eq 130 ] && grep -q "after 20 evaluations run() did not return within 10 s" cut/summary.json && [ "$(rows cut)" -eq 20 ]
result $? "SIGINT ends one that hangs"

# ---- its process, and a fixed plugin ----
cat > born.c << 'END'
#include <diffsim/diffsim.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void)
{
    char program[4096];
    int fd = open(getenv("BORN_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n++ : 0] = '\n';
    if (fd < 0 || write(fd, program, (size_t)n) != n || close(fd) != 0) _exit(9);
    if (strcmp(getenv("BORN"), "abort") == 0) abort();
}
typedef struct self { const ds_host *host; const ds_problem *problem; } self;
static ds_status create(const ds_host *h, const ds_problem *p, void **out)
{
    self *s = malloc(sizeof *s);
    *s = (self){h, p};
    *out = s;
    return DS_OK;
}
static void destroy(void *s) { free(s); }
static ds_status run(void *v, const ds_objective *o)
{
    self *s = v;
    double x[2], loss;
    char line[60];
    for (int i = 0;; i++) {
        uint64_t done;
        const ds_rows rows = {.struct_size = sizeof rows, .count = 1, .n = 2, .stride = 2, .x = x};
        const ds_results results = {.struct_size = sizeof results, .loss = &loss};
        x[0] = s->problem->lower[0] + 0.001 * i;
        x[1] = s->problem->x0[1];
        if (i == 10) {
            snprintf(line, sizeof line, "seed %d", (int)s->host->seed);
            s->host->log(s->host, DS_LOG_INFO, line);
        }
        if (i == 15 && strcmp(getenv("BORN"), "crash") == 0) *(volatile int *)16 = 1;
        ds_status st = o->evaluate(o, &rows, NULL, &results, &done);
        if (st != DS_OK) return st;
    }
}
static const ds_optimizer_vtable vt = {.struct_size = sizeof vt, .create = create, .destroy = destroy, .run = run};
static const ds_desc desc = {.struct_size = sizeof desc, .kind = DS_KIND_OPTIMIZER, .id = "born", .version = "1",
                             .license = "MIT", .summary = "Tells where it is.", .description = "", .citation = ""};
DS_DEFINE_OPTIMIZER(desc, vt)
END
BORN_FILE=$tmp/born.txt
BORN=well
export BORN_FILE BORN
# born PROGRAM TIMES: the start-up code ran that often, in this program alone.
born() {
    [ "$(sed 's|.*/\(lt-\)*||' born.txt | sort -u)" = "$1" ] && [ "$(wc -l < born.txt)" -eq "$2" ]
    result $? "start-up code ran $2 times, in $1"
    rm -f born.txt
}
if ${DS_CC:-cc} ${DS_SANITIZE-} -w -fPIC -shared -fvisibility=hidden -I"$DS_TOP_SRC/include" -o born.so born.c; then
    run="--env $faulty --opt ./born.so --budget 30 --seed 7 --jobs 1 --pictures no"
    # shellcheck disable=SC2086
    status 0 "in the host" "$dshost" $run --isolate-optimizer no --out born-here
    [ "$(sed 's|.*/\(lt-\)*||' born.txt | tr '\n' ' ')" = "dshost-worker dshost " ]
    result $? "start-up code ran in a process of its own before it ran in the host"
    rm -f born.txt
    # shellcheck disable=SC2086
    status 0 "in its process, as is usual" "$dshost" $run --out born-there
    born dshost-worker 1
    grep -qx "dshost: born: seed 7" "$tmp/err"
    result $? "what it logs is shown"
    # shellcheck disable=SC2086
    status 0 "several runs" "$dshost" $run --runs 2 --out born-runs
    born dshost-worker 2
    BORN=crash
    # shellcheck disable=SC2086
    refuses 4 "born: after 15 evaluations the optimizer's process was killed by SIGSEGV" "one that crashes" "$dshost" $run \
        --out born-crash
    BORN=well
    status 0 "goes on once it is mended" "$dshost" resume born-crash
    same "to the record of an undisturbed run" born-here born-crash
    BORN=abort
    # shellcheck disable=SC2086
    refuses 4 "/born.so: its start-up code ended the process with signal 6 (Aborted)" "a crash at its start" \
        "$dshost" $run --out born-abort
else
    skip "no compiler for plugins"
fi
finish
