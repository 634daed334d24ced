#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh - quickstart prints its usage, its progress and the next commands, and reports in one line what stops it:
# no root, no network, another distribution, a compiler that fails.
. "$(dirname "$0")/../lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL DS_CONFIGURE_FLAGS DS_JOBS
cd "$tmp" || exit 99
cp "$DS_TOP_SRC/quickstart" .
mkdir bin
fake() { # fake NAME LINE...: a program of that name
	name=$1
	shift
	{
		echo '#!/bin/sh'
		printf '%s\n' "$@"
	} > "bin/$name"
	chmod +x "bin/$name"
}
one_line() { # one_line STATUS TEXT NAME WORD...: quickstart ends so, with one line on stderr
	expected=$1
	text=$2
	name=$3
	shift 3
	run env PATH="$tmp/bin:$PATH" ./quickstart "$@"
	[ "$status" -eq "$expected" ] && [ "$(wc -l < err)" -eq 1 ] && grep -q "^quickstart: .*$text" err
	result $? "$name"
}
status 0 "help" ./quickstart --help
for word in build check DS_CONFIGURE_FLAGS DS_JOBS quickstart.log status; do
	grep -q "$word" out
	result $? "explains $word"
done
one_line 2 "'foo' is not run, build or check" "an unknown word" foo
one_line 2 "one word at most" "two words" build check

fake dpkg-query 'exit 1'
fake id 'echo 1000'
fake sudo 'echo "sudo: a password is required" >&2; exit 1'
one_line 1 "sudo refuses; as root: apt-get install" "no password" build
fake sudo 'exec "$@"'
fake apt-get 'echo "W: Temporary failure resolving deb.debian.org" >&2; exit 100'
one_line 1 "packages cannot be fetched: check the network" "no network" build
fake apt-get 'echo "E: Unable to locate package libinih-dev" >&2; exit 100'
one_line 1 "libinih-dev is not in the package sources of" "another distribution" build
fake apt-get 'echo "E: The lock is held by another process" >&2; exit 100'
one_line 1 "apt-get failed: E: The lock is held" "another failure" build

# What it does once packages are there.
fake dpkg-query 'echo installed'
fake autoreconf 'printf "#!/bin/sh\necho \"\$@\" > flags; touch Makefile\n" > configure; chmod +x configure; touch Makefile.in'
fake make '[ "$1" = -n ] || echo "make $*" >> order; for k in 1 2 3 4 5 6 7 8 9 10; do if [ "$1" = -n ]; then echo "echo \"  CC      \" f$k.o"; else echo "  CC       f$k.o"; fi
done; echo /opt > installed-folders; ! [ -f broken ] || { echo "f.c:1:1: error: no"; exit 2; }'
DS_CONFIGURE_FLAGS="--prefix=/opt --enable-werror"
export DS_CONFIGURE_FLAGS
run env PATH="$tmp/bin:$PATH" ./quickstart build
[ "$status" -eq 0 ] && [ "$(cat flags)" = "--prefix=/opt --enable-werror" ] && [ ! -s err ]
result $? "a build with the flags of DS_CONFIGURE_FLAGS"
for text in 'configured in [0-9]* s' 'building 50 %' 'building 100 %' 'built everything in [0-9]* s' 'Next:' './dshost list' 'make install .*/opt'; do
	grep -q "$text" out
	result $? "it says '$text'"
done
rm flags
run env PATH="$tmp/bin:$PATH" ./quickstart build
[ "$status" -eq 0 ] && [ ! -e flags ]
result $? "the same flags do not configure anew"
# The main job has its result before the rest is built.
printf '#!/bin/sh\necho "dshost $1" >> order\n' > dshost && chmod +x dshost
: > order
DS_JOBS=3 run env PATH="$tmp/bin:$PATH" ./quickstart
[ "$status" -eq 0 ] && printf 'make -j3 main-job\ndshost --env\nmake -j3 all\n' | cmp -s - order
result $? "what the main job needs, the main job, the rest"
for text in 'building what the main job needs' 'first result after [0-9]* s, in results/quickstart' 'built the rest in [0-9]* s' 'best.png'; do
	grep -q "$text" out
	result $? "it says '$text'"
done
DS_CONFIGURE_FLAGS=--without-mpi run env PATH="$tmp/bin:$PATH" ./quickstart build
[ "$status" -eq 0 ] && [ "$(cat flags)" = --without-mpi ]
result $? "others do"
touch broken
one_line 1 "failed: make all (output: quickstart.log; line [0-9]*:f.c:1:1: error: no)" "a compiler that fails" build
finish
