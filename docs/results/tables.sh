#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh - tables for pages and papers from what `dshost report` writes: environments as columns, optimizers as rows.
#
#     tables.sh KIND [--latex] [--columns N] [--metric NAME] EXPERIMENT.ini... CELLS.csv...
#
# KIND     mean     mean of the best losses and its 90 % interval: by the bootstrap, of older reports by Student's t
#          median   median [first and third quartile]
#          time     mean wall time of a run, s
#          counts   on how many environments an optimizer is better or worse than the reference, of those where both ran; alone:
#                   with p corrected for the number of these instead of that of the optimizers, as by dshost compare
#          scores   score over all environments and its 95 % interval; of SUMMARY.csv. Optimizers that did not run on all
#                   of them come last, with the number of those
#          metric   mean of the metric --metric NAME and its 95 % interval; middle: its median and quartiles; of
#                   METRIC_CELLS.csv (dshost report --metrics)
#
# (+) and (-) in the first two: significantly better or worse than the reference (p < 0.05 after Holm's correction). Rows and columns have
# the order of the experiments; what has no number in CELLS.csv is left out; --latex writes tabular environments instead of Markdown.
set -eu
LC_ALL=C
export LC_ALL
usage() {
	sed -n 's/^# \{0,1\}//; 4,18p' "$0" >&2
	exit 2
}
[ $# -gt 1 ] || usage
kind=$1
shift
case $kind in mean | median | time | counts | scores | metric | middle) ;; *) usage ;; esac
columns=1000 latex=0 metric=
while :; do
	case ${1-} in
	--latex) latex=1 ;;
	--columns)
		columns=${2-}
		case $columns in '' | *[!0-9]* | 0*) usage ;; esac
		shift
		;;
	--metric)
		metric=${2-}
		shift
		;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
for file; do
	[ -r "$file" ] || {
		echo "$0: $file: cannot be read" >&2
		exit 6
	}
done
case $kind in metric | middle) [ -n "$metric" ] || usage ;; esac
exec awk -v metric="$metric" -v kind="$kind" -v columns="$columns" -v latex="$latex" '
function fail(text) {
	print FILENAME ": " text > "/dev/stderr"
	failed = 1
	exit 3
}

# Three digits where they say something, without those behind the point of large numbers.
function number(v, size) {
	if (v == "")
		return "-"
	size = v < 0 ? -v : v
	return sprintf(size >= 1e5 || (size < 0.001 && size > 0) ? "%.2g" : size >= 100 ? "%.0f" : "%.3g", v)
}

function code(name) {
	if (latex) {
		gsub(/_/, "\\_", name)
		return "\\texttt{" name "}"
	}
	return "`" name "`"
}

function row(first, n, cell, k, line) {
	line = latex ? first : "| " first
	for (k = 1; k <= n; k++)
		line = line (latex ? " & " : " | ") cell[k]
	print line (latex ? " \\\\" : " |")
}

function head(n, cell, k, line) {
	if (latex) {
		line = "\\begin{tabular}{l"
		for (k = 1; k <= n; k++)
			line = line "r"
		print line "}"
		row("", n, cell)
		print "\\hline"
		return
	}
	line = "|"
	for (k = 1; k <= n; k++)
		line = line " | " cell[k]
	print line " |"
	line = "| ---"
	for (k = 1; k <= n; k++)
		line = line " | ---"
	print line " |"
}

function foot() {
	if (latex)
		print "\\end{tabular}"
}

function words(list, n, k, w) {
	n = split(list, w, " ")
	for (k = 1; k <= n; k++)
		if (key == "envs" && !(w[k] in seen_env)) {
			seen_env[w[k]]
			env[++envs] = w[k]
		} else if (key == "opts" && !(w[k] in seen_opt)) {
			seen_opt[w[k]]
			opt[++opts] = w[k]
		}
}

function value(e, o, text) {
	if (!((e, o) in runs))
		return "-"
	if (kind == "time")
		return sprintf("%.0f", wall[e, o])
	text = kind == "mean" || kind == "metric" ? mean[e, o] : median[e, o]
	return text (sign[e, o] > 0 ? " (+)" : sign[e, o] < 0 ? " (-)" : "")
}

function matrix(from, to, k, n, o, any, cell) {
	for (k = from; k <= to; k++)
		cell[k - from + 1] = latex ? code(env[k]) : env[k]
	n = to - from + 1
	head(n, cell)
	for (o = 1; o <= opts; o++) {
		any = 0
		for (k = from; k <= to; k++) {
			cell[k - from + 1] = value(env[k], opt[o])
			any += (env[k], opt[o]) in runs
		}
		if (any)
			row(code(opt[o]), n, cell)
	}
	foot()
}

# Holm over the environments of one optimizer: by_itself is 1, -1 or 0.
function alone_against(o, k, n, most, least, at_least, done) {
	for (k = 1; k <= envs; k++)
		n += (env[k], o) in raw
	most = 0
	while (n > 0) {
		at_least = 0
		for (k = 1; k <= envs; k++)
			if ((env[k], o) in raw && !(k in done) && (at_least == 0 || raw[env[k], o] + 0 < least)) {
				least = raw[env[k], o] + 0
				at_least = k
			}
		done[at_least]
		most = least * n > most ? least * n : most
		by_itself[env[at_least], o] = most < 0.05 ? (ahead_by[env[at_least], o] > 0.5 ? 1 : -1) : 0
		n--
	}
}

function counts(o, k, n, cell) {
	cell[1] = "better than " code(reference)
	cell[2] = "no difference shown"
	cell[3] = "worse"
	cell[4] = "alone: better"
	cell[5] = "no difference shown"
	cell[6] = "worse"
	n = no_p ? 3 : 6
	head(n, cell)
	for (o = 1; o <= opts; o++) {
		if (opt[o] == reference)
			continue
		for (k = 1; k <= 6; k++)
			cell[k] = 0
		if (n == 6)
			alone_against(opt[o])
		for (k = 1; k <= envs; k++)
			if ((env[k], opt[o]) in tested) {
				cell[2 - sign[env[k], opt[o]]]++
				cell[5 - by_itself[env[k], opt[o]]]++
			}
		if (cell[1] + cell[2] + cell[3] > 0)
			row(code(opt[o]), n, cell)
	}
	foot()
}

# Is optimizer a ahead of b? On more environments, or on as many the better one: an average over easy ones says nothing.
function ahead(a, b) {
	return on[a] != on[b] ? on[a] > on[b] : score[a] > score[b]
}

# The best first, as few as there are.
function scores(o, k, best, cell) {
	cell[1] = "score"
	cell[2] = "interval"
	head(2, cell)
	for (k = 1; k <= scored; k++) {
		best = ""
		for (o in score)
			if (best == "" || ahead(o, best))
				best = o
		cell[1] = sprintf("%.2f", score[best])
		cell[2] = interval[best]
		row(code(best) (on[best] < of[best] ? " (" on[best] " of " of[best] ")" : ""), 2, cell)
		delete score[best]
	}
	foot()
}

FNR == 1 {
	csv = FILENAME ~ /\.csv$/
	section = ""
	if (csv) {
		gsub(/\r/, "")
		for (k in at)
			delete at[k]
		n = split($0, name, ",")
		for (k = 1; k <= n; k++)
			at[name[k]] = k
		of_metric = kind == "metric" || kind == "middle"
		low = (of_metric ? "bca95" : "bca90_low" in at ? "bca90" : "t90") "_low"
		high = (of_metric ? "bca95" : "bca90_low" in at ? "bca90" : "t90") "_high"
		needed = kind == "scores" ? "optimizer environments of score score95_low score95_high" \
			: "environment optimizer runs mean median q1 q3 " low " " high " " (of_metric ? "metric" : "wall_s a12 p_holm")
		n = split(needed, name, " ")
		for (k = 1; k <= n; k++)
			if (!(name[k] in at))
				fail("no column \"" name[k] "\"; a " (kind == "scores" ? "summary.csv" : of_metric ? "metric_cells.csv" : "cells.csv") " of dshost report has it")
		next
	}
}

!csv {
	sub(/[ \t]*;.*/, "")
	if ($0 ~ /^\[/) {
		section = $0
		key = ""
	} else if (section == "[bench]" && $0 ~ /^[ \t]+[^ \t]/) {
		words($0)
	} else if (section == "[bench]" && $0 ~ /=/) {
		key = $1
		sub(/^[^=]*=/, "")
		words($0)
	}
	next
}

kind == "scores" {
	split($0, f, ",")
	score[f[at["optimizer"]]] = f[at["score"]] + 0
	on[f[at["optimizer"]]] = f[at["environments"]] + 0
	of[f[at["optimizer"]]] = f[at["of"]] + 0
	interval[f[at["optimizer"]]] = sprintf("[%.2f, %.2f]", f[at["score95_low"]], f[at["score95_high"]])
	scored++
	next
}

{
	split($0, f, ",")
	if (of_metric && f[at["metric"]] != metric)
		next
	e = f[at["environment"]]
	o = f[at["optimizer"]]
	runs[e, o] = f[at["runs"]]
	ran[e]
	mean[e, o] = number(f[at["mean"]]) " [" number(f[at[low]]) ", " number(f[at[high]]) "]"
	median[e, o] = number(f[at["median"]]) " [" number(f[at["q1"]]) ", " number(f[at["q3"]]) "]"
	wall[e, o] = f[at["wall_s"]]
	p = of_metric ? "" : f[at["p_holm"]]
	a = of_metric ? "" : f[at["a12"]]
	if (a != "") {
		compared[e]
		tested[e, o]
	} else {
		alone[e, o]
	}
	sign[e, o] = !of_metric && p != "" && p < 0.05 ? (a > 0.5 ? 1 : -1) : 0
	if (a != "" && "p" in at) {
		if (f[at["p"]] != "")
			raw[e, o] = f[at["p"]]
		ahead_by[e, o] = a
	} else if (a != "")
		no_p = 1
	key = "envs"
	words(e)
	key = "opts"
	words(o)
}

# Environments of the experiment that nothing has run on yet have no column.
function drop_empty(k, n) {
	n = envs
	envs = 0
	for (k = 1; k <= n; k++)
		if (env[k] in ran)
			env[++envs] = env[k]
}

# What nothing is compared with where the others are.
function find_reference(k, o) {
	for (k = 1; k <= envs; k++)
		for (o = 1; o <= opts; o++)
			if (env[k] in compared && (env[k], opt[o]) in alone)
				reference = opt[o]
}

END {
	if (failed)
		exit 3
	find_reference()
	drop_empty()
	if (kind == "scores")
		scores()
	else if (kind == "counts")
		counts()
	else
		for (from = 1; from <= envs; from += columns) {
			if (from > 1)
				print ""
			matrix(from, from + columns - 1 < envs ? from + columns - 1 : envs)
		}
}' "$@"
