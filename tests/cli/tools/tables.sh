#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh - dshost table, and docs/results/update.sh: the tables of docs/experiments/ and gradsim.md equal the numbers in
# docs/results, and one command adds a new experiment to page and folder.
. "$(dirname "$0")/../lib.sh"
results=$DS_TOP_SRC/docs/results
cd "$tmp" || exit 99
export DSHOST="$dshost"

status 0 "the tables of the documents" env QUICK="$([ -n "${CHECK_ALL-}" ] || echo yes)" sh "$results/update.sh" --check

# ---- dshost table ----
head='environment,optimizer,seed,variables,budget,evaluations,gradients,best_loss,cost_steps,evaluation_s,wall_s,ended,version_environment,version_optimizer'
row() { # ENV OPT SEED LOSS [WALL]
	echo "$1,$2,$3,4,60,60,0,$4,60,0.1,${5:-12.4},budget,1,1"
}
rows() { # ENV OPT LOSS...
	e=$1 o=$2 seed=0
	shift 2
	for loss; do row "$e" "$o" $seed "$loss" && seed=$((seed + 1)); done
}
{
	echo "$head"
	rows a_hill boleap 0.00011 0.00012 0.00013 0.00014 0.00015 0.00016
	rows a_hill cmaes 250.1 250.2 250.3 250.4 250.5 251
	rows a_hill rand 2 2.25 2.5 2.75 3 123456
	rows slope boleap 1 1.1 1.2 1.3 1.4 1.5
	rows slope cmaes 0.9 1.15 1.21 1.31 1.41 1.6
	rows slope late 7 7 7 7 7 nan
} > runs.csv
table() {
	"$dshost" table "$@" > out 2> err
}
cat > want <<'END'
| | slope | a_hill |
| --- | --- | --- |
| `rand` | - | 2.62 [2.31, 2.94] (-) |
| `cmaes` | 1.26 [1.17, 1.39] | 250 [250, 250] (-) |
| `boleap` | 1.25 [1.12, 1.38] | 0.00013 [0.00012, 0.00015] |
| `late` | 7 [7, 7] (-) | - |
END
table runs.csv --stat median --mark reference --no-note --envs 'slope,*' --methods 'rand,cmaes,*' --format md && cmp -s want out && [ ! -s err ]
result $? "medians, in the order that is asked for, against the reference"
cat > want <<'END'
| | a_hill | slope |
| --- | --- | --- |
| `boleap` | **0.00013** [0.00012, 0.00015] | **1.25** [1.12, 1.38] |
| `cmaes` | 250 [250, 250] | **1.26** [1.17, 1.39] |
| `late` | - | 7 [7, 7] |
| `rand` | 2.62 [2.31, 2.94] | - |
END
table runs.csv --stat median && head -n 6 out | cmp -s want - && grep -q '^Median .* 6 runs each. Bold: .*not shown to be worse' out
result $? "bold: the best, and what the test does not tell from it; and what bold means"
for k in 1 2 3 4; do row few a $k $k && row few b $k 9$k; done | sed '/,[34],4,60/d' | { echo "$head" && cat; } > few.csv
table few.csv --stat median && [ "$(grep -c '\*\*' out)" -eq 1 ] && grep -q 'On 1 of 1 environments there are too few runs to show any difference' out
result $? "with too few runs just the lowest, and that is said"
table runs.csv --stat median --columns 1 && [ "$(grep -c '^| ---' out)" -eq 2 ] && table runs.csv --stat median --transpose && grep -q '^| | `boleap` | `cmaes`' out
result $? "one environment a table; environments as rows"
printf '| | better than `boleap` | no difference shown | worse | alone: better | no difference shown | worse |\n| --- | --- | --- | --- | --- | --- | --- |\n| `cmaes` | 0 | 1 | 1 | 0 | 1 | 1 |\n| `late` | 0 | 0 | 1 | 0 | 0 | 1 |\n| `rand` | 0 | 0 | 1 | 0 | 0 | 1 |\n' > want
table runs.csv --stat counts --no-note && cmp -s want out
result $? "how many are better or worse"
table runs.csv --stat scores && grep -q '^| `cmaes` | \*\*[01].[0-9][0-9]\*\* | \[' out && grep -q '^| `late` (1 of 2) | ' out && grep -q '0 is the mean of random search (where there is none' out
result $? "scores, who did not run everywhere, and what 0 is"
table runs.csv --stat mean --format csv && [ "$(head -n 1 out)" = method,environment,runs,mean,low,high,bold,than_reference ] && [ "$(wc -l < out)" -eq 7 ]
result $? "a row for each cell, as CSV"
table runs.csv --stat time --out t.tex && grep -qFx '\begin{tabular}{lrr}' t.tex && grep -qFx '\toprule' t.tex && grep -qFx ' & \texttt{a\_hill} & \texttt{slope} \\' t.tex &&
	grep -qFx '\texttt{boleap} & $12$ & $12$ \\' t.tex && grep -qFx '\end{tabular}' t.tex && ! grep -q 'begin{table}' t.tex
result $? "times for LaTeX, by the ending of the file"
{ echo "$head" && rows 'a&b_{100%}' 'x^2~\y$#' 1e-7 2e-7 3e-7 -1e30; } > odd.csv
table odd.csv --format latex --caption 'Losses.' && grep -qF '\texttt{a\&b\_\{100\%\}}' out && grep -qF '\texttt{x\textasciicircum{}2\textasciitilde{}' out && grep -qF '\caption{Losses. Mean ' out &&
	grep -qF '{\times}10^{29}' out
result $? "names and numbers that TeX would read otherwise"
cat > metric_cells.csv <<'END'
environment,optimizer,metric,unit,runs,mean,bca95_low,bca95_high,median,q1,q3,least,most
slope,cmaes,error,,10,0.5,0.4,0.6,0.3,0.2,0.7,0,1
slope,cmaes,distance,m,10,5,4,6,3,2,7,0,10
slope,rand,error,,10,1e-7,1e-8,2e-7,0,0,3e-7,0,1
END
printf '| | slope |\n| --- | --- |\n| `rand` | 1e-07 [1e-08, 2e-07] |\n| `cmaes` | 0.5 [0.4, 0.6] |\n' > want
table metric_cells.csv --metric error --methods rand,cmaes --no-note && cmp -s want out && [ ! -s err ]
result $? "means of a metric"
table metric_cells.csv --metric distance --stat median && grep -qx '| `cmaes` | 3 \[2, 7\] |' out && ! grep -q rand out
result $? "medians of another"
bad() { # STATUS TEXT ARGUMENTS...
	want=$1 text=$2
	shift 2
	"$dshost" table "$@" > out 2> err
	[ $? -eq "$want" ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -q "$text" err
	result $? "refused: $*"
}
bad 2 'nearest is cmaes' runs.csv --methods cmeas
bad 2 'nearest is error' metric_cells.csv --metric eror
bad 2 'name one with --metric' metric_cells.csv
bad 2 'best, reference, none' runs.csv --mark bold
bad 2 'caption is for' runs.csv --caption x
bad 2 'from 1 to 17' runs.csv --digits 0
bad 2 'end with .tex, .md or .csv' runs.csv --out x.doc
printf 'environment,optimizer,metric,unit,runs,mean_of\n' > few2.csv
bad 3 'no column "mean"' few2.csv --metric error
bad 6 'nowhere' nowhere.csv
if [ -n "$(command -v pdflatex)" ]; then
	{ printf '\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n' && "$dshost" table runs.csv odd.csv --format latex --caption 'All.' && printf '\\end{document}\n'; } > t.tex 2> err
	pdflatex -interaction=nonstopmode t.tex > out 2>&1 && [ -s t.pdf ] && ! grep -q '^!' out
	result $? "pdflatex takes it"
fi

if [ -z "${CHECK_ALL-}" ]; then # make check-slow goes on
	finish
	exit
fi

# ---- a new experiment ----
mkdir -p docs/results docs/experiments
cp -R "$results"/* docs/results && rm docs/results/rigid/*
# Of the tables of the pages those that change here: all of them have been made above.
for page in experiments/paper experiments/optimizers experiments/racer experiments/ablations gradsim; do
	awk '/^<!-- table / { keep = /^<!-- table (rigid|gradsim.pendula) /; skip = !keep } !skip { print } /^<!-- end of table -->/ { skip = 0 }' \
		"$DS_TOP_SRC/docs/$page.md" > docs/$page.md
done
cp docs/experiments/paper.md whole.md
export DOCS="$tmp/docs"
"$dshost" bench "$DS_TOP_SRC/examples/rigid_methods.ini" --only 'bounce/*' --budget 30 --runs 2 --out new > out 2> err
sh "$results/update.sh" rigid new > out 2> err
[ $? -eq 0 ] && [ -s docs/results/rigid/index.html ] && [ -s docs/results/rigid/summary.csv ] && [ -s docs/results/rigid/runs.csv ]
result $? "its report"
[ "$(grep -c ',results/rigid_methods/bounce/' docs/results/rigid/runs.csv)" -eq 12 ] && ! grep -q ',new/' docs/results/rigid/runs.csv
result $? "its runs lie where those of the experiment do"
! grep -l ',/' "$results"/*/*runs.csv "$results"/*/*/*runs.csv > out && ! grep -lE '(report|plot|run:) .*/(tmp|work|home)/' "$results"/*/index.html >> out
result $? "no published run lies in a folder of one machine"
sed -n '/^<!-- table rigid/,/^<!-- end of table/p' docs/experiments/paper.md > table
grep -q '^| | bounce |$' table && grep -q '^| `rand` | [-0-9.e]* ' table && [ "$(grep -c '^| `' table)" -eq 6 ]
result $? "its table"
sed '/^<!-- table rigid/,/^<!-- end of table/d' docs/experiments/paper.md > rest
sed '/^<!-- table rigid/,/^<!-- end of table/d' whole.md | cmp -s - rest
result $? "nothing else of the page"
status 0 "and it is up to date" sh "$results/update.sh" --check
cp docs/results/rigid/runs.csv published.csv && cp docs/results/rigid/cells.csv before.csv
mkdir more && cp -R new/bounce more && rm -r more/bounce/rand more/bounce/cmaes && cp new/bench.ini more
sh "$results/update.sh" rigid more published.csv > out 2> err
code=$?
cut -d, -f1-13 published.csv > x && cut -d, -f1-13 docs/results/rigid/runs.csv | cmp -s - x
same_runs=$?
[ $code -eq 0 ] && [ $same_runs -eq 0 ] && cut -d, -f1-14 docs/results/rigid/cells.csv > x && cut -d, -f1-14 before.csv | cmp -s - x &&
	[ "$(awk -F, '$15 == ""' docs/results/rigid/cells.csv | wc -l)" -eq 2 ]
result $? "new runs beside a table of published ones"
status 0 "its tables are the same" sh "$results/update.sh" --check
sh "$results/update.sh" rigid "$tmp/published.csv" > out 2> err
[ $? -eq 0 ] && ! grep -q "$tmp" docs/results/rigid/index.html && cmp -s published.csv docs/results/rigid/runs.csv && [ -z "$(awk -F, 'NR > 1 && $15 != ""' docs/results/rigid/cells.csv)" ] && [ ! -e published.csv/report ]
result $? "a table of published runs alone"
status 0 "and they are still the same" sh "$results/update.sh" --check
sh "$results/update.sh" optimizers more published.csv new > out 2> err
[ $? -eq 0 ] && [ "$(grep -c ',results/optimizers/' docs/results/optimizers/runs.csv)" -gt 0 ] &&
	[ "$(grep -c ',results/rigid_methods/' docs/results/optimizers/runs.csv)" -eq 4 ] &&
	sed 's,results/rigid_methods/,results/optimizers_torus/,' published.csv | cmp -s - docs/results/optimizers/torus-runs.csv
result $? "a table belongs to the experiment before it"
cp "$results"/optimizers/* docs/results/optimizers
sh "$results/update.sh" gradsim/pendula published.csv > out 2> err
[ $? -eq 2 ] && grep -q 'a table of runs has no metrics' err
result $? "metrics are in no table"
sed 's/| `rand` | [0-9]/| `rand` | x/' docs/experiments/paper.md > x && cat x > docs/experiments/paper.md
status 1 "a table that was changed by hand is found" sh "$results/update.sh" --check
mkdir -p results/evaluation && cp -R new/* results/evaluation
bad_folder=$(sh "$results/update.sh" methods_full 2>&1 > out)
[ $? -ne 0 ] && case $bad_folder in *results/evaluation_full:*) ;; *) false ;; esac
result $? "a part is not read from the folder of the whole experiment"
"$dshost" bench "$DS_TOP_SRC/examples/paper/gradsim/pendula_small.ini" --only 'pendulum/lm' --budget 8 --runs 2 --out new2 > out 2> err
sh "$results/update.sh" gradsim/pendula new2 > out 2> err
[ $? -eq 0 ] && grep -q '^pendulum,lm,error_length,,1,' docs/results/gradsim/pendula.csv && ! grep -q ',y,' docs/results/gradsim/pendula.csv
result $? "errors and distances of an experiment of gradSim: two runs of a deterministic search, which are one sample"
sed -n '/^<!-- table gradsim.pendula/,/^<!-- end of table/p' docs/gradsim.md > table
grep -q '^| `lm` | [-0-9.e]* |$' table && [ "$(grep -c '^| `' table)" -eq 1 ]
result $? "their table"
finish
