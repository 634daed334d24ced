#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_plugins.sh - every plugin of the tree passes the conformance kit: the whole of it where that is
# quick, else, and under sanitizers, the tests that need few evaluations. With CHECK_ALL set
# (check_plugins_slow.sh) the whole of it for all.
. "$(dirname "$0")/../../lib.sh"
all=${CHECK_ALL-}
some=load,desc,inst.errors,inst.extensions,env.info,eval.buffers,eval.quiet,pure.want,pure.process,rl,scene,search.stop,search.repeat,search.quiet

for so in "$DS_TOP_BUILD"/plugins/envs/*.so "$DS_TOP_BUILD"/plugins/optimizers/*.so; do
    [ -e "$so" ] || continue
    id=$(basename "$so" .so)
    case ${DS_SANITIZE:+sanitized}-$id in
    sanitized-assembly | sanitized-chopsticks | sanitized-move | sanitized-pinch | sanitized-rollingpin | sanitized-rope | \
        sanitized-table | sanitized-triplemove | sanitized-writer)
        skip "$id is too slow under sanitizers; torus has the same engine"
        continue
        ;;
    sanitized-gear | sanitized-soft_ball | sanitized-cloth_velocity | sanitized-walker)
        skip "$id is too slow under sanitizers; beam, cloth_throw and spring_cage have the same engine"
        continue
        ;;
    esac
    set --
    "$dshost" help "$so" > "$tmp/help"
    if grep -q '^  preset ' "$tmp/help"; then
        set -- --set env.preset=small
    fi
    if [ -n "${DS_SANITIZE-}" ]; then # a fifth of each episode has the same code in it; 0 steps stand for 50
        # shellcheck disable=SC2046 # words
        set -- "$@" $(awk '$2 == "=" && $1 == "duration" { printf "--set env.duration=%.4g ", $3 / 5 }
            $2 == "=" && $1 == "steps" { printf "--set env.steps=%d ", ($3 > 0 ? $3 / 5 : 10) }' "$tmp/help")
    fi
    slow=${DS_SANITIZE-}
    case $id in bo | ball2d | cube_throw | double_pendulum) slow=many ;; esac # quick, and the whole kit takes ten seconds and more
    if [ -z "$slow" ]; then # milliseconds of one evaluation, or of the optimizer's own work for one
        run "$dshost" check "$so" --only speed "$@"
        slow=$(sed -n 's/^# one evaluation: \([^ ]*\) ms.*/\1 3/p; s/^# \([^ ]*\) ms of its own.*/\1 1/p' "$tmp/out" |
            awk '{ print ($1 > $2) ? "slow" : "" }')
    fi
    if [ -n "$slow" ] && [ -z "$all" ]; then
        run "$dshost" check "$so" --only "$some" "$@"
        result "$status" "$id passes the short tests"
    else
        run "$dshost" check "$so" "$@"
        passed=$status
        grep -q '^not ok' "$tmp/out" && grep -A4 '^not ok' "$tmp/out" | sed 's/^/#   /'
        result "$passed" "$id passes all tests"
    fi
done
finish
