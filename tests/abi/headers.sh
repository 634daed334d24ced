#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headers.sh - each public header compiles alone as C11, C17 and C++17 (.hpp: C++17) without a diagnostic, and
# explains itself: at least 35 % of the lines of a .h are comment.
cd "$DS_TOP_SRC" || exit 99
if [ -n "${DS_SANITIZE-}" ]; then
    echo "1..0 # SKIP headers are the same with sanitizers"
    exit 0
fi
cc=${DS_CC:-cc}
cxx=${CXX:-c++}
headers=$(cd include && find diffsim -name '*.h' | LC_ALL=C sort)
for_cxx=$(cd include && find diffsim -name '*.hpp' | LC_ALL=C sort)
warnings='-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only'
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
n=0

result() { # result STATUS NAME: a line of TAP, with the compiler's words below a failure
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/log"
    fi
}

as_cxx() { # as_cxx HEADER: included twice, in one file
    printf '#include <%s>\n#include <%s>\nextern int used;\n' "$1" "$1" > "$tmp/t.cc"
    if command -v "$cxx" > /dev/null; then
        # shellcheck disable=SC2086
        "$cxx" -std=c++17 $warnings -Iinclude "$tmp/t.cc" > "$tmp/log" 2>&1
        result $? "$1 as c++17"
    else
        n=$((n + 1))
        echo "ok $n - $1 as c++17 # SKIP no C++ compiler"
    fi
}

echo "1..$(($(echo "$headers" | wc -l) * 4 + $(echo "$for_cxx" | wc -l)))"
for h in $for_cxx; do
    as_cxx "$h"
done
for h in $headers; do
    printf '#include <%s>\n#include <%s>\nextern int used;\n' "$h" "$h" > "$tmp/t.c"
    for std in c11 c17; do
        # shellcheck disable=SC2086
        $cc -std=$std $warnings -Wstrict-prototypes -Iinclude "$tmp/t.c" > "$tmp/log" 2>&1
        result $? "$h as $std"
    done
    as_cxx "$h"
    # Lines that are part of a comment, also beside code, against all lines that are not empty.
    awk '{ line = $0; sub(/^[ \t]+/, "", line) }
        line == "" { next }
        { all++; if (open || line ~ /\/\*/) { comment++ } }
        { rest = line
          while (rest != "") {
              if (open) { i = index(rest, "*/"); if (!i) { break } rest = substr(rest, i + 2); open = 0 }
              else { i = index(rest, "/*"); if (!i) { break } rest = substr(rest, i + 2); open = 1 } } }
        END { share = 100 * comment / all; printf "%.0f %% of %d lines are comment\n", share, all
              exit share < 35 }' "include/$h" > "$tmp/log"
    result $? "$h: at least 35 % comment"
done
