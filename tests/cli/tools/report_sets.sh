#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Samples of report, compare, plot and export: finished runs of one problem and one method, each counted once. All other runs
# are kept apart or left out, with a message.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

# make FOLDER OPTIMIZER RUNS BUDGET ARGUMENT...: runs on analytic in two dimensions.
make() {
    folder=$1
    opt=$2
    runs=$3
    budget=$4
    shift 4
    "$dshost" --env analytic --opt "$opt" --runs "$runs" --budget "$budget" --set env.dim=2 --pictures no --out "$folder" "$@" \
        >"$tmp/out" 2>"$tmp/err" || result 1 "runs of $folder"
}
# column FILE NAME: where a column is.
column() {
    head -n 1 "$1" | tr , '\n' | grep -nx "$2" | cut -d: -f1
}
report() {
    "$dshost" report "$@" --no-pictures --out page >"$tmp/out" 2>"$tmp/err"
}
cells() {
    cut -d, -f1-3 page/cells.csv | tail -n +2 | tr '\n' ' '
}

# ---- different problems and methods ----
make mix/a rand 3 20 --set env.function=sphere
make mix/b rand 3 20 --set env.function=rastrigin
make mix/c cmaes 3 20 --set env.function=sphere
report mix
[ "$(cells)" = "analytic@function=rastrigin,rand,3 analytic@function=sphere,cmaes,3 analytic@function=sphere,rand,3 " ]
result $? "two functions are two environments"
grep -q 'warning: analytic: its runs differ in function' "$tmp/err"
result $? "and that is said"
make sigma/a cmaes 3 20 --set env.function=sphere --set opt.sigma0=0.1
make sigma/b cmaes 3 20 --set env.function=sphere --set opt.sigma0=0.4 --jobs 2
report sigma
[ "$(cells)" = "analytic,cmaes@sigma0=0.1,3 analytic,cmaes@sigma0=0.4,3 " ]
result $? "two settings of a method are two optimizers, the number of jobs is none"
refuses 2 'of 2 optimizers: choose one, say sigma:cmaes@sigma0=0.1' "compare asks which" "$dshost" compare sigma mix/c
status 0 "and takes one" "$dshost" compare sigma:cmaes@sigma0=0.1 sigma:cmaes@sigma0=0.4
refuses 2 'in common: the first has analytic@function=sphere' "compare of different problems" "$dshost" compare mix/a mix/b
mkdir version
cp -r mix/a mix/c version/
if command -v sqlite3 >/dev/null; then
    for d in version/a/seed-*; do
        sed -i 's/^    "env": .*/    "env": "99",/' "$d/summary.json"
        old_format "$d" # what a record with checksums says cannot be changed
        sqlite3 "$d/run.sqlite" "update meta set value = '99' where key = 'env_version'"
    done
report version
cells | grep -q 'analytic@version=99,rand,3'
result $? "two versions of a plugin are two environments"
report version --any-version
[ "$(cells)" = "analytic,cmaes,3 analytic,rand,3 " ] && ! grep -q 'kept apart' "$tmp/err"
result $? "or one, where that is said"
for d in version/a/seed-*; do
    sqlite3 "$d/run.sqlite" "delete from setting where key = 'fail_rate'"
done
report version
cells | grep -q 'analytic@fail_rate=,rand,3' && grep -q 'differ in fail_rate: .*; --any-version treats them as one$' "$tmp/err"
result $? "a parameter that one version lacks is a difference"
report version --any-version
[ "$(cells)" = "analytic,cmaes,3 analytic,rand,3 " ] && ! grep -q 'kept apart' "$tmp/err" &&
    grep -q 'Runs on different versions of an environment are treated as one' page/index.html
result $? "or none, and the page says so"
for d in version/a/seed-*; do
    sqlite3 "$d/run.sqlite" "update setting set value = '0.25' where key = 'noise'"
done
report version --any-version
cells | grep -q 'analytic@noise=0.25,rand,3' && ! grep -q 'any-version' "$tmp/err"
result $? "another value stays one"

# ---- a version without the parameters of networks ----
mkdir hooked
hooked() { # FOLDER FIRST_SEED SETTINGS...
    folder=$1
    seed=$2
    shift 2
    "$dshost" --env push --opt rand --runs 2 --seed "$seed" --budget 4 --pictures no --out "$folder" --set env.steps=5 "$@" \
        >"$tmp/out" 2>"$tmp/err" || result 1 "runs of $folder"
}
hooked hooked/a 0
hooked hooked/b 2
for d in hooked/b/seed-*; do
    sed -i 's/^    "env": .*/    "env": "1",/' "$d/summary.json"
    old_format "$d"
    sqlite3 "$d/run.sqlite" "update meta set value = '1' where key = 'env_version';
        delete from setting where key like 'residual%'"
done
report hooked
cells | grep -q '^push,rand,4 $' && grep -q 'push: versions 1 and 2 are treated as one' "$tmp/err" &&
    ! grep -q 'kept apart' "$tmp/err"
result $? "versions that compute the same are one though the earlier one lacks residual and what belongs to it"
hooked hooked/c 0 --set 'env.residual=actuation = control | - | identity'
report hooked
cells | grep -q 'push@residual=,rand,4 ' && grep -q 'kept apart' "$tmp/err"
result $? "a run with a network is another environment"
else
    skip "two versions: no sqlite3"
fi
make dims/a rand 2 20
make dims/b rand 2 20 --set env.dim=5
report dims
[ "$(cells)" = "analytic@dim=2,rand,2 analytic@dim=5,rand,2 " ] && grep -q '<p>2 variables' page/index.html && grep -q '<p>5 variables' page/index.html
result $? "as are two dimensions"
status 0 "COCO has two functions" "$dshost" export mix --format coco --out cc
[ "$(grep -c '"id"' cc.json)" -eq 2 ]
result $? "with names of their own"

# ---- an export in the place of another ----
for format in ioh coco; do
    status 0 "$format of two optimizers" "$dshost" export mix --format $format --out ex/
    touch ex/rand/notes.txt
    status 0 "$format of one" "$dshost" export mix/c --format $format --out ex
    [ -f ex/rand/notes.txt ] && [ ! -e ex/cmaes ] && [ "$(find ex/rand | wc -l)" -eq 2 ] && [ -f ex.json ] && [ ! -e ex/.json ]
    result $? "nothing is left of the others but what is not of the export"
    status 0 "again" "$dshost" export mix/c --format $format --out ex
    find ex -type f ! -name notes.txt | sed 's,^ex/,,' | sort > is
    sed -n '/"files"/,$s/^    "\(.*\)",*$/\1/p' ex.json | sort > told
    cmp -s is told && [ -s is ]
    result $? "and the note lists what is there"
    sed '/"files"/,$d' ex.json | sed '$s/,$//' > older && echo '}' >> older && cp older ex.json
    refuses 2 'lists no files of an earlier export' "a note without such a list" "$dshost" export mix --format $format --out ex
    cmp -s older ex.json && [ "$(find ex -type f ! -name notes.txt | wc -l)" -eq "$(wc -l < is)" ]
    result $? "leaves all as it is"
    rm -r ex ex.json
done

# Names of a folder: one note for all of them; a path that is not a folder; a folder that is not an export.
export_to() { # FOLDER OUT
    run "$dshost" export "$1" --format ioh --out "$2"
}
export_to mix ex && ln -s ex link && export_to mix/c link && [ ! -e ex/rand ] && [ ! -e link.json ] &&
    export_to mix ex/. && [ -e ex/rand ] && export_to mix/c ex/../ex && [ ! -e ex/rand ] && [ -z "$(ls -A ex | grep json$ | grep -v ^IOH)" ]
result $? "each name of the folder has the same note"
for place in '' /; do
    refuses 2 'name a separate folder' "export to '$place'" "$dshost" export mix --format ioh --out "$place"
done
mkdir ex/sub && echo mine > ex/IOHmine && echo mine > victim && mkdir other && echo mine > other/IOHprofiler_f9.dat && ln -s ../other ex/way
printf '{"format": "ioh", "functions": [], "files": ["..", ".", "", "IOHmine", "../IOHprofiler_f1", "sub", "way/IOHprofiler_f9.dat", "sub/../IOHprofiler_f1_a", "%s/victim", 7]}' \
    "$PWD" > ex.json
status 0 "a note with names that no export has written" "$dshost" export mix/c --format ioh --out ex
[ -d ex/sub ] && [ -f ex/IOHmine ] && [ -f victim ] && [ -f other/IOHprofiler_f9.dat ]
result $? "removes none of these"
for text in '{"format": "ioh", "func' '[1, 2]' '{"a": 1}'; do
    echo "$text" > ex.json
    refuses 2 'lists no files of an earlier export' "a note that is $text" "$dshost" export mix --format ioh --out ex
done
[ "$(cat ex.json)" = '{"a": 1}' ] && [ ! -e ex/rand ]
result $? "stays, and nothing is written"
rm -r ex ex.json
# What cannot be exported leaves the export before it.
make some/good/a rand 2 20
make some/good/b cmaes 2 20
"$dshost" --env analytic --opt rand --runs 2 --budget 20 --set env.fail_rate=1 --set run.max_failed=1 --pictures no --out some/bad > out 2> err
status 0 "an export" "$dshost" export some/good --format coco --out ex
find ex -type f | sort > before
refuses 6 'no evaluation has a loss' "one that cannot be made" "$dshost" export some --format coco --out ex
find ex -type f | sort > after
cmp -s before after
result $? "leaves that one alone"

# ---- each run once ----
report mix/a mix/a mix/../mix/a
[ "$(cells)" = "analytic,rand,3 " ]
result $? "a folder that is named twice counts once"
mkdir twice
cp -r mix/a twice/first
cp -r mix/a twice/second
report twice
[ "$(cells)" = "analytic,rand,6 " ] && grep -q 'warning: .*same environment, optimizer and seed' "$tmp/err"
result $? "copies are pointed out"

# ---- budgets ----
make long rand 3 60 --set env.function=sphere
status 0 "compare different budgets" "$dshost" compare mix/a long
grep -q 'different budgets: A 20, B 60' "$tmp/out" && grep -q '; 20 evaluations, ' "$tmp/out"
result $? "says so"
"$dshost" compare mix/a long --json | tr -d ' \n' | grep -q '"budget":\[60,60\].*"same_budget":false'
result $? "also as JSON"
mkdir both
cp -r mix/a both/short
cp -r mix/c both/cmaes
make both/c2 cmaes 2 60 --set env.function=sphere --seed 50
report both
last() {
    awk -F, -v o="$1" '$1 == o { v = $2 } END { print v }' page/figures/evaluations-analytic.csv
}
[ "$(last rand)" = 20 ] && [ "$(last cmaes)" = 60 ]
result $? "a curve ends with the longest run of its optimizer"

# ---- few runs, failed runs ----
mkdir one
cp -r mix/a/seed-0 one/
report one
[ "$(tail -n 1 page/cells.csv | cut -d, -f5,11-14)" = ",,,," ]
result $? "one run has no interval"
status 0 "nor in compare" "$dshost" compare one mix/c
grep -q '1 run, mean [^ ]*, median' "$tmp/out" && ! grep -q 'nan' "$tmp/out"
result $? "and no nan"
# Random points on which the environment fails or not, one for each run.
for opt in rand cmaes; do
    "$dshost" --env "$faulty" --set env.n=3 --set env.fault=error --set env.share=0.4 --set run.max_failed=1 --opt $opt \
        --runs 8 --budget $([ $opt = rand ] && echo 1 || echo 30) --pictures no --out bad/$opt >"$tmp/out" 2>"$tmp/err" ||
        result 1 "runs that fail"
done
report bad
at=$(column page/runs.csv score)
[ "$(awk -F, -v k="$at" '$2 == "rand" && $8 == "" { print $k }' page/runs.csv | sort -u)" = 0 ]
result $? "a run without a valid loss scores 0"
grep -q 'worst mean (there is no random search)' page/index.html
result $? "random search with a failed run is no scale"

# ---- unfinished and damaged runs ----
mkdir part
cp -r mix/a mix/c part/
mkdir -p part/open
cp -r mix/b/seed-0 part/open/
rm part/open/seed-0/summary.json
cp -r mix/b/seed-1 part/open/
printf 'no store' >part/open/seed-1/run.sqlite
report part
[ "$(cells)" = "analytic,cmaes,3 analytic,rand,3 " ]
result $? "what did not finish tells nothing apart"
grep -q 'seed-0</td><td>unfinished: 20 of 20</td><td>no summary yet' page/index.html
result $? "its evaluations are those of its store"
grep -q 'seed-1/run.sqlite' page/index.html && grep -q 'warning: left out: .*seed-1/run.sqlite' "$tmp/err"
result $? "a damaged store is left out, with a warning"
status 6 "a plot of the others" "$dshost" plot part --kind bars --out part.svg
status 6 "export of the others" "$dshost" export part --format coco --out part-coco
grep -q 'warning: left out: part/open/seed-0 did not finish: no summary yet, 20 evaluations' "$tmp/err" &&
    ! grep -q 'part/open' part-coco.json
result $? "names what it leaves out"
refuses 6 'no finished run' "export where none has finished" "$dshost" export part/open --format ioh
mkdir none
cp -r part/open/seed-1 none/
refuses 6 'no run counts; the first of 1' "report where there is none at all" "$dshost" report none

# ---- unfinished runs of an optimizer that has no others ----
"$dshost" --env "$faulty" --set env.n=2 --set env.work=0.02 --opt cmaes --budget 1000 --pictures no \
    --out going/cmaes >"$tmp/log" 2>&1 &
worker=$!
"$dshost" --env "$faulty" --set env.n=2 --set env.work=0.02 --opt rand --budget 60 --pictures no \
    --out going/rand >"$tmp/out" 2>"$tmp/err" || result 1 "a run that finishes"
status 0 "a report while a run is at work" "$dshost" report going --no-pictures --out page
status 0 "and a plot" "$dshost" plot going --out going.csv
kill -INT $worker
wait $worker
got=$(sed -n 's/.*Unfinished: cmaes seed 0: \([0-9]*\) of 1000\..*/\1/p' page/index.html)
[ "${got:-0}" -gt 0 ] && grep -q '1 finished run <b>and 1 unfinished run</b>' page/index.html
result $? "marks it, with how far it was"
common=$([ "${got:-0}" -lt 60 ] && echo "$got" || echo 60)
grep -q "compared after $common evaluations" page/index.html && [ "$(column page/cells.csv compared_after)" -gt 0 ] &&
    [ "$(tail -n 1 page/cells.csv | cut -d, -f"$(column page/cells.csv compared_after)")" = "$common" ]
result $? "and compares after what all have made"
[ "$(awk -F, '$1 == "cmaes" { v = $2 } END { print v }' page/figures/evaluations-faulty.csv)" = "$got" ]
result $? "its curve ends there"
[ "$(awk -F, '$1 == "cmaes" { v = $2 } END { print v }' going.csv)" -ge "$got" ]
result $? "also alone"
# What it has found by then is what counts: the best of the record up to there.
best=$("$dshost" export going/rand --format csv --no-times --out - | awk -F, -v n="$common" 'NR == 1 { for (i = 1; i <= NF; i++) k[$i] = i; next }
    $k["id"] <= n && $k["loss"] != "" && (b == "" || $k["loss"] < b) { b = $k["loss"] } END { printf "%.10g", b }')
[ -n "$best" ] && [ "$(awk -F, '$2 == "rand" { printf "%.10g", $8 }' page/runs.csv)" = "$best" ]
result $? "the loss is that of then"
cp -r going/rand going/cmaes/ && status 0 "a report of what was interrupted" "$dshost" report going --no-pictures --out page
grep -q 'Unfinished: cmaes seed 0: ' page/index.html
result $? "marks it, too"
# A cut file: it opens, but only its beginning can be read.
make torn/a rand 2 2000
tr '\0' '\377' </dev/zero | dd of=torn/a/seed-1/run.sqlite bs=4096 seek=20 count=20 conv=notrunc iflag=fullblock 2>/dev/null
report torn
[ "$(cells)" = "analytic,rand,1 " ] && grep -q 'Left out: 1 run' page/index.html && grep -q 'left out: .*seed-1/run.sqlite' "$tmp/err"
result $? "a store that breaks off is left out"
mkdir ref
cp -r mix/a mix/c ref/
make ref/boleap boleap 1 20 --set env.function=sphere
rm ref/boleap/summary.json ref/boleap/seed-*/summary.json 2>/dev/null
report ref
at=$(column page/cells.csv p)
[ "$(tail -n +2 page/cells.csv | cut -d, -f"$at" | grep -c .)" -eq 2 ] && grep -q 'compared after 20 evaluations' page/index.html
result $? "a reference that is unfinished is compared after what it has made"

# A comparison after as many evaluations equals a comparison of runs of that length.
for b in 10 40; do
    mkdir "cut$b"
    "$dshost" --env bounce --opt rand --runs 2 --budget $b --pictures no --out cut$b/rand >"$tmp/out" 2>"$tmp/err" || result 1 "runs of $b"
    "$dshost" --env bounce --opt cmaes --runs 2 --budget 10 --pictures no --out cut$b/cmaes >"$tmp/out" 2>"$tmp/err" || result 1 "short runs"
done
"$dshost" report cut10 --no-pictures --no-episodes --metrics --out short >"$tmp/out" 2>"$tmp/err" || result 1 "a report of short runs"
rm cut40/cmaes/seed-*/summary.json
"$dshost" report cut40 --no-pictures --no-episodes --metrics --out page >"$tmp/out" 2>"$tmp/err" || result 1 "a report of unfinished runs"
grep -q 'compared after 10 evaluations' page/index.html
result $? "runs of different lengths are compared after those of the shortest"
for name in mean area area_steps ert_50 ert_90 ert_50_steps ert_90_steps; do
    at=$(column page/cells.csv $name)
    cut -d, -f"$at" page/cells.csv | tail -n +2 | grep -q . && [ "$(cut -d, -f"$at" page/cells.csv)" = "$(cut -d, -f"$at" short/cells.csv)" ]
    result $? "$name is that of then"
done
[ "$(wc -l <page/metric_cells.csv)" -gt 2 ] && cmp -s page/metric_cells.csv short/metric_cells.csv
result $? "as are the metrics"

# ---- parts ----
mkdir share
cp -r mix/a mix/b mix/c share/
report share
grep -q '>cmaes (1 of 2)<' page/figures/scores.svg && grep -q '>cmaes (1 of 2)<' page/figures/profile.svg &&
    grep -q '<b>1 of 2</b>' page/index.html
result $? "an optimizer that ran on a part of the environments is marked"
grep -q 'compared with <b>rand</b>' page/index.html
result $? "and not the reference of the others"
[ "$(cut -d, -f1 page/figures/profile.csv | sort -u | tr '\n' ' ')" = "cmaes optimizer rand " ]
result $? "the numbers have its plain name"

# ---- noise ----
noisy() { # FOLDER FLAGS...
    out=$1
    shift
    "$dshost" --env analytic --set env.dim=3 --set env.noise=1 --pictures no --out "$out" "$@" >"$tmp/out" 2>"$tmp/err"
}
recommendation() { # of a run folder
    awk '/"recommended": \{/ { inside = 1 } inside { print } /^  \}/ { inside = 0 }' "$1/summary.json"
}
noisy noise/rand --opt rand --budget 80 --runs 2 --jobs 1 && noisy noise/cmaes --opt cmaes --budget 80 --runs 2 --jobs 1 &&
    noisy noise2 --opt cmaes --budget 80 --seed 1 --jobs 2 && recommendation noise2 >x && grep -q '"n_keys": 64' x && recommendation noise/cmaes/seed-1 | cmp -s - x
result $? "a run in a noisy environment recommends a point, the same for every number of jobs"
grep -q 'recommended: mean loss .* over 64 fixed noise keys.* outside the budget' "$tmp/err" && [ "$(sed -n 's/.*"evaluations": \([0-9]*\).*/\1/p' noise2/summary.json | head -n 1)" -eq 80 ]
result $? "outside the budget"
noisy noise3 --opt rand --budget 50 && "$dshost" resume noise3 --budget 80 >"$tmp/out" 2>"$tmp/err" && recommendation noise3 >x &&
    recommendation noise/rand/seed-0 | cmp -s - x && [ -s x ]
result $? "an extended run recommends what one without a break does"
"$dshost" resume noise3 >"$tmp/out" 2>"$tmp/err" && recommendation noise3 | cmp -s - x
result $? "and stays with it"
"$dshost" --env analytic --set env.dim=3 --opt rand --budget 50 --pictures no --out calm >"$tmp/out" 2>"$tmp/err" && ! grep -q recommended calm/summary.json "$tmp/err"
result $? "without noise there is none"
report noise &&
    rand=$(awk -F, '$2 == "rand" { s += $(NF - 1) } END { printf "%.10g", s / 2 }' page/runs.csv) &&
    [ "$(awk -F, '$2 == "rand" { printf "%.10g", $4 }' page/cells.csv)" = "$rand" ] && grep -q 'The environment is noisy' page/index.html
result $? "a report ranks by the recommended points, and says so"
"$dshost" compare noise/rand page/runs.csv:cmaes >"$tmp/out" 2>"$tmp/err" && grep -q '^analytic (noisy: mean losses of the recommended points' "$tmp/out" && [ ! -s "$tmp/err" ]
result $? "so does compare, of a folder and a table"
cut -d, -f1-17 page/runs.csv >old.csv # without the columns behind the folders
"$dshost" compare noise/rand old.csv:cmaes >"$tmp/out" 2>"$tmp/err"
grep -q 'analytic is noisy, and 2 of 4 runs recommend no point: all are ranked by their lowest loss' "$tmp/err" && grep -qx analytic "$tmp/out"
result $? "where one run has none the lowest losses count, with a warning"

# ---- equal losses, repeated searches, references ----
head='environment,optimizer,seed,variables,budget,evaluations,gradients,best_loss,cost_steps,evaluation_s,wall_s,ended,version_environment,version_optimizer,losses,first_loss'
for k in 0 1 2 3 4 5 6 7 8 9; do
    echo "e,good,$k,4,60,60,0,4e-3$k,60,0.1,1,budget,1,1,$k,2"
    echo "e,zeal,$k,4,60,60,0,1.9e-1$((k % 2)),60,0.1,1,budget,1,1,5$k,2"
    echo "e,fixed,$k,4,60,60,0,0.5,60,0.1,1,budget,1,1,77,2"
done | { echo "$head" && cat; } >equal.csv
"$dshost" compare equal.csv:good equal.csv:zeal >"$tmp/out" 2>"$tmp/err" && grep -q 'no significant difference' "$tmp/out" && grep -q 'differ by at most 2e-09 are equal' "$tmp/out"
result $? "losses within the tolerance are equal"
"$dshost" compare equal.csv:good equal.csv:zeal --tolerance 0 >"$tmp/out" 2>"$tmp/err" && grep -q 'A is better' "$tmp/out"
result $? "and different with a tolerance of 0"
"$dshost" compare equal.csv:good equal.csv:fixed >"$tmp/out" 2>"$tmp/err" && grep -q '10 runs (1 different: the search is deterministic' "$tmp/out" && grep -q 'p = 0.0909' "$tmp/out"
result $? "ten runs that are the same to the last bit are one sample"
"$dshost" report equal.csv --no-pictures --no-episodes --out equal >"$tmp/out" 2>"$tmp/err" && grep -q '<td>10, 1 different</td>' equal/index.html && [ "$(wc -l <equal/runs.csv)" -eq 31 ] &&
    grep -q '^e,fixed,10,.*,1,2.0*[0-9]*e-09$' equal/cells.csv
result $? "in the report, too, which lists all of them"
grep -q 'compared with <b>fixed</b>: without --reference' equal/index.html && ! grep -q ' 0 is random search\| 0 is the mean of random search, 1' equal/index.html && grep -q ' 0 is the worst mean of an optimizer (there is no random search)' equal/index.html &&
    grep -q 'there is no random search' equal/figures/scores.svg
result $? "the reference is not chosen by the results, and 0 is not called random search where none ran"
finish
