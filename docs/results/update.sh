#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# update.sh - brings docs/results/NAME and the tables of docs/experiments/ and gradsim.md up to date after `dshost bench examples/X.ini`.
#
#     docs/results/update.sh NAME [FOLDER [RUNS.csv]...]...
#                                               report and tables of the experiment's results, FOLDER... (results/X...)
#     docs/results/update.sh                    the tables and figures alone, of all that is in docs/results
#     docs/results/update.sh --check            are they as the numbers in docs/results say? exit status 1 where not
#
# FOLDER - keeps the published numbers of that experiment. After FOLDER, or in its place, tables of runs join the report, such as the
# published one: what needs curves stays empty then, and pictures stay as they are. docs/results/README.md lists the names; methods_full
# has the particles of evaluation.ini at full size, methods_small all of particle_methods.ini, methods_all the summary of
# methods/runs.csv and methods_small/runs.csv together; gradsim/X is examples/paper/gradsim/X.ini, of which only the means of errors and
# distances are kept. Figures of scores are drawn anew each time. The tables stand between lines
# `<!-- table NAME STAT FLAGS -->` and `<!-- end of table -->`; STAT and FLAGS are those of dshost table (--envs selects environments), and --no-intervals leaves
# intervals and quartiles out. The text around the numbers is written by hand.
#
# DSHOST  the program (./dshost)
# QUICK   if not empty: tables of scores, whose intervals take seconds, stay as they are
# DOCS    the folder of the documentation that is changed (this one)
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
dshost=${DSHOST-$top/dshost}
docs=${DOCS-$top/docs}
pages="experiments/paper.md experiments/optimizers.md experiments/racer.md experiments/ablations.md gradsim.md"

# The experiments of a name, the folder of each without its results/, and what its files begin with.
experiments() {
	case $1 in
	rigid | cloth) echo "$1_methods" ;;
	particles | methods_small) echo particle_methods ;;
	optimizers) echo optimizers optimizers_torus ;;
	gradsim/*) echo "paper/$1" ;;
	methods | methods_full | methods_all) echo evaluation ;;
	training) echo training ;;
	*)
		echo "$0: $1: rigid, cloth, particles, optimizers, methods, methods_full, methods_small, methods_all, training or gradsim/X" >&2
		return 2
		;;
	esac
}

prefix() {
	[ "$1" != optimizers_torus ] || echo torus-
}

# home NAME EXPERIMENT: where its runs are for who repeats it
home() {
	case $1 in
	methods_full) echo results/evaluation_full ;; # a part of the cells
	gradsim/*) echo "results/${1#*/}" ;;
	*) echo "results/$2" ;;
	esac
}

# at_home FOLDER HOME: a table of runs, in which those of FOLDER lie in HOME
at_home() {
	awk -v from=",${1%/}/" -v to=",$2/" '(at = index($0, from)) > 0 {
		$0 = substr($0, 1, at - 1) to substr($0, at + length(from))
	}
	{ print }'
}

# named KEY COLUMN EXPERIMENT.ini... -- RUNS.csv...: what the experiments have as KEY (envs, opts), in their order, as far as it is in that
# column of the tables, and then the rest
named() {
	key=$1 column=$2
	shift 2
	awk -v key="$key" -v column="$column" '
		function take(list, n, k, w) {
			n = split(list, w, " ")
			for (k = 1; k <= n; k++)
				if (!(w[k] in known)) {
					known[w[k]]
					name[++names] = w[k]
				}
		}
		FNR == 1 { csv = FILENAME ~ /\.csv$/; section = at = "" }
		csv { split($0, f, ","); ran[f[column]]; next }
		{ sub(/[ \t]*;.*/, "") }
		/^\[/ { section = $0; at = ""; next }
		section == "[bench]" && /^[ \t]+[^ \t]/ { if (at == key) take($0); next }
		section == "[bench]" && /=/ { at = $1; if (at == key) { sub(/^[^=]*=/, ""); take($0) } }
		END { for (k = 1; k <= names; k++) if (name[k] in ran) printf "%s,", name[k]; print "*" }' "$@"
}

# The flags of dshost report for an experiment. What has been published counts every difference, however small.
flags() {
	case $1 in
	optimizers) echo "--any-version --tolerance 0 --reference boleap" ;;
	cloth | particles) # the paper's methods; the file has others, too
		echo "--tolerance 0 --reference boleap --only */rand,*/cmaes,*/randdescents,*/bo,*/boleap,*/ppo,*/sac"
		;;
	methods | methods_full | methods_small | methods_all) echo "--any-version --tolerance 0 --reference racer" ;;
	training) echo "--tolerance 0 --reference racer" ;;
	*) echo "--tolerance 0 --reference boleap" ;;
	esac
}

# table NAME STAT FLAGS...: by dshost table, of the published numbers
table() {
	name=$1 stat=$2
	shift 2
	inis= files= of=$(experiments "$name")
	for x in $of; do
		inis="$inis $top/examples/$x.ini"
		case $name in methods_all) ;; gradsim/methods) files=$docs/results/$name/runs.csv ;; gradsim/*) files=$docs/results/$name.csv ;; *) files="$files $docs/results/$name/$(prefix "$x")runs.csv" ;; esac
	done
	[ "$name" != methods_all ] || files="$docs/results/methods/runs.csv $docs/results/methods_small/runs.csv"
	# shellcheck disable=SC2086 # words
	case " $* " in *" --envs "*) ;; *) set -- --envs "$(named envs 1 $inis $files)" "$@" ;; esac
	set -f # flags have patterns
	# shellcheck disable=SC2046,SC2086 # words
	"$dshost" table $files --stat "$stat" --format md --mark reference --no-note $(flags "$name") \
		--methods "$(named opts 2 $inis $files)" "$@" || return
	set +f
}

# tables PAGE: it, with its tables made anew
tables() {
	inside=0
	while IFS= read -r line; do
		case $line in
		"<!-- table "*" scores "*)
			if [ -n "${QUICK-}" ]; then
				printf '%s\n' "$line"
				continue
			fi
			;;
		esac
		case $line in
		"<!-- table "*)
			printf '%s\n\n' "$line"
			words=${line#"<!-- table "}
			words=${words%" -->"}
			case "$words " in
			*" --no-intervals "*) short='s/ \[[^]|]*\]//g' ;;
			*) short= ;;
			esac
			# shellcheck disable=SC2046,SC2086 # words
			table $(printf '%s' "$words" | sed 's/ --no-intervals//') > "$scratch/table" || return
			sed "$short" "$scratch/table"
			inside=1
			;;
		"<!-- end of table -->")
			[ "$inside" -eq 0 ] || printf '\n'
			printf '%s\n' "$line"
			inside=0
			;;
		*) [ "$inside" -eq 1 ] || printf '%s\n' "$line" ;;
		esac
	done < "$docs/$1"
}

is_table() {
	case $1 in *.csv) [ ! -d "$1" ] ;; *) false ;; esac
}

# own FOLDER|RUNS.csv...: how many of these are of the first experiment, that is the first and the tables behind it
own() {
	own=1
	while [ "$1" != - ] && [ $# -gt 1 ] && is_table "$2"; do
		own=$((own + 1))
		shift
	done
	echo "$own"
}

# too_many EXPERIMENTS FOLDER|RUNS.csv...: are these of more than so many?
too_many() {
	room=$1
	shift
	while [ "$room" -gt 0 ] && [ $# -gt 0 ]; do
		shift "$(own "$@")"
		room=$((room - 1))
	done
	[ $# -gt 0 ]
}

# report NAME EXPERIMENT FOLDER|RUNS.csv...: of the first experiment
report() {
	name=$1 of=$2
	shift 2
	folder=$1
	own=$(own "$@")
	others=$(($# - own))
	while [ "$own" -gt 0 ]; do # they go behind the others
		set -- "$@" "$1"
		shift
		own=$((own - 1))
	done
	shift "$others"
	flags="--no-pictures $(flags "$name")" # pictures would be some MB
	if is_table "$1"; then out=$scratch/report; else out=$1/report; fi
	set -f # flags have patterns
	# shellcheck disable=SC2086 # words
	"$dshost" report "$@" $flags --out "$out" > /dev/null
	set +f
	mkdir -p "$docs/results/$name"
	for f in cells.csv runs.csv summary.csv; do
		case $name/$f in optimizers/summary.csv | methods_all/cells.csv | methods_all/runs.csv) continue ;; esac
		at_home "$folder" "$(home "$name" "$of")" < "$out/$f" > "$docs/results/$name/$(prefix "$of")$f"
	done
	case $name in
	optimizers | methods | methods_full | methods_small | methods_all | training) ;; # some MB
	*)
		from="s| --out $scratch/report||" # the page names the published table, no file of this machine
		for f; do
			! is_table "$f" || from="$from; s|$f|docs/results/$name/runs.csv|g"
		done
		sed "$from" "$out/index.html" > "$docs/results/$name/index.html"
		;;
	esac
}

# metrics NAME FOLDER: errors and distances, over all objects, starts or throws where there are several
metrics() {
	pool=
	for key in object seed velocity throw; do
		for x in "$2"/*@"$key"=*; do
			[ ! -d "$x" ] || pool="--pool $key"
		done
	done
	# shellcheck disable=SC2086 # words
	"$dshost" report "$2" --metrics $pool --no-pictures --page-only > /dev/null
	awk -F, 'NR == 1 || $3 ~ /^(error|distance)/' "$2/report/metric_cells.csv" > "$docs/results/$1.csv"
}

# pictures FOLDER: the best episode of each environment, two in a row. Needs ImageMagick (montage).
pictures() {
	set -- $(awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
		{ e = $at["environment"]; v = $at["best_loss"] + 0 }
		!(e in best) { order[++n] = e }
		!(e in best) || v < best[e] { best[e] = v; folder[e] = $at["folder"] }
		END { for (k = 1; k <= n; k++) print folder[order[k]] }' "$1/report/runs.csv")
	drawn=
	for run; do
		[ -f "$run/best.png" ] || drawn="$drawn $run/best.png"
		"$dshost" picture --best "$run" > /dev/null
	done
	montage $(printf '%s/best.png\n' "$@") -tile 2x -geometry 720x+6+6 -colors 200 "PNG8:$docs/results/particles/best.png"
	# shellcheck disable=SC2086 # words
	rm -f $drawn # a report would show them
}

# The scores of every experiment, and how they are distributed over all tasks on which racer was not made, drawn from the tables of runs.
figures() {
	for f in rigid cloth particles methods methods_small methods_full training; do
		[ ! -f "$docs/results/$f/runs.csv" ] ||
			"$dshost" plot "$docs/results/$f/runs.csv" --any-version --kind scores --out "$docs/results/$f/scores.svg" > /dev/null
	done
	if [ -f "$docs/results/methods/runs.csv" ] && [ -d "$docs/results/methods_all" ]; then
		"$dshost" plot "$docs/results/methods/runs.csv" "$docs/results/methods_small/runs.csv" --any-version --kind profile \
			--out "$docs/results/methods_all/profile.svg" > /dev/null
	fi
}

scratch=$(mktemp -d)
new=$scratch/page
trap 'rm -rf "$scratch"' EXIT
case ${1-} in
--check)
	for page in $pages; do
		tables "$page" > "$new"
		diff "$docs/$page" "$new" || {
			echo "$0: tables of $docs/$page are not those of docs/results; update them with $0" >&2
			exit 1
		}
	done
	exit 0
	;;
'') ;;
*)
	name=$1
	shift
	of=$(experiments "$name")
	# shellcheck disable=SC2086 # words
	if too_many "$(set -- $of && echo $#)" "$@"; then
		echo "$0: $name: more folders than it has experiments: $*" >&2
		exit 2
	fi
	for x in $of; do
		[ $# -gt 0 ] || set -- "$(home "$name" "$x")"
		own=$(own "$@")
		if [ "${name%/*}" = gradsim ]; then
			if is_table "$1" || [ "$own" -gt 1 ]; then
				echo "$0: $name: a table of runs has no metrics" >&2
				exit 2
			fi
			metrics "$name" "$1"
		elif [ "$1" != - ]; then
			report "$name" "$x" "$@"
			[ "$name" != particles ] || [ "$own" -gt 1 ] || is_table "$1" || pictures "$1"
		fi
		own=$(own "$@")
		shift "$own"
	done
	;;
esac
for page in $pages; do
	tables "$page" > "$new"
	cat "$new" > "$docs/$page"
done
figures
