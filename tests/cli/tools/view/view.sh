#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# view.sh - `dshost view`, the best.html of a run, and the pages of a report: content, messages and refusals.
# view_browser_slow.sh tests their display in a browser.
. "$(dirname "$0")/../../lib.sh"
cd "$tmp" || exit 99
scenery=$DS_TOP_BUILD/tests/plugins/.libs/scenery.so

# description PAGE: the JSON of the page.
description() {
	sed -n '/ id="description">$/{n;p;}' "$1"
}

# ---- points, runs, evaluations ----
status 0 "a point" "$dshost" view --env pinball --x center -o center.html
[ "$(cat "$tmp/out")" = center.html ] && [ ! -s "$tmp/err" ]
result $? "says where it is, and nothing else"
description center.html | grep -q '"title":"pinball at center"'
result $? "named by the point"
"$dshost" --env pinball --opt rand --budget 20 --seed 4 --out run >/dev/null 2>&1
status 0 "the best evaluation of a run" "$dshost" view run -o best.html
best=$(field run/summary.json best_evaluation)
description best.html | grep -q "\"title\":\"pinball, rand, seed 4, evaluation $best\""
result $? "named by run and evaluation"
cmp -s best.html run/best.html
result $? "it is what the run has left"
loss=$(field run/summary.json best_loss)
[ "$(description best.html | sed 's/.*"loss":\([^,]*\),.*/\1/' | cut -c1-7)" = "$(echo "$loss" | cut -c1-7)" ]
result $? "with the loss of the record"
cp -r run random
status 0 "a run in a folder named like a point" "$dshost" view random -o random.html
description random.html | sed 's/"about":"[^"]*"//' > x
description best.html | sed 's/"about":"[^"]*"//' | cmp -s - x
result $? "is the run"
status 0 "evaluations side by side" "$dshost" view run run:3 run:5 -o three.html
[ "$(description three.html | grep -o '"title":' | wc -l)" -eq 3 ] && description three.html | grep -q 'evaluation 3"'
result $? "all three are in the page"
status 0 "a run and a point" "$dshost" view run --env pinball --x start --x center -o mixed.html
[ "$(description mixed.html | grep -o '"title":"[^"]*"' | cut -d'"' -f4 | tr '\n' ';')" = \
	"pinball, rand, seed 4, evaluation $best;pinball at start;pinball at center;" ]
result $? "in their order"
status 0 "another parameter" "$dshost" view --env pendulum --set env.variant=gym --every 50 -o gym.html
description gym.html | grep -q '"settings":"variant gym"' && description gym.html | grep -q '"frame":\[0,50,100,150,200\]'
result $? "settings and every 50th frame"
status 0 "a third party's environment" "$dshost" view --env "$scenery" -o shapes.html
for shape in points sphere capsule cylinder torus box mesh lines; do
	description shapes.html | grep -q "\"shape\":\"$shape\""
	result $? "a third party's $shape"
done
status 0 "arrays" "$dshost" view run:2 -o two.npz
"$dshost" eval --x run:2 --trajectory two_again.npz >/dev/null 2>&1
cmp -s two.npz two_again.npz
result $? "as eval writes them"

# ---- refusals ----
refuses 2 "name the file to write with -o FILE" "no file" "$dshost" view run
refuses 2 "unknown format.*\.html" "an unknown ending" "$dshost" view run -o run.xyz
refuses 2 "name 1 to 12" "nothing to see" "$dshost" view -o a.html
refuses 2 "nowhere holds no run" "no run" "$dshost" view nowhere -o a.html
refuses 3 "the run has no evaluation 99" "no such evaluation" "$dshost" view run:99 -o a.html
refuses 4 "analytic: nothing to show.*ds.env.scene/1" "no scene" "$dshost" view --env analytic -o a.html
refuses 2 "a .csv file holds one episode, but 2 were named" "two in a table" "$dshost" view run run:2 -o a.csv
refuses 6 "nowhere/a.html" "no folder" "$dshost" view run -o nowhere/a.html
refuses 2 "camera 1,2,0: expected AZIMUTH" "no zoom of 0" "$dshost" view run -o a.html --camera 1,2,0
refuses 2 "background red: expected #rrggbb" "no names of colours" "$dshost" view run -o a.html --background red
refuses 2 "size 10x10: expected WIDTHxHEIGHT" "too small" "$dshost" view run -o a.html --size 10x10
refuses 2 "every 0: expected a whole number" "every 0" "$dshost" view run -o a.html --every 0
refuses 2 "-o needs a value" "no value" "$dshost" view run -o
[ ! -e a.html ] && [ ! -e a.csv ]
result $? "and nothing is written"

# ---- the page ----
for page in center.html three.html shapes.html; do
	csp=$(grep -o "Content-Security-Policy\" content=\"[^\"]*" $page | cut -d'"' -f3)
	for part in "default-src 'none'" "script-src 'sha256-" "style-src 'sha256-" "base-uri 'none'" "form-action 'none'"; do
		case $csp in *"$part"*) true ;; *) false ;; esac
		result $? "$page: the policy has $part"
	done
	case $csp in *unsafe* | *http* | *\**) false ;; esac
	result $? "$page: and lets nothing else"
	! grep -Eq 'https?://|<link|src="[^d]|@[A-Z]+@' $page
	result $? "$page: nothing is loaded"
done
# sum_of TAG PAGE: checksum of the text between <TAG> and </TAG>, in the form of the policy.
sum_of() {
	awk -v tag="$1" '$0 == "</" tag ">" { on = 0 } on { print } $0 == "<" tag ">" { on = 1; print "" }' "$2" |
		awk 'NR > 1 { print last } { last = $0 } END { printf "%s\n", last }' | sha256sum | cut -c1-64 |
		awk '{ for (i = 1; i < 64; i += 2) { h = "0123456789abcdef"
			printf "\\%03o", 16 * (index(h, substr($0, i, 1)) - 1) + index(h, substr($0, i + 1, 1)) - 1 } }' > octal
	printf '%b' "$(sed 's/\\/\\0/g' octal)" | base64
}
for tag in script style; do
	grep -qF "$tag-src 'sha256-$(sum_of $tag center.html)'" center.html
	result $? "the $tag is the one that the policy names"
done
mkdir -p '<script>alert(1)<'
echo '0.1 0.2' > '<script>alert(1)</script>"]]>.txt'
"$dshost" view --env "$scenery" --set env.evil=yes -o units.html >/dev/null 2>&1
[ "$(grep -c '<script' units.html)" -eq "$(grep -c '<script' shapes.html)" ] && description units.html |
	grep -qF '"unit":"\u003c/script\u003e\u003cscript\u003ealert(1)//\""'
result $? "a unit that ends a script is text"
status 0 "an evil name" "$dshost" view --env pinball --x '<script>alert(1)</script>"]]>.txt' --caption '</script><!--' -o evil.html
[ "$(grep -c '<script' evil.html)" -eq "$(grep -c '<script' center.html)" ] && ! grep -q '<script>alert\|<!--' evil.html &&
	grep -q '&lt;script&gt;alert(1)' evil.html
result $? "is text in the page"
same_page() { "$dshost" view run:7 -o "$1" "$2" "$3" >/dev/null 2>&1; }
same_page seven.html --isolation process && same_page again.html --isolation none && cmp -s seven.html again.html
result $? "the same page from a worker and from this process"

# ---- runs, benches, reports ----
"$dshost" --env pinball --opt rand --budget 5 --page no --out plain >/dev/null 2>&1
[ -s plain/best.png ] && [ ! -e plain/best.html ]
result $? "run.page = no leaves it out"
"$dshost" --env analytic --opt rand --budget 5 --out flat >"$tmp/out" 2>"$tmp/err"
[ ! -e flat/best.html ] && ! grep -q warning "$tmp/err"
result $? "none, and no word, without a scene"
status 0 "the page again" "$dshost" picture plain --page
[ -s plain/best.html ]
result $? "by hand"
printf '[bench]\nenvs = pinball, bounce\nopts = rand, cmaes\nruns = 2\n[run]\nbudget = 8\n' > small.ini
"$dshost" bench small.ini --out bench --jobs 2 >"$tmp/out" 2>"$tmp/err"
[ -d bench/pinball/rand/seed-1 ] && [ -z "$(find bench -name best.html)" ]
result $? "a bench leaves none"
status 0 "a report" "$dshost" report bench
for e in pinball bounce; do
	grep -q "href=\"figures/episodes-$e.html\"" bench/report/index.html &&
		[ "$(description bench/report/figures/episodes-$e.html | grep -o '"title":"[a-z]*, seed' | sort | tr '\n' ' ')" = \
			'"title":"cmaes, seed "title":"rand, seed ' ]
	result $? "plays the best episodes of $e"
done
status 0 "without them" "$dshost" report bench --no-episodes
[ -z "$(find bench -name 'episodes-*')" ] && ! grep -q 'figures/episodes' bench/report/index.html
result $? "they are removed"
finish
