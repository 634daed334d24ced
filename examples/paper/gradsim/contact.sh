#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Table 2 of gradSim with all objects found: density, stiffness, damping, friction and its bound of 100 cubes, by `leaprefine`
# with 1500 evaluations (contact.ini). The least loss is 0, so that a run can tell that it has failed: an object whose loss
# stays above 1e-12 is searched for again, up to five times with other seeds, with more and softer pictures
# (contact_again.ini). Prints how often, and the mean errors with 95 % intervals over all 100 objects, found or not; the
# numbers are in FOLDER/errors.csv.
#
#     examples/paper/gradsim/contact.sh                results/contact_found; ten minutes of processor time
#     examples/paper/gradsim/contact.sh FOLDER --jobs 1
#
# The same command again goes on. DSHOST: the program (../dshost.sh).
here=$(dirname "$0")
. "$here/../dshost.sh"
out=${1-results/contact_found}
[ $# -gt 0 ] && shift
mkdir -p "$out" || exit 6

# The best loss of the run in folder $1.
loss() {
    awk -F'[:,]' '$1 ~ /"best_loss"/ { print $2 ~ /[0-9]/ ? $2 + 0 : 1e300 }' "$1"/leaprefine/seed-*/summary.json
}

# Objects that are not found.
lost() {
    for run in "$out"/best/contact@object=*; do
        loss "$run" | awk -v run="$run" '$1 > 1e-12 { sub(/.*=/, "", run); print run }'
    done | sort -n
}

# Keeps what is best of each object; losses of contact.ini are of other pictures than those of contact_again.ini.
keep() {
    for run in "$1"/contact@object=*; do
        kept=$out/best/$(basename "$run")
        if [ "$1" = "$out/0" ] || [ "$1" = "$out/1" ] || echo "$(loss "$run") $(loss "$kept")" | awk '{ exit !($1 < $2) }'; then
            rm -rf "$kept" && cp -r "$run" "$kept" || exit 6
        fi
    done
}

rm -rf "$out/best" && mkdir "$out/best" || exit 6
"$dshost" bench "$here/contact.ini" --budget 1500 --only '*/leaprefine' --out "$out/0" "$@" > /dev/null || exit
keep "$out/0"
for again in 1 2 3 4 5; do
    objects=$(lost)
    echo "not found by $again runs: $(echo "$objects" | grep -c .) of 100"
    for object in $objects; do
        "$dshost" bench "$here/contact_again.ini" --seed $((1000 + again)) --only "contact@object=$object/*" \
            --out "$out/$again" "$@" > /dev/null || exit
    done
    [ -z "$objects" ] || keep "$out/$again"
done
echo "not found by 6 runs: $(lost | grep -c .) of 100"
"$dshost" report "$out/best" --metrics --pool object --page-only > /dev/null || exit

# Of all objects, whichever pictures they were found by; the interval is that of the bootstrap, by percentiles.
echo "metric,objects,mean,low95,high95,median,most" > "$out/errors.csv"
for metric in error_density error_ke error_kd error_kf error_mu; do
    echo "$metric,$(awk -F, -v m="$metric" '$5 == m { print $7 }' "$out/best/report/metrics.csv" | sh "$here/errors.sh")" >> "$out/errors.csv"
done
awk -F, 'NR > 1 { printf "%s: %.2g [%.2g, %.2g], median %.2g, largest %.2g\n", $1, $3, $4, $5, $6, $7 }' "$out/errors.csv"
