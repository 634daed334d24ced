#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dshost-complete - what the last of the words of a command line can become, one a line; "*" stands for the names of
# files, "*.ini" for those that end so. The shells ask it: `dshost complete WORD...`, with DSHOST as the program.
dshost=${DSHOST:-dshost}

# Of `dshost list`: ids of environments, optimizers, or (without an argument) both.
plugins() {
	"$dshost" list 2> /dev/null | awk -v want="${1-}" '
		/^[a-z]/ { kind = $1 }
		/^  / && kind != "not" && (want == "" || kind == want) { print $1 }'
}

commands() {
	"$dshost" --help 2> /dev/null | sed -n 's/^  \([a-z][a-z]*\)  *[a-z].*/\1/p; s/^  \([a-z][a-z0-9_-]*\)$/\1/p'
}

flags() { # flags COMMAND
	"$dshost" "$1" --help 2> /dev/null | sed -n 's/^  *\(-[a-z], \)\{0,1\}\(--[a-z][a-z-]*\).*/\2/p'
}

# The value of a flag among the words: given --env E or --env=E.
given() { # given FLAG WORD...
	flag=$1
	shift
	found=
	while [ $# -gt 0 ]; do
		case $1 in
		"$flag") found=${2-} ;;
		"$flag"=*) found=${1#*=} ;;
		esac
		shift
	done
	printf '%s\n' "$found"
}

# The keys of a section, as KEY=, or the values that the help of KEY lists. `help run` tells those of [run], `help ID` those of a
# plugin: lines "  name = default   (one | other)".
settings() { # settings SECTION ID KEY
	"$dshost" help "$2" 2> /dev/null | awk -v section="$1" -v key="$3" '
		/^  [a-z][a-z0-9_]* *=/ || /^  [a-z][a-z0-9_]*   *\(/ {
			if (key == "") {
				print section "." $1 "="
			} else if ($1 == key) {
				n = match($0, /\([^()]*\)$/)
				values = substr($0, n + 1, RLENGTH - 2)
				if (values ~ / \| / && split(values, value, / *[|] */) > 0)
					for (k in value) print section "." key "=" value[k]
				else if (values ~ /^bool/)
					print section "." key "=true\n" section "." key "=false"
			}
		}'
}

# --set SECTION.KEY=VALUE
set_words() { # set_words CURRENT WORD...
	current=$1
	shift
	section=${current%%.*}
	key=
	case $current in
	*=*) key=${current#*.} key=${key%%=*} ;;
	esac
	case $current in
	env.*) id=$(given --env "$@") ;;
	opt.*) id=$(given --opt "$@") ;;
	run.*) id=run ;;
	*)
		printf '%s\n' env. opt. run.
		return
		;;
	esac
	[ -z "$id" ] || settings "$section" "$id" "$key"
}

# What a flag takes; nothing where it is a number or a text of the user's own.
values() { # values FLAG CURRENT WORD...
	flag=$1
	shift
	case $flag in
	--env) plugins environments ;;
	--opt) plugins optimizers ;;
	--set) set_words "$@" ;;
	--isolation) printf '%s\n' process none ;;
	--format) printf '%s\n' csv jsonl npz ioh coco ;;
	--kind) printf '%s\n' curves bars scores profile targets ;;
	--along) printf '%s\n' evaluations steps seconds ;;
	--x | --center | --from | --to) printf '%s\n' start center random: ;;
	--axes) printf '%s\n' 0,1 random random,random ;;
	--noise) printf '%s\n' auto variables actions ;;
	--baseline) printf '%s\n' center mean none ;;
	--rule) printf '%s\n' bias ivw ;;
	--units) printf '%s\n' x box ;;
	--reference-order) printf '%s\n' zeroth first ;;
	--sweep) printf '%s\n' samples= sigma= gamma= env. ;;
	--isolate-optimizer) printf '%s\n' auto true false ;;
	--pictures | --page | --portable | --shared | --antithetic | --delta-repo) printf '%s\n' true false ;;
	--lang) printf '%s\n' c c++ rust ;;
	--scope) printf '%s\n' shared own ;;
	--config) echo '*.ini' ;;
	--policy | --data) echo '*' ;;
	esac
}

# Of a command without its flags: which word is it?
arguments() { # arguments COMMAND NUMBER
	case $1 in
	bench | merge | identify) echo '*.ini' ;;
	help) commands && plugins ;;
	check) plugins ;;
	new) [ "$2" -ne 1 ] || printf '%s\n' env opt ;;
	template)
		case $2 in
		1) plugins environments ;;
		*) plugins optimizers ;;
		esac
		;;
	esac
}

candidates() { # candidates WORD...: for the last of them
	[ $# -gt 0 ] || set -- ''
	count=$#
	eval "current=\${$count}"
	case $1 in
	-*) command=run ;;
	*) command=$1 ;;
	esac
	before=
	[ "$count" -lt 2 ] || eval "before=\${$((count - 1))}"
	if [ "$count" -eq 1 ] && [ "$command" != run ]; then
		commands
		return
	fi
	case $before in
	--*=*) ;;
	--*)
		found=$(values "$before" "$current" "$@")
		if [ -n "$found" ]; then
			printf '%s\n' "$found"
			return
		fi
		;;
	esac
	case $current in
	-*) flags "$command" ;;
	*) case $before in
		--*) ;;
		*) arguments "$command" $((count - 1)) ;;
		esac ;;
	esac
}

for word in "$@"; do
	last=$word
done
candidates "$@" | while IFS= read -r line; do
	case $line in
	'*'*) printf '%s\n' "$line" ;;
	"${last-}"*) printf '%s\n' "$line" ;;
	esac
done | LC_ALL=C sort -u | awk '{ print } END { if (NR == 0) print "*" }'
