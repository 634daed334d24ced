#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# report on tables of runs (runs.csv of an earlier report) next to folders: known values of a row count, unknown ones stay
# empty, no run counts twice, and a file that is not such a table gives one line.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

for e in sphere rastrigin; do
    for o in rand cmaes boleap; do
        "$dshost" --env analytic --set env.function=$e --set env.dim=3 --opt $o --runs 4 --budget 40 --pictures no \
            --out "all/$e/$o" >"$tmp/out" 2>"$tmp/err" || result 1 "runs of $o on $e"
    done
done
: >all/bench.ini
report() {
    "$dshost" report "$@" --no-episodes --no-pictures >"$tmp/out" 2>"$tmp/err"
}
# known FILE: cells.csv without what needs curves.
known() {
    awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) hidden[i] = $i ~ /^(area|ert_)/ } { for (i = 1; i <= NF; i++) if (hidden[i]) $i = ""; print }' "$1"
}
# curves FILE: the columns that need them, of a cell ENV OPT.
curves() {
    awk -F, -v e="$2" -v o="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^(area|ert_)/) at[++n] = i }
        $1 == e && $2 == o { for (i = 1; i <= n; i++) printf "%s,", $at[i] }' "$1"
}
cells() {
    cut -d, -f1-3 "$1" | tail -n +2 | tr '\n' ' '
}

# ---- a report, and one of its table ----
report all --out full
result $? "a report of folders"
report full/runs.csv --out again
[ $? -eq 0 ] && [ ! -s "$tmp/err" ]
result $? "one of its own table"
cmp -s full/runs.csv again/runs.csv && cmp -s full/summary.csv again/summary.csv
result $? "has the same runs and the same summary"
known full/cells.csv >want && known again/cells.csv | cmp -s - want && [ "$(wc -l <want)" -eq 7 ]
result $? "and the same cells, as far as they need no curves"
[ "$(curves again/cells.csv sphere cmaes)" = ",,,,,,,," ] && [ "$(curves full/cells.csv sphere cmaes)" != ",,,,,,,," ]
result $? "whose columns are empty"
[ -s again/figures/bars-sphere.svg ] && [ -s again/figures/scores.svg ] && [ -s again/figures/profile.svg ] &&
    [ -z "$(ls again/figures | grep -v '^bars\|^scores\|^profile')" ] && ! grep -q 'Play the best' again/index.html
result $? "no figure of what is not known"
grep -q '24 finished runs (24 of them rows of <a href="#tables">tables</a>)' again/index.html && grep -q '<h2 id=tables>Runs of tables: 24<' again/index.html &&
    grep -q '<td>full/runs.csv</td><td>sphere</td><td>boleap 4, ' again/index.html && ! grep -q 'not recorded' again/index.html
result $? "the page says what comes from where"
grep -q 'Best run: full/runs.csv:[0-9]* (all/sphere/boleap/seed-[0-3])<' again/index.html && ! grep -q 'The best point' again/index.html
result $? "and which run is the best"
grep -q '<title>full: 3 optimizers' again/index.html
result $? "its name is that of the folder of the table"
"$dshost" report full/runs.csv --no-pictures --metrics --out measured >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && [ "$(wc -l <measured/metrics.csv)" -eq 1 ]
result $? "no metrics are measured"
own_scripts again/index.html
result $? "its page is whole"

# ---- compare ----
for o in cmaes boleap; do
    "$dshost" compare all:$o all:rand --json >folders.json 2>err && "$dshost" compare full/runs.csv:$o all:rand --json >mixed.json 2>>err &&
        "$dshost" compare full/runs.csv:$o full/runs.csv:rand --json >tables.json 2>>err && [ ! -s err ] &&
        sed "s|full/runs.csv|all|" mixed.json | cmp -s - folders.json && sed "s|full/runs.csv|all|g" tables.json | cmp -s - folders.json
    result $? "compare of $o and rand says the same of tables, folders, and one of each"
done
status 2 "compare of a table without a name" "$dshost" compare full/runs.csv all:rand
grep -q 'full/runs.csv holds runs of 3 optimizers: choose one, say full/runs.csv:' "$tmp/err"
result $? "says how to choose"
status 6 "compare of an optimizer that a table lacks" "$dshost" compare full/runs.csv:cmase all:rand
grep -q 'full/runs.csv holds no finished run of cmase; nearest is cmaes' "$tmp/err"
result $? "says what is near"
head -n 1 full/runs.csv >empty.csv
status 6 "compare of an empty table" "$dshost" compare empty.csv all:rand
grep -q 'empty.csv holds no run' "$tmp/err"
result $? "says that it is empty"
status 6 "compare of a table that is not there" "$dshost" compare absent.csv:rand all:rand
sed 's/,budget,full\|,budget,all/,failed,all/' full/runs.csv >failed.csv
status 6 "compare of runs that failed" "$dshost" compare failed.csv:rand all:rand
grep -q 'failed.csv holds no finished run; the first of 24, failed.csv:2' "$tmp/err"
result $? "names the first by its line"
mkdir -p apart && cp -r all/sphere/cmaes apart/s && cp -r all/rastrigin/cmaes apart/r && cp -r all/sphere/rand apart/sr
report apart/sr --out one && "$dshost" compare apart:cmaes apart:rand >"$tmp/out" 2>"$tmp/err" && grep -q '^analytic@function=sphere$' "$tmp/out"
result $? "compare of folders keeps apart what differs in settings"
status 2 "compare of folders that differ in settings with a table" "$dshost" compare apart:cmaes one/runs.csv:rand
grep -q 'no environment in common: the first has analytic@function=' "$tmp/err" && grep -q 'its runs differ in function' "$tmp/err"
result $? "keeps these apart, too"
(cat full/runs.csv && sed 1d full/runs.csv) >double.csv
"$dshost" compare double.csv:cmaes double.csv:rand >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && [ ! -s "$tmp/err" ] && grep -q ' A  4 runs' "$tmp/out"
result $? "compare counts a row that is there twice once, without a word"
(cat full/runs.csv && grep ',boleap,' full/runs.csv | awk -F, -v OFS=, '{ $8 = 1e9; print }') >conflict.csv
"$dshost" compare conflict.csv:cmaes conflict.csv:rand >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && [ ! -s "$tmp/err" ]
result $? "compare does not mind what rows of other optimizers tell"
status 3 "but those of its own" "$dshost" compare conflict.csv:boleap conflict.csv:rand
awk -F, -v OFS=, '$2 == "cmaes" { $17 = NR % 2 ? "1.0" : "2.0" } { print }' full/runs.csv >versions.csv
status 6 "compare of an optimizer of two versions" "$dshost" compare versions.csv:cmaes full/runs.csv:rand
grep -q 'nearest is cmaes@version=[12].0' "$tmp/err"
result $? "says what they are called"
sed 's/,cmaes,/,cma:es,/' full/runs.csv >colon.csv
status 0 "compare of a name with a colon" "$dshost" compare colon.csv:cma:es full/runs.csv:rand
awk -F, -v OFS=, '$2 == "cmaes" && $3 == 1 { $13 = "failed" } { print }' full/runs.csv >part.csv
"$dshost" compare part.csv:cmaes part.csv:rand >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && grep -q 'left out: part.csv:[0-9]*: failed' "$tmp/err" && grep -q 'left out of A: 0 environments that the other set lacks, 2 unfinished runs' "$tmp/out"
result $? "compare says which run is left out, and why"

# ---- mixtures ----
report all full/runs.csv --out mixed
[ $? -eq 0 ] && cmp -s full/cells.csv mixed/cells.csv && cmp -s full/runs.csv mixed/runs.csv && ! grep -q 'id=tables' mixed/index.html
result $? "runs that are in a folder and in a table count once, as the folder's"
cp full/runs.csv copy.csv
report full/runs.csv full/../full/runs.csv copy.csv --out twice
[ $? -eq 0 ] && known twice/cells.csv | cmp -s - want
result $? "a table that is named twice, and a copy of it, count once"
"$dshost" report all/sphere/cmaes all/sphere/rand/seed-0 full/runs.csv --only 'sphere/*' --no-pictures --out part >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && [ ! -s "$tmp/err" ] && [ "$(cells part/cells.csv)" = "sphere,boleap,4 sphere,cmaes,4 sphere,rand,4 " ]
result $? "what only the table has joins"
known part/cells.csv | sed 's/,[^,]*,[^,]*,[^,]*,[^,]*$//' >x && grep '^sphere\|^environment' want | sed 's/,[^,]*,[^,]*,[^,]*,[^,]*$//' | cmp -s - x
result $? "with the same numbers, but for p_holm_alone, which is corrected for two environments there"
[ "$(curves part/cells.csv sphere cmaes)" = "$(curves full/cells.csv sphere cmaes)" ]
result $? "an optimizer with all of its curves has its areas and running times"
[ "$(curves part/cells.csv sphere rand)" = ",,,,,,,," ] && [ "$(curves part/cells.csv sphere boleap)" = ",,,,,,,," ]
result $? "one with some of them or none has not"
[ "$(cut -d, -f1 part/figures/evaluations-sphere.csv | sort -u | tr '\n' ' ')" = "cmaes optimizer " ] &&
    [ "$(cut -d, -f1 part/figures/targets.csv | sort -u | tr '\n' ' ')" = "cmaes optimizer " ]
result $? "nor curves and data profiles"
grep -q 'without optimizers with runs of tables' part/figures/evaluations-sphere.svg && grep -q 'without optimizers with runs of tables' part/figures/targets.svg
result $? "which say so"
awk -F, '$1 == "cmaes"' full/figures/evaluations-sphere.csv >x && awk -F, '$1 == "cmaes"' part/figures/evaluations-sphere.csv | cmp -s - x
result $? "the curve that is left is the same"
# With one environment: the reached targets are the same, whether all curves are known or not.
report all/sphere --out sphere && awk -F, '$1 == "cmaes"' sphere/figures/targets.csv >x && awk -F, '$1 == "cmaes"' part/figures/targets.csv | cmp -s - x
result $? "as is its data profile"
grep -q '<td>full/runs.csv</td><td>sphere</td><td>boleap 4, rand 3<\|<td>full/runs.csv</td><td>sphere</td><td>rand 3, boleap 4<' part/index.html
result $? "the page says which rows count"
grep -q 'Best of the runs with a record: all/sphere/cmaes/seed-[0-3], loss [^<]*<*[^.]*.*Best run: full/runs.csv:' part/index.html && grep -q 'The best point of the runs with a record: evaluation' part/index.html
result $? "and that the best one has no record"
command=$(sed -n 's/.*<code>dshost \(plot [^<]* --kind bars --env sphere [^<]*\)<.*/\1/p' part/index.html)
eval "\"$dshost\" $command" >"$tmp/out" 2>"$tmp/err" && cmp -s bars-sphere.svg part/figures/bars-sphere.svg
result $? "the command of a figure draws it again"
"$dshost" --env bounce --opt rand --runs 2 --budget 10 --pictures no --out named >"$tmp/out" 2>"$tmp/err"
"$dshost" report named --no-pictures --out named/report >"$tmp/out" 2>"$tmp/err"
"$dshost" report named/seed-0 named/report/runs.csv --metrics --no-pictures --out measured >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && [ "$(cut -d, -f3 measured/metrics.csv | sort -u | tr '\n' ' ')" = "0 seed " ] && [ "$(wc -l <measured/metric_cells.csv)" -eq 1 ]
result $? "no mean of a metric is one over a part of the runs"

# ---- --only ----
report all --only 'sphere/*,*/rand' --out only
[ "$(cells only/cells.csv)" = "rastrigin,rand,4 sphere,boleap,4 sphere,cmaes,4 sphere,rand,4 " ]
result $? "patterns choose cells of folders"
report full/runs.csv --only '*/rand' --only 'sphere/cm*' --only 'sphre/*' --out only
[ "$(cells only/cells.csv)" = "rastrigin,rand,4 sphere,cmaes,4 sphere,rand,4 " ] && grep -q 'warning: --only sphre/\* matches no run' "$tmp/err"
result $? "and of tables, and one that matches nothing is told"
status 0 "plot takes them, too" "$dshost" plot full/runs.csv --only 'sphere/*' --kind bars --out bars.csv
[ "$(wc -l <bars.csv)" -eq 4 ]
result $? "its figure has what was chosen"
bad 2 "--only nothing/* matches none of 24 runs (cells are named ENV/OPT; the first is" report all --only 'nothing/*' --out only

# ---- rows that fail, differ, or are not finished ----
# edit FROM TO AWK: a table with a row changed.
edit() {
    awk -F, -v OFS=, "$3 { print }" "$1" >"$2"
}
at() {
    head -n 1 full/runs.csv | tr , '\n' | grep -nx "$1" | cut -d: -f1
}
loss=$(at best_loss) budget=$(at budget) seed=$(at seed) ended=$(at ended)
for text in '' inf NaN; do
    edit full/runs.csv none.csv "NR == 2 { \$$loss = \"$text\" }"
    report none.csv --out none
    [ $? -eq 0 ] && [ "$(awk -F, 'NR == 2 { print $2, $3, $4, $6 != "" }' none/cells.csv)" = "boleap 4  1" ] &&
        [ "$(awk -F, -v l="$loss" -v s="$(at score)" 'NR == 2 { print $l "|" $s }' none/runs.csv)" = "|0" ]
    result $? "no valid loss, as '$text', is infinite"
done
edit full/runs.csv failed.csv "NR == 2 { \$$ended = \"failed\" }"
report failed.csv --out failed
[ $? -eq 0 ] && [ "$(awk -F, 'NR == 2 { print $3 }' failed/cells.csv)" = 3 ] && grep -q '<td>failed.csv:2</td>.*<td>failed</td>' failed/index.html
result $? "a run that failed is left out, and named"
edit full/runs.csv open.csv "NR == 2 { \$$ended = \"unfinished\" }"
report open.csv --out open
[ $? -eq 0 ] && [ "$(cells open/cells.csv)" = "sphere,boleap,4 sphere,cmaes,4 sphere,rand,4 " ] && grep -q 'warning: open.csv:2: an unfinished run of rastrigin' "$tmp/err" &&
    grep -q 'Left out: 12 runs' open/index.html
result $? "losses after a number of evaluations that is not told are none"
awk -F, -v k="$loss" 'NR == 1 { print; next } $1 == "sphere" { $k *= 1.5; print }' OFS=, full/runs.csv >other.csv
bad 3 "all/sphere/boleap/seed-0 and other.csv:2 both describe sphere/boleap, seed 0, but best losses are " report all other.csv --out nix
bad 3 "full/runs.csv:14 and other.csv:2 both describe sphere/boleap, seed 0, but best losses are " report other.csv full/runs.csv --out nix
edit full/runs.csv budget.csv "NR > 1 { \$$budget = 50 }"
bad 3 "budgets 40 and 50: leave one of them out" report all/sphere budget.csv --only 'sphere/*' --out nix
edit full/runs.csv more.csv "NR > 1 { \$$budget = 50; \$$seed += 100 }"
report all more.csv --out more
[ $? -eq 0 ] && [ "$(awk -F, '$3 != 8' more/cells.csv | wc -l)" -eq 1 ] && grep -q 'The runs have different budgets' more/index.html &&
    grep -q 'warning: sphere: runs with different budgets are compared as they ended: more.csv:[0-9]* (50), all/sphere/boleap/seed-[0-3] (40)' "$tmp/err"
result $? "different budgets are told"
edit full/runs.csv newer.csv "NR > 1 && \$1 == \"sphere\" { \$$(at version_environment) = \"newer\" }"
report all newer.csv --out newer
[ $? -eq 0 ] && [ "$(cut -d, -f1 newer/cells.csv | sort -u | tr '\n' ' ')" = "environment rastrigin sphere@version=$(awk -F, -v k="$(at version_environment)" 'NR == 2 { print $k }' full/runs.csv) sphere@version=newer " ] &&
    grep -q 'warning: sphere: its runs differ in version: .*; --any-version treats them as one$' "$tmp/err"
result $? "another version of an environment is another environment"
edit newer.csv moved.csv "NR > 1 { \$$seed += 100 }"
report all moved.csv --any-version --out newer
[ $? -eq 0 ] && cells newer/cells.csv | grep -q 'sphere,boleap,8 ' && ! grep -q 'version' "$tmp/err" &&
    grep -q 'dshost plot .* --any-version --out' newer/index.html
result $? "unless it is said that versions do not matter"
grep -q 'unless numbers of variables or versions of an optimizer differ' newer/index.html
result $? "and the page says what was taken as one"
edit full/runs.csv both.csv "NR > 1 && \$1 == \"sphere\" { \$$(at version_environment) = \"newer\"; \$$(at variables) = 7; \$$seed += 100 }"
report all both.csv --only 'sphere/*' --out newer
cut -d, -f1 newer/cells.csv | grep -q 'sphere@variables=7' && ! grep -q 'any-version' "$tmp/err"
result $? "no version is the matter where numbers of variables differ"
edit newer.csv worse.csv "NR > 1 && \$1 == \"sphere\" { \$$(at best_loss) = 1e9 }"
bad 3 "and newer of the environment: leave one of them out" report all/sphere worse.csv --any-version --only 'sphere/*' --out nix
report all newer.csv --any-version --out newer
[ $? -eq 0 ] && cells newer/cells.csv | grep -q 'sphere,boleap,4 '
result $? "a run that is in both is one then"
status 0 "plot does not mind, either" "$dshost" plot newer.csv full/runs.csv --kind bars --env sphere --any-version --out any.csv
status 0 "compare keeps them apart" "$dshost" compare newer.csv:cmaes full/runs.csv:cmaes
grep -q '1 environment that the other set lacks' "$tmp/out" && ! grep -q '^sphere' "$tmp/out"
result $? "and says what is left"
status 0 "or takes them as one" "$dshost" compare newer.csv:cmaes full/runs.csv:cmaes --any-version
grep -q '^sphere$' "$tmp/out" && ! grep -q 'left out' "$tmp/out"
result $? "as it is told"
edit newer.csv newer2.csv "NR > 1 && \$2 == \"cmaes\" { \$$(at version_optimizer) = \"newer\"; \$$seed += 100 }"
report all/sphere newer2.csv --any-version --only 'sphere/*' --out newer
cells newer/cells.csv | grep -q 'sphere,cmaes@version=[^,]*,4 sphere,cmaes@version=newer,4'
result $? "versions of an optimizer stay apart"
edit full/runs.csv larger.csv "NR > 1 { \$$(at variables) = 7 }"
report all/rastrigin larger.csv --only 'rastrigin/*' --out newer
[ "$(cut -d, -f1 newer/cells.csv | sort -u | tr '\n' ' ')" = "environment rastrigin@variables=3 rastrigin@variables=7 " ]
result $? "as is another number of variables"
edit full/runs.csv newer.csv "NR > 1 && \$2 == \"cmaes\" { \$$(at version_optimizer) = \"newer\"; \$$seed += 100 }"
report all/sphere newer.csv --only 'sphere/*' --out newer
cells newer/cells.csv | grep -q 'sphere,cmaes@version=[^,]*,4 sphere,cmaes@version=newer,4'
result $? "and another version of an optimizer another optimizer"
# An unfinished run of a folder does not count next to runs without curves.
mkdir going && cp -r all/sphere/rand/seed-0 going/ && rm going/seed-0/summary.json
edit full/runs.csv others.csv 'NR == 1 || $2 != "rand"'
sed -i 's/^sphere,/analytic,/' others.csv
report going others.csv --only 'analytic/*' --out left
[ $? -eq 0 ] && [ "$(cells left/cells.csv)" = "analytic,boleap,4 analytic,cmaes,4 " ] && grep -q 'warning: analytic: 1 unfinished run is left out: what runs of others.csv had found' "$tmp/err" &&
    grep -q 'going/seed-0</td><td>unfinished: 40 of 40' left/index.html
result $? "an unfinished run does not count beside them"
# A sweep that is pooled: rows with one name and seed, of different folders.
cat >objects.ini <<'END'
[bench]
envs = thrown
opts = rand
runs = 2
[run]
budget = 5
[env thrown]
plugin = bounce
[sweep env thrown]
gravity = 9 | 9.81 | 10
END
"$dshost" bench objects.ini --out objects >"$tmp/out" 2>"$tmp/err"
report objects --pool gravity --out pooled
report pooled/runs.csv --out pooled2
[ $? -eq 0 ] && [ "$(cells pooled2/cells.csv)" = "thrown,rand,6 " ]
result $? "a table of a pooled sweep has all of its runs"
report objects pooled/runs.csv --pool gravity --out pooled2
[ $? -eq 0 ] && cmp -s pooled/cells.csv pooled2/cells.csv
result $? "which are those of the folder"
report objects --out swept && report swept/runs.csv --pool gravity --out pooled2
[ $? -eq 0 ] && [ "$(cells pooled2/cells.csv)" = "thrown,rand,6 " ]
result $? "and a table can be pooled"
edit pooled/runs.csv one.csv 'NR == 1 || $14 ~ /gravity=9\//'
edit pooled/runs.csv others.csv 'NR == 1 || $14 !~ /gravity=9\//'
report one.csv others.csv --out pooled2
[ $? -eq 0 ] && [ "$(cells pooled2/cells.csv)" = "thrown,rand,6 " ]
result $? "runs of other variants are no contradiction"
report objects/thrown@gravity=9.81 objects/thrown@gravity=10 one.csv --pool gravity --out pooled2
[ $? -eq 0 ] && [ "$(cells pooled2/cells.csv)" = "thrown,rand,6 " ]
result $? "nor are they beside folders"
for half in one others; do
    awk -F, -v OFS=, 'NR > 1 { $8 = 0 } { print }' $half.csv >$half.zero.csv
done
report one.zero.csv others.zero.csv --out pooled2
[ $? -eq 0 ] && [ "$(cells pooled2/cells.csv)" = "thrown,rand,6 " ]
result $? "and count where all losses are the same"
# Tables need not name a folder: then the pooled name distinguishes the variants.
without_folder() {
    awk -F, -v OFS=, -v v="@gravity=$1" -v loss="$2" 'NR == 1 || $1 == "thrown" v { if (NR > 1 && loss != "") $8 = loss; $14 = ""; print }' swept/runs.csv
}
for loss in 0 ''; do
    without_folder 9 "$loss" >one.csv && without_folder 10 "$loss" >others.csv
    report one.csv others.csv --pool gravity --out pooled2
    [ $? -eq 0 ] && [ "$(cells pooled2/cells.csv)" = "thrown,rand,4 " ]
    result $? "without folders, too, with losses ${loss:-that differ}"
done
report objects others.csv --pool gravity --out pooled2
[ $? -eq 0 ] && [ "$(cells pooled2/cells.csv)" = "thrown,rand,6 " ]
result $? "and what is one run is one"
awk -F, -v OFS=, 'NR > 1 { $16 = "newer"; $3 += 10 } { print }' pooled/runs.csv >newer.csv
report objects newer.csv --pool gravity --out pooled2
[ $? -eq 0 ] && cells pooled2/cells.csv | grep -q 'thrown@version=newer,rand,6'
result $? "another version is not pooled with them"

# ---- tables of any make ----
{
    printf '\357\273\277comment,'
    head -n 1 full/runs.csv | tr -d '\n'
    printf '\r\n'
    tail -n +2 full/runs.csv | awk '{ printf "\"of \"\"%d\"\", in\ntwo lines\",%s\r\n\r\n", NR, $0 }'
} >quoted.csv
report quoted.csv --out quoted
[ $? -eq 0 ] && [ ! -s "$tmp/err" ] && cmp -s full/runs.csv quoted/runs.csv
result $? "another column, quotes, lines in fields, CRLF and blank lines"
# By names: the columns from the last to the first; arithmetic, which has commas, is not needed.
awk -F, '{ for (i = 17; i > 0; i--) printf "%s%s", $i, (i > 1 ? "," : "\n") }' full/runs.csv >turned.csv
report turned.csv --out turned
[ $? -eq 0 ] && known turned/cells.csv | cmp -s - want
result $? "columns in another order"
cp turned.csv 'it is $1;.CSV'
"$dshost" report 'it is $1;.CSV' --no-pictures --out odd >"$tmp/out" 2>"$tmp/err"
[ $? -eq 0 ] && grep -q '<td>it is $1;.CSV</td>' odd/index.html
result $? "a file with an odd name"
# Text of a table is text in the page, and a name is no path.
sed '2,5s|^rastrigin,boleap|../<b>x,-o\&p|' full/runs.csv >odd.csv
report odd.csv --out odd
[ $? -eq 0 ] && grep -q '>_._&lt;b&gt;x</h2>\|>_.__&lt;b&gt;x</h2>' odd/index.html && ! grep -q '<b>x' odd/index.html && [ -s odd/figures/bars-_._\<b\>x.csv ]
result $? "names are cleaned as those of folders"

# ---- refusals ----
head -n 1 full/runs.csv >head.csv
bad 6 "head.csv holds no run" report head.csv --out nix
bad 6 "nowhere.csv" report nowhere.csv --out nix
: >empty.csv
bad 3 'empty.csv: there is no column "environment"; runs.csv of dshost report has it' report empty.csv --out nix
bad 3 'full/cells.csv: there is no column "seed"' report full/cells.csv --out nix
sed 1s/best_loss/loss/ full/runs.csv >x.csv
bad 3 'x.csv: there is no column "best_loss"' report all x.csv --out nix
sed 1s/gradients/seed/ full/runs.csv >x.csv
bad 3 'x.csv: two columns are named "seed"' report x.csv --out nix
# wrong COLUMN TEXT MESSAGE: in line 3
wrong() {
    awk -F, -v OFS=, -v k="$(at "$1")" -v text="$2" 'NR == 3 { $k = text } { print }' full/runs.csv >x.csv
    bad 3 "x.csv:3: $1 \"$2\": expected $3" report all x.csv --out nix
}
wrong seed -1 'a whole number'
wrong seed 99999999999999999999 'a whole number'
wrong budget 1e3 'a whole number'
wrong evaluations '' 'a whole number'
wrong variables 0 'a whole number above 0'
wrong best_loss 1.5.2 'a number, or nothing for no valid loss'
wrong best_loss 1e999 'a number, or nothing for no valid loss'
wrong best_loss -inf 'a number, or nothing for no valid loss'
wrong wall_s -1 'seconds, 0 or more'
wrong environment '' 'a name'
wrong ended '' 'how the run ended'
sed '4s/,[^,]*$//' turned.csv >x.csv
bad 3 'x.csv:4: 16 fields, but the header has 17' report x.csv --out nix
sed '4s/^/"/' turned.csv >x.csv
bad 3 'x.csv:4: ' report x.csv --out nix
sed '4s/$/"/' turned.csv >x.csv
bad 3 'x.csv:4: a quote inside an unquoted field' report x.csv --out nix
{
    cat turned.csv
    printf '"no end'
} >x.csv
bad 3 'x.csv:26: a quoted field is not closed' report x.csv --out nix
{
    head -n 2 turned.csv
    head -c 70000 /dev/zero | tr '\0' x
} >x.csv
bad 3 'x.csv:3: a line has more than 65535 bytes' report x.csv --out nix
{
    head -n 2 turned.csv
    printf 'a\000b,'
} >x.csv
bad 3 'x.csv:3: a zero byte' report x.csv --out nix
{
    head -n 1 turned.csv
    head -c 300 /dev/zero | tr '\0' ,
} >x.csv
bad 3 'x.csv:2: more than 256 fields' report x.csv --out nix
truncate -s 65M large.csv
bad 6 'large.csv: too large' report large.csv --out nix
rm large.csv
bad 2 'report: with tables only, name' report full/runs.csv
bad 2 'plot: with tables only, name' plot full/runs.csv --kind scores
bad 2 'curves: every optimizer has runs of tables on sphere, which have no curves' plot full/runs.csv --env sphere --out nix.svg
bad 2 'targets: every optimizer has runs of tables, which have no curves' plot full/runs.csv --kind targets --out nix.svg
[ ! -e nix ] && [ ! -e nix.svg ]
result $? "nothing is written then"

# ---- tables of other programs ----
head='environment,optimizer,seed,variables,budget,evaluations,gradients,best_loss,cost_steps,evaluation_s,wall_s,ended,version_environment,version_optimizer'
{ echo "$head" && for k in 0 1 2 3; do echo "e,a,$k,4,60,60,0,1.$k,60,0.1,1,budget,1,1" && echo "e,b,$k,4,60,60,0,2.$k,60,0.1,1,budget,1,1"; done; } >ours.csv
"$dshost" compare ours.csv:a ours.csv:b | sed 1,2d >want
same() { # FILE NAME
    "$dshost" compare "$1:a" "$1:b" 2>"$tmp/err" | sed 1,2d | cmp -s - want && [ ! -s "$tmp/err" ]
    result $? "$2"
}
awk 'NR == 1 { print "," $0; next } { print NR - 2 "," $0 }' ours.csv >t.csv
same t.csv "a column of row numbers"
sed 's/,60,/,60.0,/g; s/,4,/,4.0,/' ours.csv >t.csv
same t.csv "whole numbers with a point"
{ printf '\357\273\277' && sed 's/$/\r/' ours.csv; } >t.csv
same t.csv "a byte order mark, and CR at the ends of lines"
sed '1s/,/ , /g' ours.csv >t.csv
same t.csv "blanks in the header"
odd() { # TEXT NAME
    "$dshost" compare t.csv:a ours.csv:b >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 3 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -q "$1" "$tmp/err"
    result $? "$2"
}
tr ',' ';' <ours.csv >t.csv
odd 'separated by semicolons: write commas' "semicolons"
tr ',' '\t' <ours.csv >t.csv
odd 'separated by tabs' "tabs"
sed 's/,1\.\([0-9]\),/,"1,\1",/' ours.csv >t.csv
odd 't.csv:2: best_loss "1,0": expected a number' "decimal commas"
sed 's/,60,60,/,60.5,60,/' ours.csv >t.csv
odd 'budget "60.5": expected a whole number' "half an evaluation"

# ---- versions that compute the same ----
sed 's/^e,/bounce,/; s/budget,1,1$/budget,2,1/' ours.csv >two.csv
sed 's/^e,/bounce,/; s/budget,1,1$/budget,3,1/' ours.csv >three.csv
"$dshost" compare two.csv:a three.csv:b 2>"$tmp/err" | sed 1,2d >"$tmp/out"
sed 's/^e$/bounce/' want | cmp -s - "$tmp/out" && grep -q 'bounce: versions 2 and 3 are treated as one: they compute the same where residual is empty' "$tmp/err"
result $? "versions of bounce that compute the same are one, which is said"
sed 's/^bounce,/realtosim,/' two.csv >x.csv && sed 's/^bounce,/realtosim,/; s/budget,3,1$/budget,4,1/' three.csv >y.csv
"$dshost" compare x.csv:a y.csv:b 2>"$tmp/err" | sed 1,2d >"$tmp/out"
sed 's/^e$/realtosim/' want | cmp -s - "$tmp/out" && grep -q 'versions 2 and 3 .* where held_out is 0' "$tmp/err" &&
    grep -q 'versions 3 and 4 .* where residual is empty' "$tmp/err"
result $? "so are versions that a third one joins, which names both conditions"
sed 's/^bounce,/pendulum,/' two.csv >x.csv && sed 's/^bounce,/pendulum,/' three.csv >y.csv
"$dshost" compare x.csv:a y.csv:b >"$tmp/out" 2>"$tmp/err"
[ $? -eq 2 ] && grep -q 'no environment in common' "$tmp/err"
result $? "others are not"
finish
