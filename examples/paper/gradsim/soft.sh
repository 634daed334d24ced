#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Table 3 of gradSim, Lame parameters of 100 beams and 100 balls, with what is lost searched for again: soft_wide.ini. The least
# loss is 0, so that a search can tell that it has failed (loss above 1e-10). `lm` begins elsewhere within its budget; an object
# that it has lost is searched for by `leaprefine`, up to ten times with other seeds, 200 evaluations each, 600 from the sixth
# on. Prints how many objects are not found, how many evaluations the others took, all runs of an object together, and the mean
# relative errors with 95 % intervals over all objects, found or not; the numbers are in FOLDER/errors.csv.
#
#     examples/paper/gradsim/soft.sh                       results/soft_wide; beams a quarter of an hour of processor time, balls an hour and a half
#     examples/paper/gradsim/soft.sh FOLDER --jobs 1
#     examples/paper/gradsim/soft.sh FOLDER --only 'ball@object=1/lm'
#
# Options are those of the first search; --jobs is that of all. The same command again goes on. DSHOST: the program (../dshost.sh).
set -eu
here=$(dirname "$0")
. "$here/../dshost.sh"
out=${1-results/soft_wide}
[ $# -eq 0 ] || shift
jobs=0 before=
for word; do
	[ "$before" != --jobs ] || jobs=$word
	case $word in --jobs=*) jobs=${word#--jobs=} ;; esac
	before=$word
done
case " $* " in
*" --only"*) ;;
*) set -- "$@" --only '*/lm' ;;
esac

# Lines "BODY@object=N LOSS EVALUATIONS RUN", one for each run, RUN its folder within FOLDER; then, for each object, its best loss, the evaluations of all of its
# runs, how many these are, and the folder of the best one.
runs() {
	for run in "$out"/*@object=*/*/seed-*/summary.json; do
		name=${run#"$out"/} name=${name%/summary.json}
		[ ! -e "$run" ] || awk -F'[:,]' -v run="$name" -v object="$(basename "${run%/*/*/*}")" '
			$1 ~ /"best_loss"/ { loss = $2 ~ /[0-9]/ ? $2 + 0 : 1e300 }
			$1 ~ /"evaluations"/ { n = $2 + 0 }
			END { print object, loss, n, run }' "$run"
	done
}
objects() {
	runs | awk '
		!($1 in least) || $2 < least[$1] { least[$1] = $2; folder[$1] = $4 }
		{ evaluations[$1] += $3; runs[$1]++ }
		END { for (o in least) print o, least[o], evaluations[o], runs[o], folder[o] }' | sort
}

"$dshost" bench "$here/soft_wide.ini" --out "$out" "$@" > /dev/null
for again in 1 2 3 4 5 6 7 8 9 10; do
	budget=200
	[ $again -le 5 ] || budget=600
	lost=$(objects | awk -v again=$again '$2 > 1e-10 && $4 <= again { print $1 "/leaprefine" }' | paste -sd, -)
	[ -n "$lost" ] || continue
	"$dshost" bench "$here/soft_wide.ini" --out "$out" --only "$lost" --budget $budget --seed $((1000 + again)) --jobs "$jobs" > /dev/null
done
"$dshost" report "$out" --metrics --pool object --page-only --no-pictures > /dev/null

for body in beam ball; do
	objects | grep "^$body@" | sort -k 3n | awk -v body="$body" '
		{ all++; lost += $2 > 1e-10; again += $4 > 1 }
		$2 <= 1e-10 { evaluations[++n] = $3; sum += $3 }
		END {
			if (all == 0)
				exit
			printf "%s: %d of %d not found, %d searched for again", body, lost, all, again
			if (n > 0)
				printf "; the others by %.0f evaluations in the mean, median %d, most %d", sum / n, evaluations[int((n + 1) / 2)], evaluations[n]
			print ""
		}'
done

# Errors of the best runs of a body; of both by the letter that they begin with.
best=$(objects | cut -d ' ' -f 5)
errors() { # BODY METRIC
	echo "$best" | awk -F, -v folder="/$1[a-z]*@object=" -v m="$2" '
		NR == FNR { best[$0]; next }
		$5 == m && $8 ~ folder {
			n = split($8, part, "/")
			if (part[n - 2] "/" part[n - 1] "/" part[n] in best)
				print $7
		}' - "$out/report/metrics.csv"
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
