#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# landscape.sh - `dshost landscape`: slices, verdicts, files, images, paths of runs, the same results for every
# number of jobs, errors.
. "$(dirname "$0")/../lib.sh"
shapes=$DS_TOP_BUILD/tests/plugins/.libs/shapes.so
cd "$tmp" || exit 99
HOME=$tmp
export HOME

# survey NAME ARGUMENT...: a landscape in folder NAME.
survey() {
    folder=$1
    shift
    status 0 "landscape $*" "$dshost" landscape --out "$folder" "$@"
}

# ---- words for landscapes that are known ----
survey bowl --env "$shapes" --grid 41x41
grep -q '"verdict": "smooth, 1 basin; good gradients"' bowl/summary.json
result $? "a bowl is smooth"
for f in landscape.sqlite landscape.ini center.npy grid.csv samples.csv landscape.npz landscape.png landscape.svg \
    gradient.png gradient.svg landscape.html summary.json; do
    [ -s bowl/$f ]
    result $? "$f is there"
done
[ ! -e bowl/run.lock ] && [ "$(wc -l < bowl/grid.csv)" -eq 1682 ] && [ "$(head -n 1 bowl/grid.csv)" = "i,j,c0,c1,loss,outcome,g0,g1,norm" ]
result $? "grid.csv has a row per point"
head -n 1 out > first
[ "$(cat first)" = bowl ] && [ "$(tail -n 1 out)" = "verdict   smooth, 1 basin; good gradients" ]
result $? "the text begins with the folder and ends with the verdict"
! grep -q '^why' out && ! grep -q 'turns_per_line' out
result $? "and says no thresholds that were not reached"
grep -q 'lowest point of the grid' bowl/landscape.svg && grep -q 'equal loss' bowl/landscape.svg &&
    grep -q 'downhill by the gradient' bowl/landscape.svg && ! grep -q 'uphill by the grid' bowl/landscape.svg
result $? "the legend names the ring, the lines and the arrows, and nothing that is not there"
own_scripts bowl/landscape.html && grep -q 'smooth, 1 basin; good gradients' bowl/landscape.html
result $? "the page runs its own scripts alone, and says the verdict"
# Values of the page, floats in base64, are those of the table.
sed -n 's/.*id=data>\(.*\)<\/script>.*/\1/p' bowl/landscape.html | jq -r .loss | base64 -d | od -An -v -t f4 -w4 | awk '{ print $1 }' > floats
awk -F, 'NR > 1 { print $5 }' bowl/grid.csv | paste - floats | awk '{ d = $1 - $2; m = d < 0 ? -d : d; if (m > 1e-6 * (1 + ($1 < 0 ? -$1 : $1))) { bad++ } } END { exit !(NR == 1681 && bad == 0) }'
result $? "the page has the loss of every point"
survey rastrigin --env analytic --set env.function=rastrigin --set env.optimum=origin
grep -q '"verdict": "rugged, 121 basins; good gradients"' rastrigin/summary.json
result $? "Rastrigin's function has 121 basins"
tail -n 4 out > end
grep -q '^  counted on a grid of .* points; a finer one may find more' out
result $? "and what they are counted on"
grep -q '^why$' out && grep -q '  rugged  *turns_per_line is [0-9.]*, from 6 on' end && grep -q '  rugged  *basins is 121, from 10 on' end
result $? "with the measures that were held against the thresholds"
survey advised --env "$shapes" --set env.shape=plateau --advise
[ "$(wc -l < out)" -eq 4 ] && grep -q '^grid      21 x 21 points: basins are counted on them' out && grep -q '^verdict   smooth, 1 basin, with plateaus' out &&
    grep -q '^advice    gradients vanish at [0-9]* % of the points.*: racer' out &&
    grep -qx 'gradient  missing at 0 of 441 points of the slice with a loss (0 %), and at 0 of 40 random points of the box (0 %)' out
result $? "--advise says what to do about it, where gradients are missing, and nothing else"
[ "$(wc -l < advised/grid.csv)" -eq 442 ] && [ ! -e advised/landscape.png ] &&
    grep -q '"advice": "gradients vanish' advised/summary.json
result $? "from a small grid, without pictures; summary.json has it, too"
mkdir place quiet
(cd quiet && TMPDIR=../place "$dshost" landscape --env analytic --advise > ../out 2> ../err) && grep -q '^advice ' out && [ -z "$(ls place quiet | grep -v ':$')" ]
result $? "without --out nothing is left behind"
status 0 "doctor --env" "$dshost" doctor --env "$shapes" --set env.shape=plateau --out examined
cmp -s examined/grid.csv advised/grid.csv && grep -q '^advice ' "$tmp/out"
result $? "is the same"
status 0 "doctor: gradients that are missing" "$dshost" doctor --env "$shapes" --set env.shape=holes --set env.n=3 --out missing
grep -qE '^verdict   .*; gradients .*missing in places' out && grep -q '^advice    gradients are missing in places: ' out &&
    grep -qE '^gradient  missing at 63 of 441 points of the slice with a loss \(14.3 %\), and at (1[5-9]|2[0-9]|3[0-3]) of 40 random points of the box' out
result $? "reports their share on the slice and in the box"
survey missed --env "$shapes" --set env.shape=holes --set env.n=3 --axes 1 --grid 201 --box 80 --pictures no
grep -qE '^  missing  *0.00 %  of 201 points with a loss$' out && grep -qE '^  missing in the box  *[4-7][0-9]\.[0-9]* %  of 80 random points with a loss$' out &&
    [ "$(jq '.gradient | (.missing_share == 0) and (.box.points == 80) and (.box.missing > 32) and .box.missing_share == .box.missing / 80' missed/summary.json)" = true ] &&
    grep -qF 'missing in places' missed/summary.json
result $? "a slice may miss them; the box does not"
status 4 "doctor of an environment that there is not" "$dshost" doctor --env=nosuch
grep -q "no environment 'nosuch'" "$tmp/err"
result $? "says so"
status 0 "of a landscape that is there" "$dshost" landscape rastrigin --advise --pictures no
grep -q '^advice    gradients are right, but lead to one of 121 basins' out
result $? "with that landscape's grid"
status 0 "advice for many variables" "$dshost" landscape --env analytic --set env.function=rastrigin --set env.dim=6000 --advise --axes 0,1 \
    --gradient --out thousands
! grep -q 'leaprefine' out && grep -q '^advice    .*: alphaorder, which averages them' out
result $? "names no optimizer that refuses them"
verdict() { # verdict SHAPE WORDS ARGUMENT...
    shape=$1
    words=$2
    shift 2
    rm -rf shape
    "$dshost" landscape --env "$shapes" --set env.shape="$shape" --out shape --pictures no "$@" > out 2> err &&
        grep -qF "\"verdict\": \"$words\"" shape/summary.json
    passed=$?
    [ $passed -eq 0 ] || grep '"verdict"' shape/summary.json | sed 's/^/# /'
    result $passed "$shape: $words"
}
verdict step "1 basin, with plateaus and jumps; good gradients"
verdict step "1 basin, with plateaus, jumps not tested; good gradients" --jumps 0
grep -q '"jump_share": null' shape/summary.json
result $? "of which nothing is known"
verdict plateau "smooth, 1 basin, with plateaus; gradients exact but zero in large areas"
status 0 "a step" "$dshost" landscape --env heaviside --out step --pictures no
grep -q '"verdict": "1 basin, with plateaus and few jumps; ' step/summary.json
result $? "is not smooth"
verdict wrong "smooth, 1 basin; gradients often the wrong way, not the derivative of the loss"
verdict exploding "smooth, 1 basin; gradients exploding, not the derivative of the loss"
verdict flat "constant; zero gradients"
# Time of impact: with whole steps the gradient is +1 where the ball ends lower the higher it starts.
verdict ball_naive "1 basin, with jumps; gradients exact but often the wrong way" --axes 0 --range -0.9731:0.9713 --grid 25
grep -q '"wrong_way_share": 1.0,' shape/summary.json
result $? "all of them"
verdict ball_toi "smooth, 1 basin; good gradients" --axes 0 --range -0.9731:0.9713 --grid 25
status 0 "billiards" "$dshost" landscape --env "$shapes" --set env.shape=billiards --grid 31x31 --samples 50 --out billiards
grep '^verdict   rugged, [0-9]* basins, with plateaus and jumps; gradients exact but zero in large areas, .* the wrong way$' out > verdict
result $? "billiards is rugged with useless gradients"

# ---- what a failure does ----
status 0 "a bowl of which most points fail" "$dshost" landscape --env analytic --set env.dim=2 --set env.fail_rate=0.6 --advise --max-failed 1 --out holes
grep -q '^verdict   smooth, 1 basin, no loss at' out && grep -q '^advice    gradients are good' out
result $? "is one basin all the same"
survey half --env "$shapes" --set env.shape=blowup --grid 21x21
[ "$(grep -c ',diverged,' half/grid.csv)" -eq 105 ] && grep -q '"with_loss": 336' half/summary.json &&
    grep -q '"verdict": "smooth, 1 basin, no loss at 24 %; ' half/summary.json
result $? "points without a loss are counted"
grep -q '>no loss<' half/landscape.svg && ! grep -q '>no loss<' bowl/landscape.svg
result $? "and the legend explains the hatching"
status 5 "too many failures" "$dshost" landscape --env "$shapes" --set env.shape=blowup --grid 11 --max-failed 0.1 --out many
[ -s many/summary.json ] && grep -q 'evaluations failed' err
result $? "the results are there all the same"
status 0 "crashes cost a point each" "$dshost" landscape --env "$faulty" --set env.fault=segv --set env.above=0.7 --grid 9 \
    --samples 0 --jumps 0 --out crash
[ ! -e crash/run.lock ] && [ "$(grep -c ',error,\|,crashed,\|,invalid,' crash/grid.csv)" -gt 0 ] && ls crash/failure-*.ini > /dev/null
result $? "and leave a file that repeats them"

status 0 "divergence everywhere" "$dshost" landscape --env "$faulty" --set env.fault=diverge --grid 9x9 --max-failed 1 --out none
tail -n 1 out | grep -qx 'verdict   no loss anywhere' && ! grep -q 'nan' out && grep -q '"verdict": "no loss anywhere"' none/summary.json
result $? "is told without numbers"
status 5 "infeasible everywhere" "$dshost" landscape --env "$faulty" --set env.fault=infeasible --grid 5 --out nowhere_feasible
grep -q '\([0-9]*\) of \1 evaluations have no loss (run.max_failed allows a share of 0.5)$' err && grep -qx 'verdict   no loss anywhere' out
result $? "is a failure, and no file repeats it"
status 0 "infeasible nearly everywhere" "$dshost" landscape --env "$faulty" --set env.fault=infeasible --set env.above=-0.9 --grid 5 --samples 0 \
    --out hardly_feasible
grep -q 'no loss at 80 %' out
result $? "is what the box is like"
status 5 "diverged everywhere" "$dshost" landscape --env "$faulty" --set env.fault=diverge --grid 5 --out diverged
! ls diverged/failure-*.ini > /dev/null 2>&1 && grep -q '\([0-9]*\) of \1 evaluations failed' err && ! grep -q 'failure-' err
result $? "leaves no files, and names none"
status 5 "broken at some points" "$dshost" landscape --env "$faulty" --set env.fault=error --set env.above=0.4 --grid 5 --samples 0 --jumps 0 --max-failed 0.3 \
    --out some_broken
ls some_broken/failure-*.ini > /dev/null && grep -q 'some_broken/failure-\*.ini repeat some of them' err
result $? "leaves some, and names them"
run "$dshost" landscape --env "$faulty" --set env.fault=error --grid 31x31 --out broken
[ "$status" -eq 5 ] && grep -q 'faulty: stopped: 50 of the first 50 evaluations failed' err &&
    [ "$(ls broken/failure-*.ini | wc -l)" -eq 50 ]
result $? "a broken environment ends a landscape at once"

# ---- slices ----
survey line --env cartpole --from start --to random:3 --grid 101
[ "$(head -n 1 line/grid.csv)" = "i,c0,loss,outcome,g0,norm" ] && [ -s line/to.npy ]
result $? "a line between two points"
survey random --env cartpole --axes random,random --grid 11x11 --samples 10
grep -q '"kind": "random"' random/summary.json
result $? "random directions"
survey alone --env cartpole --no-gradient --grid 11x11
grep -q '; gradients not measured"' alone/summary.json && grep -q '"gradient": null' alone/summary.json && [ ! -e alone/gradient.png ] && [ "$(head -n 1 alone/grid.csv)" = "i,j,cart.velocity.0,joint1.torque.0,loss,outcome" ]
result $? "losses alone"
status 0 "a run" "$dshost" --env pinball --opt cmaes --budget 60 --out run --pictures no
survey path --env pinball --grid 21x21 --path run --center run
grep -q 'cmaes seed 0' path/landscape.svg && [ "$(sed -n 's/.*id=data>\(.*\)<\/script>.*/\1/p' path/landscape.html | jq '.paths[0].point | length')" = 60 ]
result $? "a run on the slice, every evaluation of it in the page"
status 0 "a run of many variables" "$dshost" --env cartpole --opt rand --budget 20 --out far --pictures no
survey faded --env cartpole --axes 0,1 --grid 5x5 --path far
grep -q ' % off' faded/landscape.svg && grep -q 'paler the farther' faded/landscape.svg && ! grep -q ' % off' path/landscape.svg
result $? "the legend tells how far from the slice it is"
printf 'a table,0.5,50%%\nother <points>,1,2.5\n# no point\na table,0.25,100%%\n' > points.csv
survey marked --env pinball --axes 0 --grid 11 --range -1:1 --marks points.csv
grep -q 'a table' marked/landscape.svg && grep -q 'other &lt;points' marked/landscape.svg && [ "$(grep -c '^a table,' marked/marks.csv)" = 2 ] &&
	grep -q '"name": "other <points>"' marked/summary.json
result $? "points of others on a line, also in its data"
cp marked/marks.csv kept.csv
"$dshost" landscape marked > out 2> err && cmp -s kept.csv marked/marks.csv && grep -q 'a table' marked/landscape.svg
result $? "they are drawn again"
printf 'spot,0.1,0.2\n' > spot.csv
"$dshost" landscape path --marks spot.csv > out 2> err && grep -q '>spot<' path/landscape.svg && [ -f path/marks.csv ]
result $? "points on a plane that exists"
rm path/marks.csv
survey between --env pinball --from run:1 --to run --axes 1 --grid 11x11

# ---- again, and the same for every number of jobs ----
status 0 "a landscape is drawn again" "$dshost" landscape path --path run --json
[ "$(field path/summary.json env)" = pinball ] && [ "$(head -c 11 out)" = '{"folder": ' ]
result $? "and tells its summary as JSON"
cp bowl/grid.csv grid.csv
status 0 "resume of a complete one" "$dshost" resume bowl
cmp -s grid.csv bowl/grid.csv
result $? "changes nothing"
for how in "--jobs 1" "--jobs 3" "--isolation none"; do
    folder=$(echo "how$how" | tr -d ' -')
    # shellcheck disable=SC2086
    "$dshost" landscape --env pinball --set env.variant=pinball16 --axes 13,14 --center random:4 --grid 21x21 --samples 40 \
        $how --pictures no --out "$folder" > /dev/null 2>&1
done
same "one job or three" howjobs1 howjobs3
same "isolated or not" howjobs1 howisolationnone
cmp -s howjobs1/samples.csv howjobs3/samples.csv && cmp -s howjobs1/landscape.npz howisolationnone/landscape.npz
result $? "the same files"
status 0 "landscape.ini makes the same one again" "$dshost" landscape --config howjobs1/landscape.ini --out again --pictures no
same "the same record" howjobs1 again

# ---- errors ----
bad 2 "landscape: name an environment with --env" landscape
bad 4 "nosuch" landscape --env nosuch
bad 2 "--axes 0,1,2: a slice has at most two axes" landscape --env pinball --axes 0,1,2
bad 2 "--axes 5: there is no variable 5: the environment has 2" landscape --env pinball --axes 5
bad 2 "--axes ?: expected numbers (from 0) or names of one or two variables" landscape --env pinball --axes '?'
bad 2 "--axes a: there is no variable 'a': \`dshost eval\` shows" landscape --env pinball --axes a
bad 2 "--axes a: there is no variable 'a': the variables of this environment have no names, use numbers" landscape --env analytic --axes a
bad 2 "--axes bar.0.1,1: both axes are the same variable" landscape --env pinball --axes bar.0.1,1
status 0 "a variable by its name" "$dshost" landscape --env bounce --axes velocity.y --grid 5 --samples 0 --jumps 0 --out by_name --pictures no --jobs 1
status 0 "by its number" "$dshost" landscape --env bounce --axes 1 --grid 5 --samples 0 --jumps 0 --out by_number --pictures no --jobs 1
cmp -s by_name/grid.csv by_number/grid.csv
result $? "is the same slice"
grep -q '"name": "velocity.y"' by_name/summary.json && grep -q '"unit": "m/s"' by_name/summary.json &&
    grep -q '"label": "variable 1: velocity.y \[m/s\]"' by_name/summary.json
result $? "the axis has name, unit and label"
grep -qa 'names\.npy' by_name/landscape.npz
result $? "landscape.npz has the names"
bad 2 "--range 0:2: variable 0 has the bounds -1 to 1" landscape --env pinball --axes 0 --range 0:2
bad 2 "--grid 2x2: expected N or NxM points" landscape --env pinball --grid 2x2
bad 2 "--grid 9999x9999: 9999 x 9999 points are more than 4000000" landscape --env pinball --grid 9999x9999
bad 3 "--set landscape.grid: grid = 2: expected N or NxM points" landscape --env pinball --set landscape.grid=2
bad 3 "unknown parameter 'foo' in [landscape]; \`dshost help landscape\` lists them" landscape --env pinball --set landscape.foo=1
bad 3 "did you mean 'grid'" landscape --env pinball --set landscape.girt=2
bad 2 "--steps" landscape --env pinball --steps "1e-4 1e-3"
bad 2 "--samples" landscape --env pinball --samples -1
bad 2 "--from start: a line needs both ends" landscape --env pinball --from start
bad 3 "missing.npy" landscape --env pinball --center missing.npy
bad 3 "--center line/center.npy: 200 numbers, but pinball has 2 variables" landscape --env pinball --center line/center.npy
bad 3 "the run has no evaluation 61" landscape --env pinball --center run:61
bad 6 "bowl already holds a landscape" landscape --env pinball --out bowl
bad 6 "run holds a run already" landscape --env pinball --out run
refuses 3 "nowhere holds no run (there is no run.sqlite)" "a path that is no run" "$dshost" landscape path --path nowhere
bad 3 "--path nowhere holds no run" landscape --env pinball --path nowhere --out not_made
[ ! -e not_made ]
result $? "no folder is made for it"
refuses 3 "a run of pinball, not of cartpole" "a path of another environment" "$dshost" landscape random --path run
bad 3 "--center run: a run of pinball, not of bounce" landscape --env bounce --center run
bad 2 "--path run: a run is drawn on a plane, but this slice is a line" landscape --env pinball --axes 0 --path run --out not_made
printf 'spot,0.1\n' > spot.csv
bad 3 "spot.csv:1: no name" landscape --env pinball --axes 0 --marks spot.csv --out not_made
printf 'spot,0.1,2\n\nspot,x,2\n' > spot.csv
bad 3 "spot.csv:3: the coordinate is not a number" landscape --env pinball --axes 0 --marks spot.csv --out not_made
for line in a,0.1,50% a,0.1,; do
    echo "$line" > spot.csv
    bad 3 "spot.csv:1: the second coordinate is not a number: give NAME,COORDINATE,COORDINATE" landscape --env pinball --marks spot.csv --out not_made
done
echo a,b,1 > spot.csv
bad 3 "spot.csv:1: the first coordinate is not a number: give NAME,COORDINATE,COORDINATE" landscape --env pinball --marks spot.csv --out not_made
echo a,1 > spot.csv
bad 3 "spot.csv:1: no name, or only one number: give NAME,COORDINATE,COORDINATE" landscape --env pinball --marks spot.csv --out not_made
bad 3 "spot.csv:1: no name, or only one number: give NAME,COORDINATE,VALUE (a loss, or 50% of" landscape --env pinball --axes 0 --marks spot.csv --out not_made
bad 3 "missing.csv: No such file" landscape --env pinball --axes 0 --marks missing.csv --out not_made
bad 6 "nowhere: No such file or directory" landscape nowhere
bad 6 "run holds no landscape" landscape run
bad 2 "landscape bowl: continues an existing landscape with fixed settings (--grid cannot be given)" landscape bowl --grid 5
bad 2 "with fixed settings" landscape bowl --set env.n=3
bad 2 "(--no-gradient cannot be given)" landscape bowl --no-gradient
bad 2 "(--gradient cannot be given)" landscape bowl --gradient
bad 2 "(--set landscape.grid cannot be given)" landscape bowl --set landscape.grid=3
bad 2 "(--set run.jobs cannot be given)" landscape bowl --jobs 1 --set run.jobs=2
bad 2 "(--seed cannot be given)" landscape bowl --seed 1
printf '[landscape]\ngrid = 5\n' > fixed.ini
bad 2 "(fixed.ini:2 cannot be given)" landscape bowl --config fixed.ini
: > fixed.ini
bad 2 "(--config cannot be given)" landscape bowl --config fixed.ini
bad 2 "bowl holds a landscape: --budget is for runs" resume bowl --budget 5
bad 2 "export: --format coco is for runs" export bowl --format coco
run "$dshost" landscape --env analytic --set env.function=ackley --grid 5x5 --samples 0 --out named
grep -q "analytic (function ackley)  .*landscape<" named/landscape.svg && grep -q "analytic (function ackley)  .*size of the gradient<" named/gradient.svg
result $? "the pictures name the settings"
finish
