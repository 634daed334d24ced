#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exports.sh - libdiffsim exports what include/diffsim/lib/ declares, and nothing else.
lib=$DS_TOP_BUILD/.libs/libdiffsim.so
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
LC_ALL=C
export LC_ALL
if [ ! -f "$lib" ]; then
    echo "1..0 # SKIP there is no shared libdiffsim"
    exit 0
fi
echo "1..2"
n=0
same() { # same NAME: a line of TAP, with the differences below a failure
    n=$((n + 1))
    if diff "$tmp/declared" "$tmp/there" > "$tmp/log" && [ -s "$tmp/declared" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' "$tmp/log"
    fi
}
# A declaration begins a line with its type; comments and types are indented or have no bracket.
sed -n 's/^[a-z].*[ *]\(ds_[a-z_]*\)(.*/\1/p' "$DS_TOP_SRC"/include/diffsim/lib/*.h | sort > "$tmp/declared"
nm -D --defined-only "$lib" | awk '{ print $3 }' | grep -v '^_' | sed 's/@.*//' | sort > "$tmp/there"
same "exported functions are the declared ones"
sort "$DS_TOP_SRC/core/embed/libdiffsim.sym" > "$tmp/there"
same "core/embed/libdiffsim.sym lists them"
