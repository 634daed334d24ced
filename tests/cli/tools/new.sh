#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# new.sh - the folder of `dshost new` builds without a warning, passes its check and its test, and runs; a name or folder
# that exists is refused, and a full disk leaves nothing behind.
. "$(dirname "$0")/../lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # the make of these tests is none of those that it runs
cd "$tmp" || exit 99
PKG_CONFIG_PATH=
export PKG_CONFIG_PATH

good "an environment in C" new env pusher
has "pusher: pusher.c; next" "the command says what to do next"
[ "$(cd pusher && echo *)" = "Makefile README.md pusher.c pusher.ini test.sh" ]
result $? "all files are there"
[ -s pusher/pusher.c ] && ! grep -rn '@[A-Z]*@' pusher && ! grep -qw hill pusher/*
result $? "and filled in"

bad 6 "pusher already exists: choose another name" new env pusher
bad 6 "elsewhere/deep: cannot create the folder: No such file or directory" new env other --out elsewhere/deep
bad 2 "the plugin 'cmaes' already exists" new env cmaes
for word in Pusher 1st _x a-b '' ../x a.b "$(printf 'x%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 \
	29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48)"; do
	bad 2 "cannot be the id of a plugin" new env "$word"
done
bad 2 "'thing' is not env, opt or scene" new thing pusher
bad 2 "--lang cobol: expected c, c++, python or rust" new env other --lang cobol
bad 2 "say what to create" new env
bad 2 "say what to create" new env a b
bad 2 "--lang is for plugins" new scene other --lang c
bad 2 "--from is for scenes" new env other --from torus
bad 2 "--from torsu: expected one of assembly, " new scene other --from torsu
bad 2 "did you mean 'torus'?" new scene other --from torsu
bad 2 "cannot be the name of a scene" new scene ../other
bad 2 "the name of a scene file ends with .ini" new scene other --out other.txt
[ ! -e other ] && [ "$(echo *)" = "err out pusher" ]
result $? "what is refused leaves nothing behind"
(
	trap '' XFSZ
	ulimit -f 1
	"$dshost" new env other > full.out 2> full.err
)
[ $? -eq 6 ] && grep -q 'other/.*: cannot write' full.err && [ ! -e other ]
result $? "a full disk is told, and leaves nothing behind"
mkdir closed && chmod 555 closed
if [ -w closed ]; then
	skip "folders that cannot be written: this user can"
else
	bad 6 "closed/other: cannot create the folder: Permission denied" new env other --out closed/other
fi

# works KIND LANG COMPILER: all make targets of the folder work; its path has special characters of shells and make.
works() {
	id=my_$1_$(echo "$2" | tr + p)
	if [ "$2" = python ] && ! "$3" -c 'import numpy' 2> /dev/null; then
		skip "$1 in $2: $3 with NumPy is missing"
		return
	fi
	if ! command -v "$3" > /dev/null || ! "$3" --version > /dev/null 2>&1; then
		skip "$1 in $2: $3 is missing"
		return
	fi
	good "$1 in $2" new "$1" "$id" --lang "$2" --out "$id \$x#'"
	cd "$id \$x#'" || exit 99
	status 0 "it builds" make
	# Any line on stderr would be a warning of the compiler.
	made=$id.so
	[ "$2" = python ] && made=$id.py
	[ -s "$made" ] && [ ! -s "$tmp/err" ]
	result $? "without a warning"
	if [ -n "$DS_SANITIZE" ]; then
		skip "plugins of others are built without sanitizers"
	else
		status 0 "make check passes" make check
		status 0 "make run searches" make run
		grep -q "300 evaluations" "$tmp/err"
		result $? "for as long as its settings say"
		status 0 "make test passes" make test
	fi
	status 0 "make clean" make clean
	[ ! -e "$id.so" ] && [ ! -e results ] && [ -s "$id.ini" ]
	result $? "leaves the source"
	cd "$tmp" || exit 99
}
if command -v make > /dev/null && command -v pkg-config > /dev/null; then
	for kind in env opt; do
		works $kind c cc
		works $kind c++ c++
		works $kind rust rustc
		works $kind python "${DIFFSIM_PYTHON:-python3}"
	done
else
	skip "make or pkg-config is missing"
fi
finish
