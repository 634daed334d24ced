#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins that crash, hang, or break their contracts, and what remains of the run.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

# environment_fault NAME OUTCOME SETTINGS...: in a share of the points; each costs one evaluation.
environment_fault() {
    fault=$1
    outcome=$2
    shift 2
    status 0 "env $fault: the run goes on" "$dshost" --env "$faulty" --set env.fault="$fault" --set env.share=0.04 \
        --opt "$badopt" --set opt.gradient=yes --budget 100 --pictures no --out "env-$fault" "$@"
    [ "$(rows "env-$fault")" -eq 100 ] && table "env-$fault" | grep -q ",$outcome,"
    result $? "env $fault: all evaluations are recorded, some as $outcome"
    grep -q "^dshost: warning: faulty: evaluation [0-9]* $outcome: ..*failure-[0-9]*.ini repeats it" "$tmp/err"
    result $? "env $fault: a clear line"
    ini=$(ls "env-$fault"/failure-*.ini 2>/dev/null | head -n 1)
    [ -n "$ini" ] && grep -q "^isolation = none" "$ini"
    result $? "env $fault: a file that repeats it"
}
environment_fault segv crashed --jobs 2
ini=$(ls env-segv/failure-*.ini | head -n 1)
got=0
"$dshost" eval --config "$ini" >"$tmp/out" 2>"$tmp/err" || got=$?
[ $got -ne 0 ] && [ $got -ne 5 ]
result $? "the file crashes dshost eval itself"
name=$(basename "$ini")
grep -qx "; Its message again: dshost eval --config $name --isolation process" "$ini" &&
    grep -qx "; In a debugger, where a crash stops: gdb --args dshost eval --config $name" "$ini"
result $? "and says what it is for"
status 5 "or, isolated, is reported" "$dshost" eval --config "$ini" --isolation process
environment_fault abort crashed
environment_fault exit crashed
environment_fault loop timeout --timeout-s 0.2 --jobs 2
environment_fault nan invalid
environment_fault error error
ini=$(ls env-error/failure-*.ini | head -n 1)
status 5 "a reported error is repeated by eval" "$dshost" eval --config "$ini" --gradient
grep -q "did not converge" "$tmp/err"
result $? "with its message"
if [ -z "$DS_SANITIZE" ]; then
    environment_fault overflow crashed
    environment_fault alloc crashed --memory-mb 64
    environment_fault stack crashed
else
    skip "guard pages and memory limits are not for sanitizer builds"
fi
status 0 "output of a plugin becomes messages" "$dshost" --env "$faulty" --set env.fault=print --opt "$badopt" --budget 8 \
    --jobs 1 --out print
grep -q "^dshost: faulty: line 3 on stdout" "$tmp/err" && grep -q "more lines of output in one second are not shown" "$tmp/err" &&
    [ "$(cat "$tmp/out")" = print ]
result $? "not too many, and none on stdout"
refuses 5 "evaluations failed" "too many failures end the run" "$dshost" --env "$faulty" --set env.fault=diverge \
    --set env.share=0.9 --opt "$badopt" --budget 100 --out many
[ "$(rows many)" -eq 50 ]
result $? "as soon as it is clear"
status 0 "unless that is allowed" "$dshost" resume many --max-failed 1
refuses 3 "refused as asked" "create() of the environment fails" "$dshost" --env "$faulty" --set env.fault=error \
    --set env.stage=create --opt rand --out none
refuses 4 "create() failed" "or crashes" "$dshost" --env "$faulty" --set env.fault=segv --set env.stage=create --opt rand \
    --out none
[ ! -e none ]
result $? "no folder is left then"

# optimizer_fault NAME STATUS PATTERN: in the host; what was done is saved, and the run can be resumed.
optimizer_fault() {
    refuses "$2" "$3" "opt $1" "$dshost" --env "$faulty" --opt "$badopt" --set opt.fault="$1" --budget 60 --pictures no --jobs 1 \
        --isolate-optimizer no --out "opt-$1"
    [ "$(rows "opt-$1")" -eq 20 ]
    result $? "opt $1: everything it was told is saved"
    refuses "$2" "$3" "opt $1: resuming ends the same way" "$dshost" resume "opt-$1"
}
optimizer_fault outside 4 "row 1 of 4, variable 0 is .*outside of its bounds"
optimizer_fault nan 4 "row 0 of 4, variable 0 is .*outside of its bounds"
optimizer_fault gradient 4 "a gradient is wanted but grad is NULL"
optimizer_fault empty 4 "count is 0"
optimizer_fault zero 4 "the rows: struct_size is 0, 72 to 65536 are possible"
optimizer_fault huge 4 "the rows: struct_size is 3735928559, 72 to 65536 are possible"
optimizer_fault error 4 "not positive definite"
optimizer_fault abort 4 "crash (SIGABRT, abort) in badopt, .*dshost resume opt-abort"
optimizer_fault segv 4 "crash (SIGSEGV, invalid memory access) in badopt"
[ -n "$DS_SANITIZE" ] || optimizer_fault stack 4 "crash (SIGSEGV, invalid memory access) in badopt"
optimizer_fault exit 4 "exit() called in badopt"
refuses 3 "refused as asked" "opt create() fails" "$dshost" --env "$faulty" --opt "$badopt" --set opt.fault=create \
    --isolate-optimizer no --out none
refuses 4 "does not return from run()" "opt that ignores the end" "$dshost" --env "$faulty" --opt "$badopt" \
    --set opt.fault=stubborn --budget 30 --isolate-optimizer no --out stubborn
[ "$(rows stubborn)" -eq 30 ]
result $? "its evaluations are saved"

# ---- replay ----
"$dshost" --env "$faulty" --opt "$badopt" --set opt.fault=clock --budget 60 --pictures no --out clock >/dev/null 2>&1
table clock >before
refuses 4 "requests another point.*nothing was changed" "an optimizer that is not deterministic" "$dshost" resume clock --budget 80
table clock | cmp -s - before && [ "$(field clock/summary.json evaluations)" = 60 ]
result $? "changes nothing"
"$dshost" --env "$faulty" --opt "$badopt" --set opt.fault=nudge --budget 60 --pictures no --out nudge >/dev/null 2>&1
status 0 "a difference in the last digits is answered from the record" "$dshost" resume nudge --budget 64
[ "$(grep -c 'differ in the last digits' "$tmp/err")" -eq 1 ] && [ "$(rows nudge)" -eq 64 ]
result $? "with one warning"

# ---- start-up code of an environment: it runs where the environment is, which is not the host ----
cat > born.c << 'END'
#include <diffsim/diffsim.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void)
{
    char program[4096];
    const char *how = getenv("BORN");
    int fd = open(getenv("BORN_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n++ : 0] = '\n';
    if (fd < 0 || write(fd, program, (size_t)n) != n || close(fd) != 0) _exit(9);
    if (how != NULL && strcmp(how, "abort") == 0) abort();
    if (how != NULL && strcmp(how, "exit") == 0) _exit(3);
}
static ds_status create(const ds_host *h, void **out) { *out = (void *)(uintptr_t)h; return DS_OK; }
static void destroy(void *s) { (void)s; }
static ds_status info(void *s, ds_env_info *o) { (void)s; o->n = 1; return DS_OK; }
static ds_status bounds(void *s, uint64_t n, double *l, double *u, double *x)
{ (void)s; (void)n; *l = -1; *u = 1; *x = 0; return DS_OK; }
static ds_status evaluate(void *s, const ds_rows *r, const ds_results *to) { (void)s; to->loss[0] = r->x[0] * r->x[0]; return DS_OK; }
static const ds_param *const params[] = {DS_INT("steps", "5", 1, 9, "", "Steps."), NULL};
static const ds_env_vtable vt = {sizeof vt, 0, create, destroy, info, bounds, evaluate, NULL};
static const ds_desc desc = {.struct_size = sizeof desc, .kind = DS_KIND_ENV, .id = "born", .version = "1",
                             .license = "MIT", .summary = "Tells where it is.", .description = "",
                             .citation = "", .params = params};
DS_DEFINE_ENV(desc, vt)
END
BORN_FILE=$tmp/born.txt
export BORN_FILE
# born PROGRAM TIMES: the start-up code ran that often, in this program alone.
born() {
    [ "$(sed 's|.*/\(lt-\)*||' born.txt | sort -u)" = "$1" ] && [ "$(wc -l < born.txt)" -eq "$2" ]
    result $? "start-up code ran $2 times, in $1"
    rm -f born.txt
}
if ${DS_CC:-cc} ${DS_SANITIZE-} -w -fPIC -shared -fvisibility=hidden -I"$DS_TOP_SRC/include" -o born.so born.c; then
    status 0 "a run of it" "$dshost" --env ./born.so --opt rand --budget 3 --jobs 1 --pictures no --out born-run
    born dshost-worker 1
    status 0 "an evaluation" "$dshost" eval --env ./born.so
    born dshost-worker 1
    status 0 "several runs" "$dshost" --env ./born.so --opt rand --budget 2 --jobs 1 --runs 2 --pictures no --out born-runs
    born dshost-worker 2
    status 0 "resuming" "$dshost" resume born-run --budget 5
    born dshost-worker 1
    refuses 3 "--set env.steps: born: steps = 10: expected a whole number from 1 to 9" "settings are refused as ever" \
        "$dshost" eval --env ./born.so --set env.steps=10
    born dshost-worker 1
    status 0 "without isolation" "$dshost" --env ./born.so --opt rand --budget 2 --isolation none --pictures no --out born-here
    [ "$(sed 's|.*/\(lt-\)*||' born.txt | tr '\n' ' ')" = "dshost-worker dshost " ]
    result $? "start-up code ran in a process of its own before it ran in the host"
    rm -f born.txt
    BORN=abort
    export BORN
    for c in "eval" "run --opt rand --out born-abort" "landscape --out born-abort"; do
        # shellcheck disable=SC2086
        refuses 4 "/born.so: its start-up code ended the process with signal 6 (Aborted)" "a crash at the start of $c" \
            "$dshost" $c --env ./born.so
        born dshost-worker 1
    done
    for c in help "template --all"; do
        # shellcheck disable=SC2086
        refuses 4 "/born.so: its start-up code ended the process with signal 6" "and with $c" "$dshost" $c ./born.so \
            $([ "$c" = help ] || echo rand)
    done
    BORN=exit
    refuses 4 "/born.so: its start-up code ended the process with exit status 3" "an exit at the start" \
        "$dshost" eval --env ./born.so
    few "$tmp/few" envs/analytic
    status 0 "list goes on" env DS_PLUGIN_PATH="$tmp" "$few" list
    grep -q "born.so: its start-up code ended the process with exit status 3" "$tmp/out"
    result $? "and says why born is not used"
    unset BORN
else
    skip "no compiler for plugins"
fi
finish
