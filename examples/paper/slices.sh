#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The slices of the paper's landscape figures: draws each and prints least and largest loss beside the published ones.
#
#     examples/paper/slices.sh                           results/slices; three quarters of an hour on two busy cores
#     examples/paper/slices.sh FOLDER --grid 31x31       flags are those of dshost landscape
#
# The same command again goes on. Variables of the shell change more:
#
# DSHOST   the program (dshost.sh)
# TASKS    which of them (all)
# TARGETS  folder with PlasticineLab's target densities, NAME3D-vK.npy (built-in targets)
# RUNS     folder with runs RUNS/TASK, whose best points are the slices' base points (all variables 0)
#
# Base points, targets and weight of the contact term are not published.
tasks='assembly table triplemove writer pinball2 pinball16 flip fluid'
for task in ${TASKS-$tasks}; do
    case " $tasks " in
    *" $task "*) ;;
    *) echo "slices.sh: TASKS: there is no task '$task'; there are: $tasks" >&2 && exit 2 ;;
    esac
done
default=results/slices
. "$(dirname "$0")/dshost.sh"
. "$(dirname "$0")/slice.sh"

# slice FLAGS: the landscape of the line that was read, or the rest of it
slice() {
    case $task in
    flip) env=$task ;;
    pinball*) env=pinball ;;
    *) env=$task && set -- --set env.precision=f32 "$@" ;;
    esac
    [ "$set" = - ] || set -- --set "env.$set" "$@"
    [ -z "${TARGETS-}" ] || [ "$file" = - ] || set -- --set "env.target=$TARGETS/$file.npy" "$@"
    [ -z "${RUNS-}" ] || [ ! -d "$RUNS/$task" ] || set -- --center "$RUNS/$task" "$@"
    landscape "$folder" --env "$env" --axes "$axes" --grid 15x15 --no-gradient --samples 20 --jumps 10 "$@"
}

printf '%-12s %-7s %-22s %s\n' task axes here published
while read -r task axes low high file set; do
    case " ${TASKS-$task} " in *" $task "*) ;; *) continue ;; esac
    folder=$out/$task-$axes
    slice "$@" > "$folder.txt" 2> "$folder.log" || {
        status=$?
        cat "$folder.log" >&2
        exit $status
    }
    here=$(sed -n 's/^loss  *\([^ ]*\) to \([^,]*\),.*/\1 .. \2/p' "$folder.txt")
    printf '%-12s %-7s %-22s %s\n' "$task" "$axes" "$here" "$low .. $high"
done << 'END'
assembly   0,1   23.25 43.50 Assembly3D-v1 -
assembly   1,2   23.50 43.75 Assembly3D-v1 -
assembly   4,5   23.4 41.4 Assembly3D-v1 -
table      0,2   14.5 55.0 Table3D-v5 variant=5
table      2,5   14.4 86.4 Table3D-v5 variant=5
table      12,14 14.34 20.28 Table3D-v5 variant=5
triplemove 0,1   49.2 85.2 TripleMove3D-v1 -
triplemove 1,2   49.2 76.2 TripleMove3D-v1 -
triplemove 3,5   49.25 71.75 TripleMove3D-v1 -
writer     0,3   3.76 7.36 Writer3D-v1 -
writer     1,4   3.75 14.55 Writer3D-v1 -
writer     2,5   3.84 7.44 Writer3D-v1 -
pinball2   0,1   0.4 8.5 - variant=pinball2
pinball16  13,14 0.32 6.80 - variant=pinball16
flip       0,1   0.018 0.558 - -
flip       1,2   0.018 0.558 - -
flip       0,2   0.030 0.624 - -
fluid      0,1   0.00 0.72 - -
fluid      6,8   0.00 0.72 - -
fluid      8,9   0.00 0.72 - -
END
