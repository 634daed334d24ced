#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Table 2 of gradSim with all objects found: density, stiffness, damping, friction and its bound of 100 cubes, by `leaprefine`
# with 1500 evaluations (contact.ini). The least loss is 0, so that a run can tell that it has failed: an object whose loss
# stays above 1e-12 is searched for again, up to three times with other seeds, with more and softer pictures
# (contact_again.ini). Prints how often, and the mean errors with 95 % intervals over all 100 objects, found or not; the
# numbers are in FOLDER/errors.csv.
#
#     examples/paper/gradsim/contact.sh                results/contact_found; ten minutes of processor time
#     examples/paper/gradsim/contact.sh FOLDER --jobs 1
#
# The same command again goes on. DSHOST: the program (dshost).
here=$(dirname "$0")
dshost=${DSHOST-dshost}
out=${1-results/contact_found}
[ $# -gt 0 ] && shift
mkdir -p "$out" || exit 6

# Objects whose runs below folder $1 have not found them.
lost() {
    for summary in "$1"/contact@object=*/leaprefine/seed-*/summary.json; do
        awk -F'[:,]' '$1 ~ /"best_loss"/ && !($2 ~ /[0-9]/ && $2 + 0 <= 1e-12) { print FILENAME }' "$summary"
    done | sed 's/.*@object=\([0-9]*\).*/\1/' | sort -n
}

# The last run for each object is the one that counts.
take() {
    for run in "$1"/contact@object=*; do
        rm -rf "$out/last/$(basename "$run")" && cp -r "$run" "$out/last/" || exit 6
    done
}

"$dshost" bench "$here/contact.ini" --budget 1500 --only '*/leaprefine' --out "$out/0" "$@" > /dev/null || exit
rm -rf "$out/last" && mkdir "$out/last" || exit 6
take "$out/0"
for again in 1 2 3; do
    objects=$(lost "$out/last")
    echo "not found after $((1500 * again)) evaluations: $(echo "$objects" | grep -c .) of 100"
    for object in $objects; do
        "$dshost" bench "$here/contact_again.ini" --seed $((1000 + again)) --only "contact@object=$object/*" \
            --out "$out/$again" "$@" > /dev/null || exit
    done
    [ -z "$objects" ] || take "$out/$again"
done
echo "not found in the end: $(lost "$out/last" | grep -c .) of 100"
"$dshost" report "$out/last" --metrics --pool object --page-only > /dev/null || exit
awk -F, 'NR == 1 || $3 ~ /^error/' "$out/last/report/metric_cells.csv" > "$out/errors.csv"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { printf "%s: %.2g [%.2g, %.2g], median %.2g\n", $at["metric"], $at["mean"], $at["bca95_low"], $at["bca95_high"], $at["median"] }' \
    "$out/errors.csv"
