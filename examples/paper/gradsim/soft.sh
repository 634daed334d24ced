#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Table 3 of gradSim, Lame parameters of balls, with what is lost searched for again: soft_wide.ini by `leaprefine`, 60
# evaluations each. The least loss is 0, so that a run can tell that it has failed: where it stays above 1e-10 it goes on to 200
# evaluations, then another one begins with the next seed. Of an object the run with the least loss counts. Prints how many are
# not found, and the mean relative errors with 95 % intervals over all objects, found or not; the numbers are in FOLDER/errors.csv.
#
#     examples/paper/gradsim/soft.sh                       results/soft_wide; half an hour of processor time
#     examples/paper/gradsim/soft.sh FOLDER --jobs 1
#
# The same command again goes on. DSHOST: the program (dshost).
set -eu
here=$(dirname "$0")
dshost=${DSHOST-dshost}
out=${1-results/soft_wide}
[ $# -eq 0 ] || shift

# The cells none of whose runs has found its object.
lost() {
	for cell in "$out"/*@object=*/leaprefine; do
		awk -F'[:,]' -v cell="$cell" '$1 ~ /"best_loss"/ && $2 + 0 <= 1e-10 { found = 1 }
			END { if (!found) { sub(/\/leaprefine$/, "", cell); sub(/.*\//, "", cell); print cell } }' "$cell"/seed-*/summary.json
	done
}

# More of all that is lost.
search() {
	for cell in $(lost); do
		"$dshost" bench "$here/soft_wide.ini" --out "$out" "$@" --only "$cell/*" > /dev/null
	done
}

if [ ! -e "$out/begun" ]; then # afterwards some runs have a larger budget
	"$dshost" bench "$here/soft_wide.ini" --budget 60 --out "$out" "$@" > /dev/null
	: > "$out/begun"
fi
echo "not found by 60 evaluations: $(lost | grep -c . || true)"
for runs in 1 2 3; do
	search --runs "$runs"
	echo "not found by $runs runs of 200: $(lost | grep -c . || true)"
done
"$dshost" report "$out" --metrics --page-only --no-pictures > /dev/null

# Of each object the run with the least loss.
found() { # METRIC
	awk -F, -v m="$1" '
		$5 == m && (!($1 in least) || $4 + 0 < least[$1]) { least[$1] = $4 + 0; value[$1] = $7 }
		END { for (e in value) print value[e] }' "$out/report/metrics.csv"
}
echo "metric,objects,mean,low95,high95,median,most" > "$out/errors.csv"
for metric in error_mu error_lambda; do
	echo "$metric,$(found "$metric" | sh "$here/errors.sh")" >> "$out/errors.csv"
done
awk -F, 'NR > 1 { printf "%s, %d objects: %.2g [%.2g, %.2g], median %.2g, largest %.2g\n", $1, $2, $3, $4, $5, $6, $7 }' "$out/errors.csv"
