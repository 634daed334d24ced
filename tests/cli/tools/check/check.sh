#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh - the conformance kit: every plugin below tests/bad fails the test for its fault, correct plugins pass a known
# number of tests, and the command keeps its contract (TAP, JSON, exit status).
. "$(dirname "$0")/../../lib.sh"
bad=$DS_TOP_SRC/tests/bad
cd "$tmp" || exit 99

# plugin, the test that it must fail, exit status, flags
while read -r id test status flags; do
    if ! compile_bad "$id" > out 2> err; then
        result 1 "$id compiles"
        continue
    fi
    case $id-$(uname -m) in
    fast_math-x86_64) ;;
    fast_math-*)
        skip "$id: for x86-64"
        continue
        ;;
    esac
    if [ -n "$DS_SANITIZE" ] && [ "$id" = uninitialised ]; then
        skip "$id: needs glibc's allocator"
        continue
    fi
    # shellcheck disable=SC2086
    "$dshost" check "./$id.so" --only "$test" $flags > out 2> err
    is=$?
    [ $is -eq "$status" ] && grep -q "^not ok [0-9]* - $test:" out && grep -q '^# hint: ' out
    result $? "$id fails $test with status $status (is $is)"
done << 'END'
wrong_magic desc.accept 4
wrong_minor desc.accept 4
zero_size desc.accept 4
huge_size desc.accept 4
huge_table channel.list 8
fast_math load.state 4
two_symbols load.file 8
silent_error inst.params 8
swallows_error inst.errors 8
leaks_file inst.leak 8
destroys_null inst.leak 8
leaks_memory inst.leak 8
nan_loss eval.points 8
crashes eval.points 8
exits eval.points 8
hangs eval.points 8 --timeout-s 0.5
past_grad eval.buffers 8
short_grad eval.buffers 8
always_grad eval.buffers 8
ignores_stop eval.stop 8
changes_mode eval.state 8
prints eval.quiet 8
hidden_state pure.repeat 8
uninitialised pure.process 8
shared_state pure.parallel 8
wrong_gradient grad.difference 8
one_component grad.difference 8
clamped grad.difference 8
after_loss pure.want 8
batch_gradient rows.same 8
hangs_at_gradient grad.difference 8 --timeout-s 1
crashes_in_batch rows.same 8
mask_with_threads eval.state 8
short_scene scene.data 8
no_room search.params 8
endless_steps eval.points 8
mode_with_threads eval.state 8
nan_gradient grad.difference 8
outside search.points 8
asks_nan search.failures 8
ignores_stopped search.stop 8
forgets_size search.points 8
not_repeatable search.repeat 8
wants_gradient search.gradient 8
hidden_gradient search.params 8
hidden_pair search.params 8
asks_without search.params 8
leaves_thread eval.threads 8
four_threads pure.threads 8
odd_want eval.want 8
too_inexact pure.repeat 8
secret_tolerance eval.points 8
needs_later load.host 4
exact_size inst.sizes 8
maximises search.better 8
changing_channels channel.list 8
half_squares channel.value 8
asked_loss channel.value 8
wrong_product channel.products 8
wrong_forward channel.products 8
kinked_product channel.products 8
wrong_hessian channel.products 8
past_answer channel.guard 8
one_of_many channel.elements 8
small_beside channel.elements 8
wrong_part channel.elements 8
batch_of_many rows.same 8
batch_warm rows.same 8
limit_terminates steps.ended 8
lane_next steps.lanes 8
lane_begin steps.lanes 8
lane_number steps.lanes 8
task_truncates steps.ended 8
unknown_end steps.ended 8
steps_truncated search.endings 8
same_names ext.variables 8
renames ext.variables 8
score_of_point ext.score 8
moving_hooks ext.hooks 8
loud_residual ext.residual 8
END

# One environment with all extensions, sound but for the fault that $FAULT names, with CHECK_ALL at two seeds; without one
# it passes.
compile "$bad/complete.c" && "$dshost" check ./complete.so > out 2> err &&
    grep -q '^# 49 passed, 0 failed, 6 skipped' out
result $? "complete passes without a fault"
faults() { # faults TEST FAULT...
    test=$1
    shift
    for fault; do
        echo "$fault" >> tried
        case ${DS_SANITIZE:+sanitized}-$fault in
        sanitized-COST_ADDRESS) # AddressSanitizer's allocator has the same addresses in every process
            skip "$fault under sanitizers"
            continue
            ;;
        sanitized-*_CALLS) # there is not the time for so many calls
            skip "$fault under sanitizers"
            continue
            ;;
        esac
        missed=
        for seed in 1 $(all 2); do
            FAULT=$fault "$dshost" check ./complete.so --only "$test" --seed $seed > out 2> err
            [ $? -eq 8 ] && grep -q "^not ok [0-9]* - $test:" out && grep -q '^# hint: ' out || missed=$missed" $seed"
        done
        [ -z "$missed" ]
        result $? "$fault fails $test${missed:+, but not at seed$missed}"
    done
}
faults rows.same BATCH_REMAINDER BATCH_SEVEN BATCH_33 BATCH_63_GRADIENT BATCH_NO_GRADIENT BATCH_VALUES BATCH_VALUES_LAST BATCH_PRODUCT \
    BATCH_BACK BATCH_POISONED BATCH_STEPS BATCH_PAIRS BATCH_CALLS BATCH_STRIDE BATCH_GAP
faults pure.instance STATIC_EPISODE STATIC_TIME STATIC_TRACE STATIC_ADJOINT
faults inst.params STATIC_PARAMETER
faults pure.parallel STATIC_DIRECTION
faults pure.process MESSAGE_PROCESS MESSAGE_ADDRESS BAD_STEP_PROCESS COST_PROCESS COST_ADDRESS COST_STEP_PROCESS OBSERVED_PROCESS \
    PRODUCT_PROCESS SWEEP_PROCESS
faults pure.repeat MESSAGE_CALLS COST_CALLS COST_TIME ORDER_PRODUCT RESET_FORGETS EPISODE_AFTER_SWEEP KEEPS_POINT SWEEP_EVALUATE
faults pure.often STEP_CALLS EPISODE_CALLS SWEEP_CALLS PRODUCT_CALLS VALUES_CALLS
faults steps.gradient KEEPS_ACTION OBS_LAST OBS_FIRST OBS_SIGN OBS_SECOND REWARD_UNIT REWARD_SIGN REWARD_LAST REWARD_SMALL
faults steps.sweeps OBS_OPEN SWEEP_OPEN SWEEP_SECOND SWEEP_PART SWEEP_CHANGES SWEEP_CHANGES_TIME SWEEP_SHORT SWEEP_CUBE SWEEP_ALWAYS \
    SWEEP_ANY_STEP
faults channel.linear JV_UNIT JV_UNIT_ONE JV_UNIT_ZERO JV_SPARSE JV_SIGN JV_SIZE JV_SMALL JV_ZERO JV_NORMALISED JV_SQUARE JTV_UNIT \
    JTV_SIGN JTV_SIZE
faults channel.value JTV_GRADIENT JTV_VALUES JV_GRADIENT GRADIENT_PRODUCT VALUES_GRADIENT
sed -n 's/^    X(\([A-Z_0-9]*\)).*/\1/p' "$bad/complete.c" | sort > listed
sort tried | cmp -s listed -
result $? "every fault of complete.c is tried"

for id in zero_size=0 huge_size=2147483648 huge_table=3435973836; do
    "$dshost" check "./${id%=*}.so" > out 2> err
    grep -q "^# .*struct_size is ${id#*=}, [0-9]* to 65536 are possible" out
    result $? "the line about ${id%=*} says the size and what is possible"
    "$dshost" eval --env "./${id%=*}.so" > out 2> err
    is=$?
    [ $is -eq 4 ] && [ "$(wc -l < err)" -eq 1 ] && grep -q "struct_size is ${id#*=}, " err
    result $? "dshost eval refuses ${id%=*} with one line (status $is)"
done

"$dshost" check ./destroys_null.so --only inst.leak > out 2> err
grep -q ' in destroy(NULL), which must do nothing' out && grep -q '^# hint: .* check --child inst.leak .* 3> /dev/null' out
result $? "a crash in destroy(NULL) says so, and how to look at it"

sed 's/KINKED_SLOPE 0.99/KINKED_SLOPE 1/; s/kinked_product/kinked_right/' "$bad/kinked_product.c" > kinked_right.c
compile kinked_right.c && "$dshost" check ./kinked_right.so --only channel.products > out 2> err &&
    grep -q '^# saws: up to .* % of the elements show a kink' out
result $? "right products pass where elements have kinks, and their share is told"
sed 's/KINKED_SLOPE 0.99/KINKED_SLOPE 1/; s/period = 4e-5/period = 1e-12/; s/kinked_product/kinked_finely/' \
    "$bad/kinked_product.c" > kinked_finely.c
compile kinked_finely.c && "$dshost" check ./kinked_finely.so --only channel.products > out 2> err &&
    grep -q '^# saws: quotients of [0-9]* of 20 points differ at all steps, and are not judged' out
result $? "products are not judged where quotients of all steps differ"

printf '#define BAD_ID "right_limits"\n#include "constraints_base.h"\n' > right_limits.c
printf '#define BAD_ID "right_sizes"\n#define BAD_SIZE_OF(k) pow(10, -(k) / 20)\n#include "constraints_base.h"\n' > right_sizes.c
for id in right_limits right_sizes; do
    compile "$id.c" && "$dshost" check "./$id.so" --only channel > out 2> err && grep -q '^# limits: [0-9]* elements at [0-9]* points$' out
    result $? "$id: right constraints pass"
done
# Products that are not exact are tested as their declared kind, also where only J' exists; forward differences of values
# of 1000 may be off by 1e-5, which is a tenth of what the second and third element change by.
cat > smoothed.h << 'END'
#define BAD_JTV(w, i) (2 * (w)[i])
#define BAD_ANSWER                                \
    if (q->channel == 0 && q->op != DS_QUERY_VALUE) \
        q->kind = DS_GRAD_SMOOTHED;
#define BAD_PRODUCTS DS_CAN(DS_QUERY_JTV)
#include "channel_base.h"
#include "env_base.h"
END
cat > differenced.h << 'END'
#define BAD_VALUE(x, i) (1000 + ((i) == 0 ? 1 : 1e-4) * (x))
#define BAD_ANSWER                                                                                               \
    for (int i = 0; q->channel == 0 && i < 3; i++) {                                                             \
        const double at = io->x[i], here = BAD_VALUE(at, i);                                                     \
        ((double *)q->out)[i] =                                                                                  \
            q->op == DS_QUERY_VALUE ? here : (BAD_VALUE(at + 1e-8, i) - here) / 1e-8 * q->v[i];                    \
        q->kind = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_FD;                                             \
    }
#include "channel_base.h"
#include "env_base.h"
END
printf '#define BAD_ID "right_smoothed"\n#include "smoothed.h"\n' > right_smoothed.c
printf '#define BAD_ID "right_differenced"\n#include "differenced.h"\n' > right_differenced.c
printf '#define BAD_ID "right_back"\n#define BAD_PRODUCTS DS_CAN(DS_QUERY_JTV)\n#include "differenced.h"\n' > right_back.c
for id in right_smoothed right_differenced right_back; do
    compile "$id.c" && "$dshost" check "./$id.so" --only channel.products,channel.elements > out 2> err
    result $? "$id: products that say what they are pass"
done
: > empty.so
"$dshost" check ./empty.so --only grad.difference > out 2> err
[ $? -eq 4 ] && grep -q '^# .*empty.so: an empty file' out
result $? "a plugin that does not load is told as such, whatever tests are asked for"
printf '#define BAD_ID "slow_elsewhere"\n#define BAD_AFTER if (x[0] != 0.5) nanosleep(&(struct timespec){0, 20000000}, NULL);\n#include "smooth_base.h"\n' > slow_elsewhere.c
compile slow_elsewhere.c && "$dshost" check ./slow_elsewhere.so --only pure.often --timeout-s 15 > out 2> err
result $? "points that take far longer than the start point do not take pure.often beyond its time"
"$dshost" check ./one_of_many.so --only channel.elements > out 2> err
grep -q '^# channel limits: the derivative of element 137 with respect to variable [0-9] is ' out
result $? "a wrong derivative is named"

compile_bad lanes_sound && "$dshost" check ./lanes_sound.so --only steps > out 2> err && grep -q '^# 4 of 4 lanes at once' out
result $? "sound lanes pass"

# A fault fails the tests for its own guarantee and no others.
for id in wrong_gradient leaks_file prints maximises half_squares batch_warm limit_terminates lane_next lane_begin lane_number task_truncates \
	unknown_end steps_truncated same_names loud_residual leaves_thread four_threads odd_want one_component clamped mode_with_threads \
	batch_gradient batch_of_many one_of_many wrong_part mask_with_threads short_scene; do
    "$dshost" check ./$id.so > out 2> err
    [ "$(grep -c '^not ok' out)" -eq 1 ]
    result $? "$id fails one test only"
done

"$dshost" eval --env ./same_names.so > out 2> err
is=$?
[ $is -eq 4 ] && [ ! -s out ] && grep -qx "dshost: error: same_names: ds.env.variables/1: variables 0 and 2 are both called 'push.x': names must be unique" err
result $? "two variables of one name are refused in one line, status 4"

# ---- a crash or a hang is reported with its x, so that it can be repeated ----
"$dshost" check ./hangs_at_gradient.so --only grad --timeout-s 1 > out 2> err
grep -qE '^# it was in evaluate\(\); to evaluate this point alone: dshost eval --env ./hangs_at_gradient.so --gradient --x -?[0-9.]*,-[0-9.]*,-?[0-9.]*$' out
result $? "a hang that only a gradient brings: the point is told"
"$dshost" check ./crashes_in_batch.so --only rows.same > out 2> err
grep -q '^# it was in evaluate() with [0-9]* points, of which this is the first; to evaluate this point alone: dshost eval .* --gradient --x ' out
result $? "a crash in a batch: its first point is told"
for id in crashes hangs exits; do
    "$dshost" check ./$id.so --only eval.points --timeout-s 0.5 > out 2> err
    grep -qE "^# it was in evaluate\(\); to evaluate this point alone: dshost eval --env ./$id.so --gradient --x 2(,-?2){2}$" out
    result $? "$id: the point is told"
done
again=$("$dshost" check ./crashes.so --only eval.points --set env.centre=0.5 | sed -n 's/.*to evaluate this point alone: dshost //p')
eval "\"$dshost\" $again" > out 2> err
is=$?
[ $is -eq 5 ] && cat out err | grep -qE "SIGSEGV|DEADLYSIGNAL" && echo "$again" | grep -q -- '--set env.centre=0.5'
result $? "and crashes again in eval, status $is"

for isolation in process none; do
    "$dshost" run --env ./endless_steps.so --opt rand --budget 1200 --pictures no --isolation $isolation --out "endless-$isolation" > out 2> err &&
        grep -qE '"cost_steps": 9223372036854775807,' "endless-$isolation/summary.json" &&
        "$dshost" export "endless-$isolation" --format csv --out - | grep -q '^1200,.*,9007199254740992,'
    result $? "a sum of steps does not wrap, --isolation $isolation"
done

# Correct plugins, and how many tests they pass: a test that is missing from the kit shows here.
"$dshost" check analytic > out 2> err
is=$?
[ $is -eq 0 ] && grep -qx '1\.\.55' out && [ "$(grep -c '^ok ' out)" -eq 55 ] && grep -qx 'TAP version 13' out
result $? "analytic passes 55 tests"
"$dshost" check rand > out 2> err
is=$?
[ $is -eq 0 ] && grep -qx '1\.\.31' out && [ "$(grep -c '^ok ' out)" -eq 31 ]
result $? "rand passes 31 tests"
for case in "steps=5 a time limit; 6 were" "steps=500 a time limit; 0 were"; do
    "$dshost" check cartpole_gym --set env."${case%% *}" --only steps.ended > out 2> err &&
        grep -q "^# . of 6 .*, ${case#* } truncated" out
    result $? "cartpole_gym, ${case%% *}: $(grep '^# . of 6' out)"
done
"$dshost" check ppo --only search.endings > out 2> err
grep -q '^# [1-9][0-9]* episodes terminated, [1-9][0-9]* were truncated' out &&
    grep -q '^# the search depends on which' out
result $? "ppo learns otherwise where its episodes are truncated"
"$dshost" check "$DS_TOP_BUILD/tests/plugins/.libs/channels.so" --only channel,grad.difference > out 2> err &&
    grep -q '^# 16 queries, one at a time' out && grep -q '^# 7 passed, 0 failed, 0 skipped' out &&
    grep -q '^# cost: 1 elements; relative errors, J v .*, H v .*, J v with J. v ' out
result $? "channels of every role and type pass: values, products, buffers"
for f in rosenbrock rastrigin branin hartmann6; do
    "$dshost" check analytic --set env.function=$f --seed 3 > out 2> err
    result $? "analytic passes with function = $f"
done
"$dshost" check analytic --set env.dim=60 --set env.rotate=true --only grad > out 2> err
result $? "gradient of 60 variables by components and directions"
"$dshost" check analytic --set env.noise=0.1 --set env.fail_rate=0.2 > out 2> err
result $? "analytic passes with noise and failures"

"$dshost" check cartpole_gym --only scene > out 2> err &&
    grep -qE '^# [0-9]+ frames of 501: the episode ends in control step [0-9]+ of 500$' out
result $? "a scene may end with its episode, and that is told"
"$dshost" check ./short_scene.so --only scene > out 2> err
grep -q '^# the scene has 2 frames, but the episode takes all of its 3 control steps: expected steps + 1 = 4$' out
result $? "but not before it"

# A team of threads may live until destroy(); faults that depend on parameters are found when these are set.
"$dshost" check torus --set env.preset=small --only eval.threads > out 2> err
result $? "torus joins its team of threads in destroy()"
compile_bad hidden_gradient > out 2> err
"$dshost" check ./hidden_gradient.so --only search.gradient > out 2> err
is=$?
"$dshost" check ./hidden_gradient.so --only search.gradient --set opt.steps=3 > out 2> err
[ $? -eq 8 ] && [ $is -eq 0 ] && grep -q 'it requests gradients, but its descriptor lists "ds.env.gradient/1" neither' out
result $? "a hidden wish for gradients is found with --set, too"
"$dshost" check ./too_inexact.so --only pure.repeat > out 2> err
grep -q '^# .*: 1e-09 apart, but info() reports a tolerance of 1e-12' out
result $? "how far the answers of an inexact environment are apart"

# One instance per process; and results that are exact up to a tolerance.
alone=$DS_TOP_BUILD/tests/plugins/.libs/alone.so
"$dshost" check "$alone" > out 2> err
result $? "an environment that wants a process for each instance passes"
"$dshost" check "$alone" --set env.wobble=1e-11 --only pure,eval,rl > out 2> err &&
    grep -q '^# results are up to [1-9.]*e-1[12] apart, the tolerance is 1e-11' out
result $? "also where it is inexact, and the distance is told"
DS_TEST_WOBBLE=1e-9 "$dshost" check "$alone" --set env.wobble=1e-11 --only pure.repeat,pure.process,eval.want > out 2> err
[ $? -eq 8 ] && [ "$(grep -c '^not ok .*pure.repeat' out)" -eq 1 ]
result $? "but not beyond its tolerance"
"$dshost" check "$alone" --in-process > out 2> err
[ $? -eq 2 ] && [ "$(wc -l < err)" -eq 1 ] && grep -q 'leave out --in-process' err
result $? "it is not for --in-process"

compile "$DS_TOP_SRC/tests/abi/plugin_v0_1.c"
"$dshost" check ./plugin_v0_1.so --only desc.accept > out 2> err
[ $? -eq 4 ] && grep -q 'built for plugin ABI 0\.1, this host has 0\.3' out
result $? "a plugin compiled with the frozen declarations of ABI 0.1 is told both versions"

# The contract of the command.
"$dshost" check analytic --json --only desc,search > out 2> err &&
    grep -q '"failed": 0' out && grep -q '"id": "desc.accept"' out
result $? "--json"
"$dshost" check analytic --json --only desc --only eval.points,eval.want > out 2> err &&
    grep -q '"id": "desc.accept"' out && grep -q '"id": "eval.points"' out && grep -q '"id": "eval.want"' out && ! grep -q '"id": "pure' out
result $? "--only several times means all of them"
"$dshost" check analytic --only desc,eval.typo,grad > out 2> err
[ $? -eq 2 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -q 'no test has an id with eval\.typo;' err
result $? "a text of --only that is in no id is told, though others are"
"$dshost" check analytic --in-process > out 2> err
result $? "--in-process"
"$dshost" check --list > out 2> err && grep -q '^grad.difference ' out && grep -q '^search.stop ' out
result $? "--list"
"$dshost" check rand --list > out 2> err && ! grep -q '^eval' out && grep -q '^search.stop ' out
result $? "--list of an optimizer"
while read -r status text; do
    eval "\"$dshost\" check $text" > out 2> err
    is=$?
    [ $is -eq "$status" ] && [ -s err ]
    result $? "exit status $status: check $text"
done << 'END'
2
2 analytic rand
2 analytic --only no_such_test
2 analytic --seed -1
2 analytic --timeout-s 0
2 analytic --colour
3 analytic --set env
END
"$dshost" check ./no_such_file.so > out 2> err
is=$?
[ $is -eq 4 ] && grep -q '^not ok 1 - load.file' out && grep -q '^# hint' out
result $? "a missing file is a failed test and status 4"
"$dshost" check analytic --set env.dimm=3 > out 2> err
is=$?
[ $is -eq 3 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] &&
    grep -q "^dshost: error: check: --set env.dimm: analytic: unknown parameter 'dimm'.*did you mean 'dim'" err
result $? "an unknown parameter is named before any test"
"$dshost" check analytic --set opt.dim=3 > out 2> err
is=$?
[ $is -eq 3 ] && [ ! -s out ] && grep -q 'analytic is an environment: only parameters of \[env\]' err
result $? "and so is one of the other section"
"$dshost" check analytic --only grad.difference > out 2> err
grep -q '^# [0-9]* quotients along single components: 100 % agree, 0 % show a kink' out
result $? "how many quotients could be used"
# rand calls should_stop() before it evaluates: this is not a breach that would hide the test.
"$dshost" check rand --only search.interrupt > out 2> err
grep -q '^# 1 passed, 0 failed, 0 skipped' out
result $? "a search that asks should_stop() itself is tested for interruption"
"$dshost" check analytic > /dev/full 2> err
[ $? -eq 6 ]
result $? "a full disk is status 6"
finish
