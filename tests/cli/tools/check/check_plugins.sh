#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_plugins.sh - every bundled plugin passes the conformance kit: one of each family all tests; the others, and all under
# sanitizers, the tests that need few evaluations. With CHECK_ALL set (make check-slow), all plugins pass all tests.
. "$(dirname "$0")/../../lib.sh"
all=${CHECK_ALL-}
some=load,desc,inst.errors,inst.extensions,env.info,eval.buffers,eval.quiet,pure.want,pure.process,rl,scene,search.stop,search.repeat,search.quiet

for so in "$DS_TOP_BUILD"/plugins/envs/*.so "$DS_TOP_BUILD"/plugins/optimizers/*.so; do
    [ -e "$so" ] || continue
    id=$(basename "$so" .so)
    # torus, fluid, beam, cloth_throw and spring_cage use the same engines.
    tests=$some
    case $id in
    assembly | chopsticks | move | pinch | rollingpin | rope | table | triplemove | writer | \
        gear | soft_ball | cloth_velocity | walker | jellyfish)
        if [ -n "$DS_SANITIZE" ]; then
            skip "$id is too slow under sanitizers; others have the same engine"
            continue
        fi
        tests=load,desc,env.info,eval.quiet
        ;;
    esac
    set --
    "$dshost" help "$so" > "$tmp/help"
    if grep -q '^  preset ' "$tmp/help"; then
        set -- --set env.preset=small
    fi
    whole=$all
    case $id in
    analytic | pendulum | cartpole_gym | bounce | push | rand | cmaes | racer) [ -n "${DS_SANITIZE-}" ] || whole=yes ;;
    esac
    if [ -z "$whole" ]; then # a fifth of each episode has the same code in it; 0 steps stand for 25
        # shellcheck disable=SC2046 # words
        set -- "$@" $(awk '$2 == "=" && $1 == "duration" { printf "--set env.duration=%.4g ", $3 / 5 }
            $2 == "=" && $1 == "steps" { printf "--set env.steps=%d ", ($3 > 0 ? $3 / 5 : 5) }' "$tmp/help")
        case $id in
        # fluid steps like torus; the engine of these is tested in other processes with another plugin.
        fluid) tests=${tests%,rl,*},${tests#*,rl,} ;;
        beam | flip | pendulum_id | realtosim | rigid_mass) tests=${tests%,pure.process,*},${tests#*,pure.process,} ;;
        sac) set -- "$@" --set opt.hidden=16 --set opt.batch=16 ;;
        esac
    fi
    if [ -z "$whole" ]; then
        run "$dshost" check "$so" --only "$tests" "$@"
        result "$status" "$id passes the short tests"
    else
        run "$dshost" check "$so" "$@"
        passed=$status
        grep -q '^not ok' "$tmp/out" && grep -A4 '^not ok' "$tmp/out" | sed 's/^/#   /'
        result "$passed" "$id passes all tests"
    fi
done
finish
