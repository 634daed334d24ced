#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_gradient.sh - the conformance kit on gradients: it refuses every fault of tests/bad/gradients, passes right ones, and
# reports what it cannot decide. check_gradients_slow.sh has more seeds and the bundled environments.
. "$(dirname "$0")/../../lib.sh"
bad=$DS_TOP_SRC/tests/bad
cd "$tmp" || exit 99

# ---- gradients: no fault passes at any seed, right ones pass at all, and undecidable ones are reported ----
for id in one_component half_term first_zero last_zero first_step last_step wrong_sign exchanged scaled stale \
	right_at_start clamped wrong_outside adds_up wrong_gradient one_single half_space near_bounds second_call \
	transposed rare_sign wrong_weight needs_loss deaf_to_noise; do
    accepted=
    compile_bad "$id" || accepted=" all: it does not compile"
    for seed in 1 $(all 2 3); do # check_gradients_slow.sh: ten
        "$dshost" check ./$id.so --only grad --seed $seed > out 2> err
        [ $? -eq 8 ] || accepted="$accepted $seed"
    done
    [ -z "$accepted" ]
    result $? "$id is refused at each seed${accepted:+, but not at$accepted}"
done
# ---- points with a loss but without a gradient ----
hole() { # hole ID WHERE FLAGS
    printf '#define BAD_ID "%s"\n#define BAD_HOLE (%s)\n#define BAD_FLAGS (%s)\n#include "holes.c"\n' "$@" > "$1.c"
    compile "$1.c"
}
compile_bad holes && hole few_holes 'fabs(x[3] - 0.3) < 0.02' DS_ENV_GRADIENT &&
    hole declared 'x[3] > 0.6' 'DS_ENV_GRADIENT | DS_ENV_GRADIENT_HOLES'
result $? "plugins without a gradient at some points compile"
while read -r id text; do
    accepted=
    for seed in 1 2 3; do
        "$dshost" check ./$id.so --only grad --seed $seed > out 2> err
        { [ $? -eq 8 ] && grep -qE "^# [0-9]* of 4[0-9]* points \\($text %\\) have a loss but no gradient \\(outcome bad_gradient\\)$" out &&
            grep -qE '^# [1-9][0-9]* of 4[0-9]* points with a loss have no gradient' out; } || accepted="$accepted $seed"
    done
    [ -z "$accepted" ]
    result $? "$id is refused at three seeds, with the share of such points${accepted:+, but not at$accepted}"
done << 'END'
holes (1[5-9]|2[0-5])(\.[0-9])?
few_holes [0-5]?(\.[0-9]*)?
END
"$dshost" check ./holes.so --only grad > out 2> err
grep -q '^# hint: find the first step whose adjoint is not finite.*DS_ENV_GRADIENT_HOLES' out
result $? "the report says what to look for"
again=$(sed -n 's/^# hint: one of them: dshost //p' out)
eval "\"$dshost\" $again" > out 2> err
grep -qx 'outcome   bad_gradient' out
result $? "the command that check prints shows one of them"
"$dshost" check ./declared.so --only grad > out 2> err && grep -qE '^# [1-9][0-9]* of [0-9]* points with a loss have no gradient \(' out &&
    grep -qx '# the descriptor declares points without a gradient (DS_ENV_GRADIENT_HOLES)' out
result $? "points without a gradient that are declared are no fault, and their share is printed"
# ---- gradients that are right at the first request of each point ----
while read -r id test text; do
    accepted=
    compile_bad "$id" || accepted=" all: it does not compile"
    for seed in 1 $(all 2 3); do
        "$dshost" check ./$id.so --only pure --seed $seed > out 2> err
        { [ $? -eq 8 ] && grep -q "^not ok [0-9]* - $test: " out && grep -q "^# $text" out; } || accepted="$accepted $seed"
    done
    [ -z "$accepted" ]
    result $? "$id is refused by $test at each seed${accepted:+, but not at$accepted}"
done << 'END'
kept_by_first pure.beside after a point that shares something with it, and after another one: entry [0-9]* of the gradient
kept_by_ends pure.beside after a point that shares something with it, and after another one: entry [0-9]* of the gradient
kept_by_sum pure.beside after a point that shares something with it, and after another one: entry [0-9]* of the gradient
kept_close_by pure.beside after a point that shares something with it, and after another one: entry [0-9]* of the gradient
wears_out pure.often the same point again, [0-9]* calls later: entry 13 of the gradient
once_in_many pure.often the same point again, [0-9]* calls later: entry 13 of the gradient
END
compile_bad first_of_many
while read -r id text; do
    "$dshost" check ./"$id".so --only grad > out 2> err
    grep -qE "$text" out
    result $? "$id: $text"
done << 'END'
first_of_many ^# [1-9][0-9]* of the errors are below 1e-6 of a component, but most other components of the same gradient are exact to 2e-09$
one_component ^# component 13 of the gradient is .*: 1\.001 times what it should be$
first_zero ^# component 0 of the gradient is 0 at
first_zero ^# hint: a component of 0 was never added to
first_zero ^# hint: only the first components are wrong: check the terms of the first step
last_zero ^# component 39 of the gradient is 0 at
exchanged ^# hint: components 13 and 39 are exchanged
scaled ^# hint: all of them are 1\.001 times what they should be
scaled ^# \.\.\. 40 of 40 components are wrong
stale ^# hint: two requests at one point give different gradients
right_at_start ^# hint: it is right at the start point and nowhere else
clamped ^# hint: it is wrong only where variables are at their bounds
deaf_to_noise ^# component [0-9]* of the gradient is .* at random point [0-9]*[13579], with noise, the difference quotient
deaf_to_noise ^# hint: it is wrong only with noise
deaf_to_noise ^# hint: it has noise: add --config F.ini, with the lines \[run\] and noise_key = 12345$
END
"$dshost" check ./clamped.so --only grad --seed 3 > out 2> err
again=$(sed -n 's/^# hint: to see every component at that point: dshost //p' out)
eval "\"$dshost\" $again" > out 2> err
is=$?
[ $is -eq 8 ] && grep -q '  WRONG$' out && grep -qE '^verdict   gradient agrees .*, WRONG in [1-9]' out &&
    grep -q '^dshost: error: clamped: the gradient is wrong in [1-9][0-9]* of 40 components' err
result $? "the point that check names shows the fault in eval --fd, status $is"

smooth() { # smooth ID FLAGS: the sound one
    id=$1
    shift
    printf '#define BAD_ID "%s"\n#include "smooth_base.h"\n' "$id" > "$id.c"
    # shellcheck disable=SC2086
    ${DS_CC:-cc} -O1 -fPIC -shared -fvisibility=hidden "$@" -I"$DS_TOP_SRC/include" -I"$bad" -o "$id.so" "$id.c" -lm
}
refused=
smooth sound && for seed in 1 2 3 $(all 4 5 6 7 8 9 10); do
    "$dshost" check ./sound.so --only grad --seed $seed > out 2> err || refused="$refused $seed"
done
[ -z "$refused" ] && grep -q '^# 1680 quotients along single components: 100 % agree' out
result $? "the right gradient passes at all seeds"
smooth sound_single -DBAD_REAL=float && "$dshost" check ./sound_single.so --only grad > out 2> err &&
    grep -qE '^# where they agree, an error of [0-9.e-]+ of the longest component would have been noticed .*single precision' out
result $? "single precision: what size of error would have been noticed"
many=300
[ -z "${CHECK_ALL-}" ] || many=1000
smooth sound_many -DBAD_N=$many && "$dshost" check ./sound_many.so --only grad > out 2> err
result $? "$many variables"

rough() { # rough ID LOSS GRADIENT: two variables from -1 to 1
    printf '#include <diffsim/helper/simple.h>\n#include <string.h>\nstatic double loss(const double *p, const double *x, double *g)\n{ (void)p; if (g != NULL) { for (int i = 0; i < 2; i++) { %s } } %s }\nDS_SIMPLE_ENV("%s", "Rough.", NULL, DS_ENV_GRADIENT, 2, -1, 1, 0, loss)\n' "$3" "$2" "$1" > "$1.c"
    compile "$1.c"
}
rough valley 'return fabs(x[0]) + fabs(x[1]);' 'g[i] = x[i] < 0 ? -1 : 1;'
"$dshost" check ./valley.so --only grad > out 2> err && grep -qE 'single components: [0-9.]+ % agree, [0-9.]+ % show a kink' out &&
    ! grep -q ' 0 % show a kink' out
result $? "kinks are no faults, and their share is told"
"$dshost" eval --env ./valley.so --gradient --fd --json > out 2> err &&
    grep -qF '"gradient_fd_verdict": ["kink", "kink"]' out && grep -qE '"gradient_fd_left": \[-(1.0|0.99999)' out &&
    grep -qE '"gradient_fd_right": \[(1.0|0.99999)' out && grep -qF '"gradient_fd_spread": [' out
result $? "eval --fd shows both sides of a kink"
"$dshost" eval --env ./valley.so --gradient --fd > out 2> err && [ "$(grep -c '  kink: -[01].* on the left, [01].* on the right$' out)" -eq 2 ] &&
    grep -qx 'verdict   gradient agrees with differences in 0 of 2 components, kinks in 2' out
result $? "also in the table"
rough steep 'return fabs(x[0]) + fabs(x[1]);' 'g[i] = x[i] < 0 ? -1.1 : 1.1;'
"$dshost" check ./steep.so --only grad > out 2> err
[ $? -eq 8 ]
result $? "a gradient outside of both sides is a fault"
rough static 'uint64_t a, b; memcpy(&a, x, 8); memcpy(&b, x + 1, 8); return (double)(ds_random_mix(a ^ ds_random_mix(b)) >> 11) * 0x1p-53;' 'g[i] = 1;'
"$dshost" check ./static.so --only grad > out 2> err &&
    grep -qE '^ok 1 - grad.difference: .* # SKIP cannot decide: only [0-9.]+ % of [0-9]+ quotients are usable' out
result $? "noise: nothing is decided, and that is said"

# ---- ties: a gradient that is right next to x is not a fault; one that is wrong at a bound is ----
# A stop at 0.5, reached exactly at the start point and at corners: the gradient there is none of both sides, as that of
# |a - b| written as two clamps.
rough tie 'double s = x[0] + x[1]; return x[0] * x[0] + (s > 0 ? s : 0) - (s < 0 ? -s : 0);' 'g[i] = (i == 0 ? 2 * x[0] : 0) + (x[0] + x[1] != 0);'
"$dshost" check ./tie.so --only grad > out 2> err && grep -qE '^# [1-9][0-9]* of the kinks are seams' out
result $? "a gradient that is none of both sides at a tie alone is no fault, and told"
"$dshost" eval --env ./tie.so --gradient --fd > out 2> err && [ "$(grep -c '  seam: the gradient jumps next to x' out)" -eq 2 ]
result $? "eval --fd says so, too"
# A kink at the very bound of one variable, with the derivative of the side outside of the box; not of the others.
rough edge 'return 2 * x[0] + x[1] * x[1] + x[1];' 'g[i] = i == 0 ? (x[0] <= -1 ? 1.5 : 2) : i == 1 ? 2 * x[1] + 1 : 0;'
"$dshost" check ./edge.so --only grad > out 2> err &&
    grep -qE '^# [1-9][0-9]* of the kinks lie at a bound of the box: one step inside, the gradient equals the quotient' out
result $? "a kink at a bound is no fault, and told"
"$dshost" eval --env ./edge.so --gradient --fd --x=-1,0.5 > out 2> err && grep -q 'kink at the bound: one step inside' out
result $? "eval --fd says so, too"
rough halved 'return 2 * x[0] + 3 * x[1];' 'g[i] = (i == 0 ? 2 : i == 1 ? 3 : 0) * (fabs(x[i]) < 1 ? 1 : 0.5);'
"$dshost" check ./halved.so --only grad > out 2> err
[ $? -eq 8 ] && grep -q '0.5 times what they should be' out
result $? "half of the derivative at every bound is a fault"
# Of a tie at a bound the slope into the box is wanted: a cloth whose lowest vertices begin on the floor at its greatest
# length, and above it at any other.
"$dshost" eval --env swing --set env.size=true --set env.duration=0.05 --set env.cells=8 --gradient --fd \
    --x 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0.2,0.3 > out 2> err && grep -qE '^ *17  length .* [0-9.]+e-[0-9]+$' out
result $? "swing: the gradient where the cloth touches the floor at the start"
finish
