#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_gradients_slow.sh - the power of grad.difference at ten seeds: it refuses every fault of tests/bad/gradients and impure,
# but no right gradient of many kinds and no bundled environment. Prints a table of each with the shares of quotients that
# agree, show a kink, cannot be decided, or disagree. SEEDS="1 2" selects other seeds.
. "$(dirname "$0")/../../lib.sh"
bad=$DS_TOP_SRC/tests/bad
seeds=${SEEDS:-1 2 3 4 5 6 7 8 9 10}
cd "$tmp" || exit 99

# ---- faults ----
fault() { # fault ID TEST OF FLAGS...: plugin OF of tests/bad, called ID
    id=$1
    test=$2
    of=$3
    shift 3
    refused=0 runs=0 accepted=
    compile_bad "$of" "$id" "$@" > out 2> err || accepted=" it does not compile"
    for seed in $seeds; do
        runs=$((runs + 1))
        if "$dshost" check "./$id.so" --only "$test" --seed "$seed" > out 2> err; then
            accepted="$accepted $seed"
        elif [ $? -eq 8 ]; then
            refused=$((refused + 1))
        fi
    done
    printf '# %-22s refused at %2d of %2d seeds\n' "$id" "$refused" "$runs"
    [ "$refused" -eq "$runs" ]
    result $? "$id${accepted:+: accepted at$accepted}"
}
for name in $(bad_ids gradients) $(bad_ids impure); do
    case $name in
    after_loss) test=pure.want ;;
    kept_*) test=pure.beside ;;
    wears_out | once_in_many) test=pure.often ;;
    *) test=grad.difference ;;
    esac
    fault "$name" $test "$name"
    # The same in single precision, as far as it resolves the fault, and with other numbers of variables.
    case $name in
    one_component | first_zero | last_zero | exchanged | scaled | clamped | wrong_sign | stale | wrong_outside | half_space)
        fault "${name}_single" grad.difference "$name" -DBAD_REAL=float
        ;;
    esac
    case $name in
    one_component | first_zero | half_term | exchanged | scaled | clamped | wrong_sign | near_bounds)
        fault "${name}_7" grad.difference "$name" -DBAD_N=7
        fault "${name}_300" grad.difference "$name" -DBAD_N=300
        ;;
    esac
done

# ---- right gradients ----
printf '#define BAD_ID "sound"\n#include "smooth_base.h"\n' > sound.c
while read -r id flags; do
    refused=
    sed "s/\"sound\"/\"$id\"/" sound.c > "$id.c"
    # shellcheck disable=SC2086
    ${DS_CC:-cc} -O1 -fPIC -shared -fvisibility=hidden $flags -I"$DS_TOP_SRC/include" -I"$bad" -o "$id.so" "$id.c" -lm > out 2> err || refused=" it does not compile"
    for seed in $seeds; do
        "$dshost" check "./$id.so" --only grad --seed "$seed" > out 2> err || refused="$refused $seed"
    done
    [ -z "$refused" ]
    result $? "$id passes${refused:+, but not at$refused}: $(sed -n 's/^# where they agree, //p' out)"
done << 'END'
right_7 -DBAD_N=7
right_40 -DBAD_N=40
right_300 -DBAD_N=300
right_1000 -DBAD_N=1000
right_limit -DBAD_LIMIT=1.2
single_7 -DBAD_N=7 -DBAD_REAL=float
single_40 -DBAD_N=40 -DBAD_REAL=float
single_200 -DBAD_N=200 -DBAD_REAL=float
END

# ---- our environments: shares of the quotients along components and directions, in per cent ----
shares() { # shares OF: agree kink undecided disagree
    sed -n "s/^# \([0-9]*\) quotients along $1: \([^ ]*\) % agree, \([^ ]*\) % show a kink, \([^ ]*\) % cannot .*, \([^ ]*\) % disagree\$/\1: \2 \3 \4 \5/p" out
}
survey() { # survey SEED ENV PARAMETER=VALUE...
    seed=$1
    env=$2
    shift 2
    what="$env${*:+ $*}"
    for set; do
        shift
        set -- "$@" --set "env.$set"
    done
    begin=$(date +%s)
    "$dshost" check "$env" --only grad --seed "$seed" "$@" > out 2> err
    status=$?
    verdict=passes
    grep -q '# SKIP' out && verdict=undecided
    [ $status -eq 0 ] || verdict=refused
    printf '# %-52s %-9s %3d s | components %s | directions %s\n' "$what" "$verdict" $(($(date +%s) - begin)) \
        "$(shares 'single components')" "$(shares 'random directions')"
    result $status "$what, seed $seed: $verdict"
}
echo "# shares: number of quotients: agree, kink, cannot be decided, disagree (%)"
for seed in 1 2; do
    for task in rope assembly chopsticks rollingpin table pinch writer triplemove move torus; do
        survey $seed $task preset=small
        survey $seed $task preset=small steps=4
        survey $seed $task preset=small steps=4 precision=f32
    done
    for sets in contact=hard loss=final loss=step_sum; do
        survey $seed rope preset=small steps=4 $sets
    done
    survey $seed fluid preset=small
    survey $seed fluid preset=small precision=f32
    while read -r line; do
        # shellcheck disable=SC2086
        survey $seed $line
    done << 'END'
swing
swing duration=0.2
swing variables=velocity duration=0.3
swing size=true duration=0.2
flip
flip duration=0.2
realtosim
realtosim r2s_norm=sq
cartpole
cartpole variant=nimble
cartpole links=2
cartpole links=3
cartpole links=5
cartpole links=10
pinball
pinball steps=300
pinball variant=pinball16
pinball gradient=saltation
smoke
smoke target=ring size=48 steps=30
smoke variables=field size=16 steps=20
beam duration=0.3
beam duration=0.3 observe=state
soft_ball duration=0.3 observe=state
cloth_velocity duration=0.3
cloth_throw duration=0.3 observe=state
walker duration=0.2
gear duration=0.2
jellyfish duration=0.3
cloth_velocity scene=slide duration=0.3 variables=contact_mu,contact_ke,rest_area,rest_angle
rigid_mass variables=mass,force,vertices stretch=1.2,0.9,0.8
spring_cage
pendulum_id
pendulum_id observe=state
double_pendulum
double_pendulum variant=lengths
double_pendulum variant=damping n_samples=300
double_pendulum variant=synthetic
double_pendulum variant=synthetic rollout=onestep
double_pendulum variant=initial n_samples=301
cube_throw n_samples=150
cube_throw n_samples=150 friction=brown network_force=50
cube_throw n_samples=150 hc_repo=true damping_fade=softsign fade_rate=20 network_force=50
billiards smooth=true mu=0
ball2d
rigid_mass shape=cone variables=masses scene=video observe=state
bounce
bounce variant=paper
bounce steps=60
pendulum
pendulum variant=gym
pendulum variant=swingup200
heaviside dim=3
soft_heaviside dim=3
sine_quadratic
lp_norm dim=50
momentum
ball_wall
pusher1d
pusher1d softness=barrier
hydro2d
hydro2d contact=point
hydro2d scene=B
hydro2d scene=B contact=point
hydro2d scene=C
hydro2d scene=C contact=corners
push
push set=k1000 softness=softplus
push_far contact_loss=1
push_far contact_loss=1 proximity=soft
friction
spring_wall
spring_wall set=k4000
roomba
roomba robot=bicycle
pivot
pivot arm=along softness=none
ball_wall_soft
ball_wall_soft variant=hard
ball_wall_soft variant=hard dome=true
tennis
tennis contact=bounce
tennis contact=rounded
tennis contact=box
lqr states=10
END
    for f in sphere ellipsoid cigar tablet sharp_ridge rosenbrock rastrigin ackley schaffer_f7 griewank branin hartmann3 \
        hartmann6 camel6 rugged plateau valley bbob_f1 bbob_f2 bbob_f3 bbob_f8 bbob_f10 bbob_f15 bbob_f17 bbob_f18 bbob_f21; do
        survey $seed analytic function=$f
    done
done
finish
