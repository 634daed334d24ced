#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Figure 7 of gradSim: the error of a mass after so many iterations of gradient descent, where pictures show colours alone,
# colours in light, with highlights, or a texture in light. Prints a table: mean relative error over 20 objects and its 95 %
# interval; the numbers are in FOLDER/errors.csv.
#
#     examples/paper/gradsim/rendering.sh                results/rendering; half a minute of processor time
#     examples/paper/gradsim/rendering.sh FOLDER --jobs 1
#
# The same command again goes on. DSHOST: the program (../dshost.sh).
here=$(dirname "$0")
. "$here/../dshost.sh"
out=${1-results/rendering}
[ $# -gt 0 ] && shift
mkdir -p "$out" || exit 6
: > "$out/errors.csv"
for budget in 1 3 5 10 20 30; do
    "$dshost" bench "$here/rendering.ini" --budget "$budget" --out "$out/$budget" "$@" > /dev/null || exit
    "$dshost" report "$out/$budget" --metrics --pool object --page-only > /dev/null || exit
    awk -F, -v k="$budget" 'NR == 1 && k == 1 { print "iterations," $0 } $3 == "error" { print k "," $0 }' \
        "$out/$budget/report/metric_cells.csv" >> "$out/errors.csv"
done
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; head = "| iterations"; rule = "| ---"; next }
    $1 != last { lines++; last = $1; line[lines] = "| " $1 }
    lines == 1 { head = head " | " $at["environment"]; rule = rule " | ---" }
    { line[lines] = line[lines] sprintf(" | %.2g [%.2g, %.2g]", $at["mean"], $at["bca95_low"], $at["bca95_high"]) }
    END { print head " |"; print rule " |"; for (k = 1; k <= lines; k++) print line[k] " |" }' "$out/errors.csv"
