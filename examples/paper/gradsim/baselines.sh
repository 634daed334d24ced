#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tables 1 to 3 of gradSim, the rows without a search: Average guesses the mean of the population, Random another object of it.
# Masses of single vertices are uniform in (0.2, 0.3) kg; the other quantities are uniform between their bounds, a tenth of
# their distance away from each (parameter object), most of them as logarithms. Prints mean errors over the objects with
# 95 % intervals, relative to the target, of velocities in m/s; the numbers are in FOLDER/errors.csv.
#
#     examples/paper/gradsim/baselines.sh                results/baselines, 40 objects each; a minute of processor time
#     examples/paper/gradsim/baselines.sh FOLDER 5       5 objects each
#
# DSHOST: the program (../dshost.sh).
here=$(dirname "$0")
. "$here/../dshost.sh"
out=${1-results/baselines}
objects=${2-40}
mkdir -p "$out" || exit 6
echo "table,guess,metric,objects,mean,low95,high95,median,most" > "$out/errors.csv"

# numbers GUESS OBJECT: one number for each variable; standard input has lines "lower upper log" (a mass: "0.2 0.3 mass")
numbers() {
    awk -v guess="$1" -v seed="$2" 'BEGIN { srand(1000 + seed) }
        { share = $3 == "mass" ? 0 : 0.1; low = $1 + share * ($2 - $1); high = $2 - share * ($2 - $1)
          u = low + (high - low) * rand(); mean = (low + high) / 2
          if ($3 == "log") mean = log((exp(high * log(10)) - exp(low * log(10))) / (high - low) / log(10)) / log(10)
          printf("%s%.17g", NR > 1 ? "," : "", guess == "average" ? mean : u) }'
}

# guess TABLE METRICS VARIABLES FLAGS: VARIABLES has a line for each
guess() {
    table=$1 metrics=$2 variables=$3
    shift 3
    for guess in average random; do
        : > "$out/$table.$guess"
        object=0
        while [ $((object += 1)) -le "$objects" ]; do
            x=$(printf '%s\n' "$variables" | numbers $guess $object)
            "$dshost" eval "$@" --set "env.object=$object" --set env.image_size=8 --x "$x" --metrics >> "$out/$table.$guess" || exit
        done
        for metric in $metrics; do
            echo "$table,$guess,$metric,$(awk -v m="$metric" '$1 == m { print $2 }' "$out/$table.$guess" |
                sh "$here/errors.sh")" >> "$out/errors.csv"
        done
    done
}

# repeat LINE COUNT
repeat() {
    awk -v line="$1" -v count="$2" 'BEGIN { for (i = 0; i < count; i++) print line }'
}

guess mass error "$(repeat '0.2 0.3 mass' 8)" --env rigid_mass --set env.scene=video --set env.shape=box --set env.variables=masses
guess contact "error_density error_ke error_kd error_kf error_mu" \
    "$(printf '0.30103 1.07918 log\n3 4.30103 log\n0.477121 2 log\n1 3 log\n0.1 1 -')" --env rigid_contact --set env.duration=0.1
guess beam "error_mu error_lambda" "$(repeat '1.7 4 log' 2)" --env beam --set env.duration=0.05
guess ball "error_mu error_lambda" "$(repeat '2 4 log' 2)" --env soft_ball --set env.duration=0.05
guess masses error "$(repeat '-0.5 0.5 log' 85)" --env soft_ball --set env.variables=masses --set env.duration=0.05
guess velocities error "$(repeat '-2 2 -' 693)" --env cloth_velocity --set env.variables=velocities --set env.duration=0.05
awk -F, 'NR > 1 { printf "%s, %s, %s: %.3g [%.3g, %.3g], %d objects\n", $1, $2, $3, $5, $6, $7, $4 }' "$out/errors.csv"
