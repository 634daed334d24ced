#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Table 3 of gradSim, Lame parameters of 100 beams and 100 balls, with what is lost searched for again: soft_wide.ini. The least
# loss is 0, so that a search can tell that it has failed, and another one begins elsewhere until one has found it or the budget
# is spent. Prints how many objects are not found (loss above 1e-10), how many evaluations the others took, and the mean
# relative errors with 95 % intervals over all objects, found or not; the numbers are in FOLDER/errors.csv.
#
#     examples/paper/gradsim/soft.sh                       results/soft_wide; beams a quarter of an hour of processor time, balls an hour
#     examples/paper/gradsim/soft.sh FOLDER --jobs 1
#     examples/paper/gradsim/soft.sh FOLDER --only 'ball@object=1/*'
#
# The same command again goes on. DSHOST: the program (dshost).
set -eu
here=$(dirname "$0")
dshost=${DSHOST-dshost}
out=${1-results/soft_wide}
[ $# -eq 0 ] || shift

"$dshost" bench "$here/soft_wide.ini" --out "$out" "$@" > /dev/null
"$dshost" report "$out" --metrics --pool object --page-only --no-pictures > /dev/null

# Lines "loss evaluations" of the runs of a body.
runs() { # BODY
	for run in "$out/$1"@object=*/lm/seed-*/summary.json; do
		[ ! -e "$run" ] || awk -F'[:,]' '$1 ~ /"best_loss"/ { loss = $2 ~ /[0-9]/ ? $2 + 0 : 1e300 } $1 ~ /"evaluations"/ { n = $2 + 0 }
			END { print loss, n }' "$run"
	done
}

for body in beam ball; do
	runs "$body" | sort -k 2n | awk -v body="$body" '
		$1 > 1e-10 { lost++; next }
		{ evaluations[++n] = $2; all += $2 }
		END {
			if (NR == 0)
				exit
			printf "%s: %d of %d not found", body, lost, NR
			if (n > 0)
				printf "; the others by %.0f evaluations in the mean, median %d, most %d", all / n, evaluations[int((n + 1) / 2)], evaluations[n]
			print ""
		}'
done

# Errors of the objects of a body; of both by the letter that they begin with.
errors() { # BODY METRIC
	awk -F, -v folder="/$1[a-z]*@object=" -v m="$2" '$5 == m && $8 ~ folder { print $7 }' "$out/report/metrics.csv"
}
echo "bodies,metric,objects,mean,low95,high95,median,most" > "$out/errors.csv"
for body in beam ball b; do
	name=$body
	[ $body != b ] || name=both
	for metric in error_mu error_lambda; do
		[ -z "$(errors $body $metric)" ] || echo "$name,$metric,$(errors $body $metric | sh "$here/errors.sh")" >> "$out/errors.csv"
	done
done
awk -F, 'NR > 1 { printf "%s, %s, %d objects: %.2g [%.2g, %.2g], median %.2g, largest %.2g\n", $1, $2, $3, $4, $5, $6, $7, $8 }' "$out/errors.csv"
