#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# report, compare and plot on a few short runs: their files, output and errors.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

for e in sphere rastrigin; do
    for o in rand cmaes boleap; do
        "$dshost" --env analytic --set env.function=$e --set env.dim=4 --opt $o --runs 4 --budget 60 --pictures no \
            --out "all/$e/$o" >"$tmp/out" 2>"$tmp/err" || result 1 "runs of $o on $e"
    done
done
# The names of the experiment are those of the folders.
: >all/bench.ini

# ---- report ----
status 0 "a report" "$dshost" report all
[ "$(cat "$tmp/out")" = all/report/index.html ] && [ -s all/report/index.html ]
result $? "says where it is"
page=all/report/index.html
for text in '>sphere</h2>' '>rastrigin</h2>' '24 finished runs of 3 optimizers on 2 environments' 'dshost report all'; do
    grep -q "$text" $page
    result $? "holds $text"
done
own_scripts $page
result $? "nothing is loaded from elsewhere, and no script runs but that of the page"
grep -q '<g class="frame" data-name="log ' $page && [ "$(grep -o '<g class="entry" data-name="[a-z]*">' $page | sort -u | wc -l)" -eq 3 ]
result $? "figures carry their scales, and an entry for every optimizer"
[ "$(wc -l <all/report/runs.csv)" -eq 25 ] && [ "$(wc -l <all/report/cells.csv)" -eq 7 ]
result $? "the tables have all runs and cells"
# The mean of one cell again, from the table of runs.
mean=$(awk -F, '$1 == "sphere" && $2 == "rand" { s += $8; n++ } END { printf "%.10g", s / n }' all/report/runs.csv)
cell=$(awk -F, '$1 == "sphere" && $2 == "rand" { printf "%.10g", $4 }' all/report/cells.csv)
[ -n "$mean" ] && [ "$mean" = "$cell" ]
result $? "the mean of a cell is that of its runs"
# Each loss is that of the summary.
for run in all/sphere/cmaes/seed-2 all/rastrigin/boleap/seed-0; do
    best=$(sed -n 's/.*"best_loss": \([^,]*\),/\1/p' $run/summary.json)
    grep -q "$run" all/report/runs.csv && [ "$(awk -F, -v f="$run" '$14 == f { printf "%.15g", $8 }' all/report/runs.csv)" = \
        "$(printf '%.15g' "$best")" ]
    result $? "the loss of $run"
done
for f in bars-sphere evaluations-rastrigin steps-sphere scores targets targets-steps profile; do
    grep -q '</svg>' all/report/figures/$f.svg && [ "$(wc -l <all/report/figures/$f.csv)" -gt 3 ]
    result $? "figure $f with its numbers"
done
[ "$(grep -c '<svg role="img"' $page)" -eq "$(find all/report/figures -name '*.svg' | wc -l)" ]
result $? "every figure is in the page"
[ -z "$(cut -d, -f1,2 all/report/figures/evaluations-sphere.csv | uniq -d)" ]
result $? "a curve has every number of evaluations once"
# Best-so-far curves are stairs: they go across and up or down only.
[ "$(grep -c '<path d="M[0-9. ]*[0-9.HV-]*" .*stroke-width="2.4"' all/report/figures/evaluations-sphere.svg)" -eq 3 ]
result $? "curves are steps"
# Every number of the page is in a table, and every figure has its command.
[ "$(wc -l <all/report/summary.csv)" -eq 4 ] && head -n 1 all/report/cells.csv | grep -q ',area_steps,ert_50,.*,rank,verdict,least_p_holm,compared_after,p_holm_alone,least_p_holm_alone,samples,tolerance$'
result $? "scores and running times are in tables"
for file in runs.csv cells.csv summary.csv figures/bars-sphere.svg figures/steps-sphere.csv; do
    grep -q "href=\"$file\"" $page && [ -s "all/report/$file" ]
    result $? "a link to $file"
done
command=$(sed -n 's/.*<code>\(dshost plot all --kind curves --env sphere --along steps --out [^<]*\)<.*/\1/p' $page)
[ -n "$command" ] && (eval "\"$dshost\" ${command#dshost }") >/dev/null && cmp -s steps-sphere.svg all/report/figures/steps-sphere.svg
result $? "the command of a figure draws it again"
[ "$(grep -c '<h2 id=env' $page)" -eq 2 ] && grep -q 'href="#env2">sphere' $page
result $? "a list of contents"
for text in '<td>cmaes</td><td>optimizer</td><td>' 'made by dshost [0-9]' 'function = rastrigin' '<dt>A12</dt>'; do
    grep -q "$text" $page
    result $? "has $text"
done
status 0 "the page alone" "$dshost" report all --page-only --out lonely
[ "$(ls lonely | tr '\n' ' ')" = "$(cd all/report && ls -p | grep -v / | tr '\n' ' ')" ] && ! grep -q 'href="figures' lonely/index.html &&
    [ "$(grep -c '<svg role="img"' lonely/index.html)" -eq "$(grep -c '<svg role="img"' $page)" ] &&
    [ "$(grep -c 'src="data:image/png' lonely/index.html)" -eq 2 ]
result $? "it has the figures in it, and none beside it"
# No run left a picture: the report draws the best episodes.
[ "$(head -c 4 all/report/figures/best-sphere.png | tail -c 3)" = PNG ] && [ "$(grep -c 'src="data:image/png' $page)" -eq 2 ] &&
    grep -q 'The best episode. Best run: all/sphere' $page
result $? "shows the best episode of each environment"
[ -z "$(find all -name best.png)" ]
result $? "and leaves the folders of the runs alone"
cp $page first.html
"$dshost" report all >/dev/null 2>&1
cmp -s first.html $page
result $? "the same again is the same page"
status 0 "another reference and place" "$dshost" report all/sphere --reference rand --out here
grep -q 'compared with <b>rand</b>' here/index.html
result $? "is on the page"

[ "$(grep -c '<summary>The best point: evaluation ' $page)" -eq 2 ] && grep -q '<tr><td>x3</td>' $page
result $? "the best points stand in it, without names"
"$dshost" --env bounce --opt rand --runs 2 --budget 10 --pictures no --out named >"$tmp/out" 2>"$tmp/err"
status 0 "a report with metrics" "$dshost" report named --no-pictures --metrics --out measured
[ "$(sed -n 's/^bounce,rand,[01],[^,]*,distance,m,[0-9.e-]*,named.seed-[01]$/yes/p' measured/metrics.csv | wc -l)" -eq 2 ] &&
    grep -q 'metrics of the best episodes' measured/index.html && grep -q 'href="metrics.csv"' measured/index.html
result $? "has them in a table and in the page"
"$dshost" eval --x named/seed-1 --trajectory last.csv >/dev/null 2>&1
column=$(head -n 1 last.csv | tr ',' '\n' | grep -nx metrics/distance | cut -d: -f1)
[ "$(tail -n 1 last.csv | cut -d, -f"$column")" = "$(sed -n 's/^bounce,rand,1,[^,]*,distance,m,\([^,]*\),.*/\1/p' measured/metrics.csv)" ]
result $? "they are those at the end of the best episode"
status 0 "without them" "$dshost" report named --no-pictures --out measured
[ ! -e measured/metrics.csv ] && [ ! -e measured/metric_cells.csv ] && ! grep -q 'metrics' measured/index.html
result $? "there is no table of an earlier report"
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
status 0 "a sweep" "$dshost" bench objects.ini --out objects
status 0 "its variants as one environment" "$dshost" report objects --pool gravity --metrics --no-pictures --out pooled
grep -q '^thrown,rand,6,' pooled/cells.csv && [ "$(grep -c '^thrown,rand,[0-9]*,[^,]*,speed,m/s,' pooled/metrics.csv)" -eq 6 ]
result $? "has the runs of all"
command=$(sed -n 's/.*<code>dshost \(plot objects --kind bars --env thrown --pool gravity --out [^<]*\)<.*/\1/p' pooled/index.html)
[ -n "$command" ] && eval "\"$dshost\" $command" >"$tmp/out" 2>"$tmp/err" && cmp -s bars-thrown.svg pooled/figures/bars-thrown.svg
result $? "the command of a figure draws it again"
[ "$(awk -F, '$5 == "speed" { s += $7; n++ } END { printf "%.9g", s / n }' pooled/metrics.csv)" = "$(awk -F, '$3 == "speed" { printf "%.9g", $6 }' pooled/metric_cells.csv)" ]
result $? "and the means of their metrics"
cp -r objects easy
cp -r easy/thrown@gravity=9/rand easy/thrown@gravity=9/alone
status 0 "an optimizer on one of three variants" "$dshost" report easy --pool gravity --no-pictures --out pooled
[ "$(cut -d, -f1-3 pooled/cells.csv | tail -n +2)" = thrown,rand,6 ] &&
    grep -q 'Left out: 2 runs that did not finish or do not compare' pooled/index.html &&
    [ "$(grep -c '<td>its optimizer ran on 1 of 3 variants, and not on gravity=10' pooled/index.html)" -eq 2 ]
result $? "is not taken for one that ran on all"
grep -q 'warning: --pool gravity: alone ran on 1 of 3 variants of thrown, and not on gravity=10: its 2 runs there are left out' "$tmp/err" &&
    [ "$(wc -l <"$tmp/err")" -eq 1 ]
result $? "and that is said once"
status 0 "variants on which all ran" "$dshost" report easy --pool gravity --only 'thrown@gravity=9/*' --no-pictures --out pooled
[ "$(cut -d, -f1-3 pooled/cells.csv | tail -n +2 | tr '\n' ' ')" = "thrown,alone,2 thrown,rand,2 " ] && [ ! -s "$tmp/err" ]
result $? "are pooled without a word"
rm -r easy/thrown@gravity=9/alone easy/thrown@gravity=9/rand/seed-0
status 0 "a variant with fewer runs" "$dshost" report easy --pool gravity --no-pictures --out pooled
[ "$(cut -d, -f1-3 pooled/cells.csv | tail -n +2)" = thrown,rand,5 ] &&
    grep -q 'warning: --pool gravity: rand has 1 to 2 runs per variant of thrown' "$tmp/err"
result $? "is told, and counts"
cat >dims.ini <<'END'
[bench]
envs = sphere
opts = rand
runs = 1
[run]
budget = 40
[env sphere]
plugin = analytic
[sweep env sphere]
dim = 2 | 20
END
status 0 "a sweep over the number of variables" "$dshost" bench dims.ini --out dims
status 0 "its variants as one environment" "$dshost" report dims --pool dim --no-pictures --out pooled
grep -q '<p>2 to 20 variables\.' pooled/index.html
result $? "has both numbers"
# 40 evaluations are 20 for each of 2 variables: that is where the longest run ends.
[ "$(awk -F, '{ last = $2 } END { print last }' pooled/figures/targets.csv)" = 20 ]
result $? "and every run counts by its own"
status 2 "a sweep that is not there" "$dshost" report objects --pool mass
grep -q -- '--pool mass: no environment is a variant' "$tmp/err"
result $? "is told"
status 0 "a report of named variables" "$dshost" report named --no-pictures
grep -q '<tr><td>velocity.y</td><td>[^<]*</td><td>m/s</td><td>velocity</td></tr>' named/report/index.html
result $? "has their names, units and groups"

status 0 "a report of two" "$dshost" report all/sphere/rand all/sphere/cmaes --reference rand --no-pictures --out pair
grep -q '<td class=g>better</td>' pair/index.html && grep -q ',better,' pair/cells.csv
result $? "marks what is significantly better"
status 0 "a report without pictures" "$dshost" report all --no-pictures --out plain
! grep -q 'image/png' plain/index.html && [ ! -e plain/figures/best-sphere.png ]
result $? "has none"
cp -r here with && cp all/report/figures/best-sphere.png with/figures/
status 0 "a report over one with a picture" "$dshost" report all/sphere --no-pictures --out with
! grep -q 'image/png' with/index.html && [ ! -e with/figures/best-sphere.png ]
result $? "does not take that picture for its own"
mkdir "it's \$1;"
cp -r all/sphere/rand "it's \$1;/rand"
status 0 "a folder with an odd name" "$dshost" report "it's \$1;" --no-pictures
command=$(sed -n 's/.*<pre>dshost \(report.*\)<.pre>.*/\1/p' "it's \$1;/report/index.html" | sed 's/&amp;/\&/g')
[ -n "$command" ] && [ "$(eval "\"$dshost\" $command")" = "it's \$1;/report/index.html" ]
result $? "its command can be repeated"
cp -r all/sphere/rand moved
for d in moved/*/; do
    sed -i 's/^env = .*/env = gone/' "$d/run.ini"
done
status 0 "a report where the plugin is gone" "$dshost" report moved
grep -q "no image of the best episode: .*gone" "$tmp/err" && grep -q 'Best run: moved' moved/report/index.html
result $? "says so and has the rest"

# A run that did not finish is named, not counted.
mkdir -p part/a part/b
cp -r all/sphere/rand/seed-0 part/a/
cp -r all/sphere/rand/seed-1 part/b/
rm part/b/seed-1/summary.json
status 0 "a report with an unfinished run" "$dshost" report part
grep -q 'Left out: 1 run that did not finish' part/report/index.html && grep -q '1 finished run' part/report/index.html
result $? "leaves it out and says so"

# ---- the page ----
labels() {
    grep -o '<[a-z]*[^>]*aria-label="[^"]*"' $1 | grep -v 'span role=img' | sed 's/.*aria-label="//'
}
[ "$(labels $page | wc -l)" -gt 20 ] && [ -z "$(labels $page | sort | uniq -d)" ]
result $? "figures and tables have names of their own"
[ "$(grep -o '<table' $page | wc -l)" -eq "$(grep -o '<div class=o tabindex=0 role=region' $page | wc -l)" ]
result $? "every table scrolls in its own frame, by keyboard, too"
grep -q 'prefers-color-scheme:dark' $page && grep -q '@media print' $page
result $? "dark screens and paper have rules"
grep -q '<title>all: 3 optimizers on 2 environments' $page && grep -q "<p class=s>Runs of 2[0-9-]* on .*Linux" $page
result $? "a title, when and where"
[ "$(grep -n '<table class=h>' $page | cut -d: -f1)" -lt "$(grep -n '<h2 id=all' $page | cut -d: -f1)" ] &&
    [ "$(grep -o '<td class="h[n0-9][^"]*"' $page | wc -l)" -eq 6 ]
result $? "first an overview with a cell for each optimizer on each environment"
order=$(sed -n '/<table class=h>/,/<\/table>/p' $page | sed -n 's/.*<th scope=col>environment<th scope=col>\([a-z]*\)<.*<th scope=col>\([a-z]*\)<.*/\1 \2/p')
[ "$order" = "boleap rand" ]
result $? "the best one first, random search last"
! grep -Eq '[0-9.]e-[0-9]+<|10⁻¹[5-9]' $page && awk -F, 'NR > 1 && $9 != "" && $9 != 0 && $9 < 1e-13 && $9 > -1e-13' all/report/runs.csv | wc -l | grep -qx 0
result $? "a score of nothing is 0"
awk -F, 'NR > 1 { for (i = 11; i <= 14; i++) if ($i < $9 || $i > $10) bad++ } END { exit bad > 0 }' all/report/cells.csv
result $? "intervals of the mean lie among the losses"
# Three runs of each: nothing can be shown on an environment, and that is said.
mkdir few
for o in rand cmaes boleap; do
    mkdir -p few/sphere/$o && cp -r all/sphere/$o/seed-[012] few/sphere/$o/
done
status 0 "a report of few runs" "$dshost" report few --no-pictures
grep -q 'Too few runs to tell optimizers apart' few/report/index.html && grep -q 'p cannot fall below 0.2 ' few/report/index.html &&
    grep -q '5 are needed\.' few/report/index.html && grep -q '<td class=n>too few runs</td>' few/report/index.html
result $? "says what cannot be shown, and what it would take"
status 0 "compare few runs" "$dshost" compare few:boleap few:rand
grep -q 'probability 1.000 (95 %: 0.501 to 1.000); Mann-Whitney p = 0.1' "$tmp/out" &&
    grep -q '=> undecidable: with 3 and 3 runs no p below 0.1 is possible; it needs 4 runs of each' "$tmp/out"
result $? "says so, with an interval that is none of certainty"
"$dshost" compare few:boleap few:rand --json | tr -d ' \n' | grep -q '"least_p_holm":0.1.*"verdict":"toofewruns".*"runs_needed":4'
result $? "also as JSON"

# ---- compare ----
status 0 "compare two optimizers" "$dshost" compare all:cmaes all:rand
grep -q 'over 2 environments: A is significantly better' "$tmp/out" && grep -q 'paired by seed (Wilcoxon)' "$tmp/out"
result $? "says what it found"
"$dshost" report all --no-pictures --page-only --reference rand --out alone >/dev/null &&
    [ "$(awk -F, '$1 == "cmaes" { print $(NF - 1), $NF; }' alone/summary.csv)" = "$(sed -n 's/.*is significantly better on \([0-9]*\), B on \([0-9]*\);.*/\1 \2/p' "$tmp/out")" ]
result $? "as the report's optimizer alone"
status 0 "compare as JSON" "$dshost" compare all/sphere/cmaes all/sphere/rand --json
grep -q '"a12": 1.0' "$tmp/out" && grep -q '"exact": true' "$tmp/out" && grep -q '"p": 0.0285714285714285' "$tmp/out"
result $? "four runs each, all lower: p = 2/70"
tr -d ' \n' <"$tmp/out" | grep -q '"evaluations":\[60,60\].*"same_budget":true.*"only":\[0,0\],"open":\[0,0\]'
result $? "has evaluations, budgets and what was left out"

# ---- plot ----
for k in curves bars; do
    status 0 "plot $k" "$dshost" plot all --kind $k --env sphere --out $k.svg
    grep -q '</svg>' $k.svg
    result $? "is an SVG"
done
status 0 "plot scores" "$dshost" plot all --kind scores
[ "$(head -c 4 all/scores.png | tail -c 3)" = PNG ]
result $? "is a PNG at its default place"
status 0 "the numbers of a plot" "$dshost" plot all/sphere --along steps --out numbers.csv
[ "$(head -n 1 numbers.csv)" = "optimizer,steps,value,low90,high90,median,q1,q3" ]
result $? "are a table"

# ---- refusals ----
refuses 2 'name a folder' "report without a folder" "$dshost" report
refuses 6 'nowhere' "report on what is not there" "$dshost" report nowhere
mkdir empty
refuses 6 'empty' "report on an empty folder" "$dshost" report empty
refuses 2 'nearest is cmaes' "report with a misspelt reference" "$dshost" report all --reference cmeas
refuses 2 'nearest is sphere' "plot of a misspelt environment" "$dshost" plot all --env sphre --out x.svg
refuses 6 'nearest is cmaes' "compare a misspelt optimizer" "$dshost" compare all:cmeas all:rand
refuses 2 'reference nobody' "report with an unknown reference" "$dshost" report all --reference nobody
refuses 2 '3 optimizers: choose one' "compare needs one optimizer per set" "$dshost" compare all all/sphere/rand
refuses 6 'no finished run of nobody' "compare with an unknown optimizer" "$dshost" compare all:nobody all:rand
refuses 2 'two sets' "compare with one set" "$dshost" compare all
refuses 2 'environment in common' "compare different environments" "$dshost" compare all/sphere/rand all/rastrigin/rand
refuses 2 "did you mean 'bars'" "plot of an unknown kind" "$dshost" plot all --kind bar
refuses 2 '2 environments with --env' "plot needs an environment" "$dshost" plot all --kind bars
refuses 2 '.png, .svg, .pdf or .csv' "plot to an unknown kind of file" "$dshost" plot all --kind scores --out x.eps
"$dshost" plot all --kind curves --env sphere --width 85mm --no-title --out paper.pdf >"$tmp/out" 2>"$tmp/err" &&
    "$dshost" plot all --kind curves --env sphere --width 85mm --no-title --out again.pdf >"$tmp/out" 2>"$tmp/err" &&
    [ "$(head -c 5 paper.pdf)" = %PDF- ] && cmp -s paper.pdf again.pdf && grep -aq 'MediaBox \[ *0 0 240.94' paper.pdf && grep -aq FontFile paper.pdf
result $? "a figure for print: 85 mm wide, with its fonts in it, the same file twice"
"$dshost" plot all --kind bars --env sphere --width 3in --font-size 9 --out paper.svg >"$tmp/out" 2>"$tmp/err" && grep -q '<svg [^>]*width="76.2mm"' paper.svg
result $? "and as SVG"
refuses 2 '20mm to 2000mm' "a width without a unit" "$dshost" plot all --kind scores --out x.pdf --width 85
refuses 2 'from 3 to 72' "a font of 300 points" "$dshost" plot all --kind scores --out x.pdf --font-size 300
refuses 2 'too small for its text' "a figure without room" "$dshost" plot all --kind scores --out x.pdf --height 20mm --font-size 30
refuses 2 '0 or more' "a tolerance below 0" "$dshost" report all --tolerance=-1 --out x
finish
