#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh - docs/results/tables.sh and update.sh: the tables of docs/experiments.md and gradsim.md are what the numbers in docs/results say,
# and a new experiment gets into page and folder by one command.
. "$(dirname "$0")/../lib.sh"
results=$DS_TOP_SRC/docs/results
cd "$tmp" || exit 99
export DSHOST="$dshost"

status 0 "the tables of docs/experiments.md" sh "$results/update.sh" --check

# ---- tables.sh ----
cat > two.ini <<'END'
[bench]
envs = slope
    a_hill ; beside it
opts = rand cmaes
    boleap adam
END
cat > cells.csv <<'END'
environment,optimizer,runs,mean,median,q1,q3,t90_low,t90_high,wall_s,a12,p_holm
a_hill,boleap,10,0.5,0.00012345,1e-7,123456,0.4,0.6,12.4,,
a_hill,cmaes,10,250.25,2,1,3,-0.0004567,1234.5,0.6,0.9,0.04
a_hill,rand,10,2,2,1,3,1.5,2.5,3,0.1,0.01
slope,boleap,10,1,1,1,1,1,1,1,,
slope,cmaes,10,1,1,1,1,1,1,1,0.6,0.2
slope,late,10,7,7,7,7,7,7,7,0.6,
END
cat > want <<'END'
| | slope | a_hill |
| --- | --- | --- |
| `rand` | - | 2 [1.5, 2.5] (-) |
| `cmaes` | 1 [1, 1] | 250 [-0.00046, 1234] (+) |
| `boleap` | 1 [1, 1] | 0.5 [0.4, 0.6] |
| `late` | 7 [7, 7] | - |
END
sh "$results/tables.sh" mean two.ini cells.csv > out 2> err
cmp -s want out && [ ! -s err ]
result $? "means, in the order of the experiment, what it does not name behind it"
sh "$results/tables.sh" median --columns 1 two.ini cells.csv > out 2> err
grep -qx '| `boleap` | 0.00012 \[1e-07, 1.2e+05\] |' out && [ "$(grep -c '^| ---' out)" -eq 2 ] && ! grep -q adam out
result $? "medians, one environment a table, no row without a number"
printf '| | better than `boleap` | no difference shown | worse |\n| --- | --- | --- | --- |\n| `rand` | 0 | 0 | 1 |\n| `cmaes` | 1 | 1 | 0 |\n| `late` | 0 | 1 | 0 |\n' > want
sh "$results/tables.sh" counts two.ini cells.csv > out 2> err
cmp -s want out
result $? "how many are better or worse"
sed '1s/$/,p/; 3s/$/,0.03/; 4s/$/,0.02/; 6s/$/,0.024/; 7s/$/,/; 2s/$/,/; 5s/$/,/' cells.csv > alone.csv
printf '| | better than `boleap` | no difference shown | worse | alone: better | no difference shown | worse |\n| --- | --- | --- | --- | --- | --- | --- |\n| `rand` | 0 | 0 | 1 | 0 | 0 | 1 |\n| `cmaes` | 1 | 1 | 0 | 2 | 0 | 0 |\n| `late` | 0 | 1 | 0 | 0 | 1 | 0 |\n' > wanted
sh "$results/tables.sh" counts two.ini alone.csv > out 2> err
cmp -s wanted out
result $? "and how many are alone"
sed '6s/0.024$/0.026/; 3s/0.03$/0.04/; s/_hill//' alone.csv > three.csv; sed 1d three.csv | grep '^a' | sed 's/^a/third/' > a; cat a >> three.csv
sed -i '/^third,cmaes/s/0.04$/0.01/' three.csv
sh "$results/tables.sh" counts two.ini three.csv > out 2> err
grep -qx '| `cmaes` | 2 | 1 | 0 | 1 | 2 | 0 |' out
result $? "corrected for all of them: 0.01 of three is below 0.05, 0.026 of the two left is not, nor is then 0.04"
printf 'last,cmaes,10,1,1,1,1,1,1,1,,\nlast,zz,10,1,1,1,1,1,1,1,,\n' | cat cells.csv - > without.csv
sh "$results/tables.sh" counts two.ini without.csv > out 2> err
cmp -s want out
result $? "where the reference did not run nothing is counted"
cat > summary.csv <<'END'
optimizer,environments,of,score,score95_low,score95_high
few,1,3,0.9,0.8,1
good,3,3,0.7,0.6,0.8
better,3,3,0.8,0.7,0.9
END
printf '| | score | interval |\n| --- | --- | --- |\n| `better` | 0.80 | [0.70, 0.90] |\n| `good` | 0.70 | [0.60, 0.80] |\n| `few` (1 of 3) | 0.90 | [0.80, 1.00] |\n' > want
sh "$results/tables.sh" scores summary.csv > out 2> err
cmp -s want out
result $? "scores, and who did not run everywhere"
sh "$results/tables.sh" mean --columns 0 two.ini cells.csv > out 2> err
[ $? -eq 2 ] && [ ! -s out ]
result $? "no table without columns"
sh "$results/tables.sh" time --latex two.ini cells.csv > out 2> err
grep -qFx '\begin{tabular}{lrr}' out && grep -qFx ' & \texttt{slope} & \texttt{a\_hill} \\' out &&
	grep -qFx '\texttt{boleap} & 1 & 12 \\' out && grep -qFx '\end{tabular}' out
result $? "times, for LaTeX"
cat > metric_cells.csv <<'END'
environment,optimizer,metric,unit,runs,mean,bca95_low,bca95_high,median,q1,q3,least,most
slope,cmaes,error,,10,0.5,0.4,0.6,0.3,0.2,0.7,0,1
slope,cmaes,distance,m,10,5,4,6,3,2,7,0,10
slope,rand,error,,10,1e-7,1e-8,2e-7,0,0,3e-7,0,1
END
printf '| | slope |\n| --- | --- |\n| `rand` | 1e-07 [1e-08, 2e-07] |\n| `cmaes` | 0.5 [0.4, 0.6] |\n' > want
sh "$results/tables.sh" metric --metric error two.ini metric_cells.csv > out 2> err
cmp -s want out && [ ! -s err ]
result $? "means of a metric"
sh "$results/tables.sh" middle --metric distance two.ini metric_cells.csv > out 2> err
grep -qx '| `cmaes` | 3 \[2, 7\] |' out && ! grep -q rand out
result $? "medians of another"
sed 's/a_hill ; beside it/nothing_yet a_hill/' two.ini > three.ini
sh "$results/tables.sh" mean three.ini cells.csv > out 2> err
grep -q '^| | slope | a_hill |$' out && [ ! -s err ]
result $? "no column for an environment without a run"
cut -d, -f1-6 cells.csv > few.csv
sh "$results/tables.sh" mean two.ini few.csv > out 2> err
[ $? -eq 3 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -q 'few.csv: no column "q3"' err
result $? "a column that is missing is named"
sh "$results/tables.sh" mean nowhere.csv > out 2> err
[ $? -eq 6 ] && grep -q "nowhere.csv" err
result $? "so is a file"
sh "$results/tables.sh" maximum cells.csv > out 2> err
[ $? -eq 2 ] && grep -q "tables.sh KIND" err
result $? "and what it can do"

# ---- a new experiment ----
mkdir -p docs/results && cp "$DS_TOP_SRC/docs/experiments.md" "$DS_TOP_SRC/docs/gradsim.md" docs
cp -R "$results"/* docs/results && rm docs/results/rigid/*
export DOCS="$tmp/docs"
"$dshost" bench "$DS_TOP_SRC/examples/rigid_methods.ini" --only 'bounce/*' --budget 30 --runs 2 --out new > out 2> err
sh "$results/update.sh" rigid new > out 2> err
[ $? -eq 0 ] && [ -s docs/results/rigid/index.html ] && [ -s docs/results/rigid/summary.csv ] && [ -s docs/results/rigid/runs.csv ]
result $? "its report"
[ "$(grep -c ',results/rigid_methods/bounce/' docs/results/rigid/runs.csv)" -eq 12 ] && ! grep -q ',new/' docs/results/rigid/runs.csv
result $? "its runs lie where those of the experiment do"
! grep -l ',/' "$results"/*/*runs.csv "$results"/*/*/*runs.csv > out
result $? "no published run lies in a folder of one machine"
sed -n '/^<!-- table rigid/,/^<!-- end of table/p' docs/experiments.md > table
grep -q '^| | bounce |$' table && grep -q '^| `rand` | [0-9.]* \[[-0-9., e]*\]' table && [ "$(grep -c '^| `' table)" -eq 6 ]
result $? "its table"
sed '/^<!-- table rigid/,/^<!-- end of table/d' docs/experiments.md > rest
sed '/^<!-- table rigid/,/^<!-- end of table/d' "$DS_TOP_SRC/docs/experiments.md" | cmp -s - rest
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
sh "$results/update.sh" rigid published.csv > out 2> err
[ $? -eq 0 ] && cmp -s published.csv docs/results/rigid/runs.csv && [ -z "$(awk -F, 'NR > 1 && $15 != ""' docs/results/rigid/cells.csv)" ] && [ ! -e published.csv/report ]
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
sed 's/| `rand` | [0-9]/| `rand` | x/' docs/experiments.md > x && cat x > docs/experiments.md
status 1 "a table that was changed by hand is found" sh "$results/update.sh" --check
mkdir -p results/evaluation && cp -R new/* results/evaluation
bad_folder=$(sh "$results/update.sh" methods_full 2>&1 > out)
[ $? -ne 0 ] && case $bad_folder in *results/evaluation_full:*) ;; *) false ;; esac
result $? "a part is not read from the folder of the whole experiment"
"$dshost" bench "$DS_TOP_SRC/examples/paper/gradsim/pendula_small.ini" --only 'pendulum/lm' --budget 8 --runs 2 --out new2 > out 2> err
sh "$results/update.sh" gradsim/pendula new2 > out 2> err
[ $? -eq 0 ] && grep -q '^pendulum,lm,error_length,,2,' docs/results/gradsim/pendula.csv && ! grep -q ',y,' docs/results/gradsim/pendula.csv
result $? "errors and distances of an experiment of gradSim"
sed -n '/^<!-- table gradsim.pendula/,/^<!-- end of table/p' docs/gradsim.md > table
grep -q '^| `lm` | [-0-9.e]* \[[-0-9., e]*\] |$' table && [ "$(grep -c '^| `' table)" -eq 2 ]
result $? "their table"
finish
