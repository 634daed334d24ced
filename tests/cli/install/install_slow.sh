#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install_slow.sh - in a built tree, `make install prefix=X` rebuilds the files that contain the prefix: a program copied out of
# the installation still finds it, and so do programs linked with the library through its libtool file.
. "$(dirname "$0")/../lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH
cd "$tmp" || exit 99
HOME=$tmp
export HOME
for p in one two; do
	run "${MAKE:-make}" -C "$DS_TOP_BUILD" install prefix="$tmp/$p"
	result $? "make install prefix=.../$p"
	mkdir alone && cp "$p/bin/dshost" "$p/libexec/diffsim/dshost-eval" alone
	status 0 "a copy of the program finds what is in .../$p" alone/dshost eval --env torus --set env.preset=small
	grep -q "^libdir='$tmp/$p/lib'" "$p/lib/libdiffsim.la"
	result $? "libtool knows the place"
	rm -r alone
done
"${MAKE:-make}" -C "$DS_TOP_BUILD" > out 2> err
result $? "the tree as it was"
finish
