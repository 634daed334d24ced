#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins that crash, hang, or break their contracts, and what remains of the run.
. "$(dirname "$0")/lib.sh"
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

# optimizer_fault NAME STATUS PATTERN: what was done is saved, and the run can be resumed.
optimizer_fault() {
    refuses "$2" "$3" "opt $1" "$dshost" --env "$faulty" --opt "$badopt" --set opt.fault="$1" --budget 60 --pictures no --jobs 1 \
        --out "opt-$1"
    [ "$(rows "opt-$1")" -eq 20 ]
    result $? "opt $1: everything it was told is saved"
    refuses "$2" "$3" "opt $1: resuming ends the same way" "$dshost" resume "opt-$1"
}
optimizer_fault outside 4 "row 1 of 4, variable 0 is .*outside of its bounds"
optimizer_fault nan 4 "row 0 of 4, variable 0 is .*outside of its bounds"
optimizer_fault gradient 4 "a gradient is wanted but grad is NULL"
optimizer_fault empty 4 "count is 0"
optimizer_fault error 4 "not positive definite"
optimizer_fault abort 4 "crash (SIGABRT, abort) in badopt, .*dshost resume opt-abort"
optimizer_fault segv 4 "crash (SIGSEGV, invalid memory access) in badopt"
[ -n "$DS_SANITIZE" ] || optimizer_fault stack 4 "crash (SIGSEGV, invalid memory access) in badopt"
optimizer_fault exit 4 "exit() called in badopt"
refuses 3 "refused as asked" "opt create() fails" "$dshost" --env "$faulty" --opt "$badopt" --set opt.fault=create --out none
refuses 4 "does not return from run()" "opt that ignores the end" "$dshost" --env "$faulty" --opt "$badopt" \
    --set opt.fault=stubborn --budget 30 --out stubborn
[ "$(rows stubborn)" -eq 30 ]
result $? "its evaluations are saved"

# ---- replay ----
"$dshost" --env "$faulty" --opt "$badopt" --set opt.fault=clock --budget 60 --pictures no --out clock >/dev/null 2>&1
table clock >before
refuses 4 "asks for another point.*nothing was changed" "an optimizer that is not deterministic" "$dshost" resume clock --budget 80
table clock | cmp -s - before && [ "$(field clock/summary.json evaluations)" = 60 ]
result $? "changes nothing"
"$dshost" --env "$faulty" --opt "$badopt" --set opt.fault=nudge --budget 60 --pictures no --out nudge >/dev/null 2>&1
status 0 "a difference in the last digits is answered from the record" "$dshost" resume nudge --budget 64
[ "$(grep -c 'differ in the last digits' "$tmp/err")" -eq 1 ] && [ "$(rows nudge)" -eq 64 ]
result $? "with one warning"
finish
