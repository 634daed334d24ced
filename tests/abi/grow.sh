#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# grow.sh - structs may grow. A copy of the public headers has three words more at the end of each struct that
# has a DS_..._SIZE_1_0. Today's host takes plugins compiled with the copy. With CHECK_ALL set (.ci/run,
# make check-slow) a host compiled with the copy is built, too: it loads plugins compiled with the headers of today
# and gives the same results as today's host. Plugins of ABI 0.1 and 0.2 are refused with one line.
. "$(dirname "$0")/../cli/lib.sh"
cc=${DS_CC:-cc}
abi=$DS_TOP_SRC/tests/abi
cd "$tmp" || exit 99
if [ -n "${DS_SANITIZE-}" ]; then
    skip "the host that is built here has no sanitizers"
    finish
    exit
fi

# ---- headers whose structs are longer ----
mkdir longer-include && cp -R "$DS_TOP_SRC/include/diffsim" longer-include/
(cd "$DS_TOP_SRC/include" && find diffsim -name '*.h') > headers
sed "s|^|$DS_TOP_SRC/include/|" headers | xargs cat |
    sed -n 's/^#define DS_[A-Z_]*_SIZE_1_0 DS_SIZE_WITH(\([a-z_]*\), .*/\1/p' | sort -u > types
while read -r h; do
    awk 'NR == FNR { grows[$1] = 1; next }
        /^(typedef )?struct ds_[a-z_]* \{$/ { name = $1 == "typedef" ? $3 : $2 }
        /^}/ { if (name in grows) { print "    uint64_t grown_[3];"; print name > "grown-types" } name = "" }
        { print }' types "$DS_TOP_SRC/include/$h" > "longer-include/$h"
    [ ! -e grown-types ] || { cat grown-types >> all-grown && rm grown-types; }
done < headers
sort all-grown | cmp -s - types && [ "$(grep -c . types)" -gt 30 ]
result $? "every struct with a DS_..._SIZE_1_0 is longer in the copy of the headers"

# ---- the plugins ----
compile() { # compile FOLDER NAME FLAGS...: makes FOLDER/NAME.so from tests/abi/NAME.c
    folder=$1
    id=$2
    shift 2
    # shellcheck disable=SC2086
    mkdir -p "$folder" && $cc -std=c11 -Wall -Wextra -O1 -ffp-contract=off -fPIC -shared -fvisibility=hidden \
        "$@" -o "$folder/$id.so" "$abi/$id.c" -lm > out 2> err
    result $? "$folder/$id.so compiles"
}
compile plain env_grow -I"$DS_TOP_SRC/include"
compile plain opt_grow -I"$DS_TOP_SRC/include"
compile longer env_grow -Ilonger-include
compile longer opt_grow -Ilonger-include
compile plain plugin_v0_1
compile plain plugin_v0_2

# ---- the host with longer structs: a build tree of its own ----
grown=$tmp/grown
mkdir -p "$grown/libexec" "$grown/o"
: > "$grown/.dshost-build"
flags="-std=gnu11 -O0 -w -fPIC -fvisibility=hidden -ffp-contract=off -DHAVE_CONFIG_H"
for folder in BIN LIBEXEC LIB PLUGIN MODULE INCLUDE PKGCONFIG; do
    flags="$flags -DDS_${folder}DIR=\"\""
done
flags="$flags -I$DS_TOP_BUILD"
flags="$flags -I$DS_TOP_SRC/core -I$DS_TOP_SRC/tools"
build_grown() {
    (cd "$DS_TOP_SRC/tools" && find ../core stats plot render difference results policy episode view \
        eval harness check -name '*.c' | sed 's|^\.\./core|core|; t; s|^|tools/|') > sources || return 1
    # shellcheck disable=SC2016
    xargs -P 2 -I '{}' sh -c '$0 $1 -c "$2/$3" -o "$4/$(echo "$3" | tr / -).o"' \
        "$cc" "$flags -I$tmp/longer-include $DS_HOST_CFLAGS" "$DS_TOP_SRC" '{}' "$grown/o" < sources || return 1
    # What is made of files of tools/view/page lies where it is built.
    # shellcheck disable=SC2086
    [ -e "$DS_TOP_SRC/tools/view/page_files.c" ] ||
        $cc $flags -Ilonger-include $DS_HOST_CFLAGS -c "$DS_TOP_BUILD/tools/view/page_files.c" -o "$grown/o/tools-view-page_files.c.o" || return 1
    mains='core-cli-main.c core-cli-cmd_run.c core-worker-worker.c tools-eval-cmd_eval.c
        tools-eval-cmd_picture.c tools-view-cmd_view.c tools-results-cmd_export.c
        tools-check-cmd_check.c'
    for m in $mains; do
        mv "$grown/o/$m.o" "$grown/" || return 1
    done
    ar rc "$grown/all.a" "$grown"/o/*.o || return 1
    link dshost core-cli-main.c core-cli-cmd_run.c && link libexec/dshost-worker core-worker-worker.c &&
        link libexec/dshost-eval tools-eval-cmd_eval.c &&
        link libexec/dshost-picture tools-eval-cmd_picture.c &&
        link libexec/dshost-check tools-check-cmd_check.c &&
        link libexec/dshost-export tools-results-cmd_export.c
}
link() { # link PROGRAM OBJECT...
    program=$1
    shift
    for o in "$@"; do
        set -- "$@" "$grown/$o.o"
        shift
    done
    # shellcheck disable=SC2086
    $cc -o "$grown/$program" "$@" "$grown/all.a" $DS_HOST_LIBS -lm -lpthread -ldl
}
if [ -z "${DS_HOST_LIBS+set}" ]; then
    skip "without \`make check\`, which says how the host is compiled, there is no host with longer structs"
    finish
    exit
fi
if [ -n "${CHECK_ALL-}" ]; then
    build_grown > out 2> err
    built=$?
    result $built "the host compiles with longer structs"
    if [ $built -ne 0 ]; then
        finish
        exit
    fi
fi

# ---- the same answers ----
# answers HOST ENV OPT: all that is compared, without times and paths.
answers() {
    host=$1
    env=$2
    opt=$3
    for isolation in process none; do
        "$host" eval --env "$env" --gradient --fd --metrics --json --isolation $isolation \
            --set env.horizon=6 --set env.goal="0.5 0.25" || return 1
    done | sed 's/"wall_s": [^,}]*//g'
    rm -rf run
    "$host" run --env "$env" --opt "$opt" --budget 60 --jobs 2 --out run > /dev/null || return 1
    [ -s run/best.png ] || return 1
    grep -q '^horizon = ' run/learned.txt && cksum < run/learned.txt && cksum < run/learned.bin || return 1
    "$host" export run --format csv --no-times --out - || return 1
    "$host" eval --env "$env" --trajectory frames.npz > /dev/null && cksum < frames.npz
    "$host" eval --env "$env" --picture picture.png > /dev/null && cksum < picture.png
}
answers "$dshost" plain/env_grow.so plain/opt_grow.so > today 2> err
result $? "today's host evaluates, runs, steps and draws"
grep -q ',episode,' today && grep -q ',asked,\|,step,' today && [ "$(wc -l < today)" -gt 60 ]
result $? "... with episodes and points"
if [ -n "${CHECK_ALL-}" ]; then
    answers "$grown/dshost" plain/env_grow.so plain/opt_grow.so > out 2> err
    result $? "a host with longer structs does all that with plugins whose structs are not"
    cmp today out > err 2>&1
    result $? "... and gives the same answers, bit for bit"
    answers "$grown/dshost" plain/env_grow.so longer/opt_grow.so > out 2> err && cmp today out > err 2>&1
    result $? "and so do plugins of both kinds together"
else
    skip "a host with longer structs: with CHECK_ALL set"
fi
answers "$dshost" longer/env_grow.so longer/opt_grow.so > out 2> err
result $? "today's host does all that with plugins whose structs are longer"
cmp today out > err 2>&1
result $? "... and gives the same answers, bit for bit"

# ---- conformance ----
for p in env opt; do
    if [ -n "${CHECK_ALL-}" ]; then
        "$grown/dshost" check ./plain/${p}_grow.so > out 2> err
        result $? "${p}_grow passes the conformance tests of the host with longer structs"
    fi
    "$dshost" check ./longer/${p}_grow.so > out 2> err
    result $? "with longer structs it passes those of today's host"
done

# ---- what is refused ----
for host in "$dshost" $(all "$grown/dshost"); do
    for isolation in process none; do
        for minor in 1 2; do
            "$host" eval --env plain/plugin_v0_$minor.so --isolation $isolation > out 2> err
            is=$?
            [ $is -eq 4 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] &&
                grep -q "plugin_v0_$minor.*built for plugin ABI 0\.$minor, this host has 0\.3" err
            result $? "a plugin of 0.$minor is refused with one line (isolation $isolation, status $is)"
        done
    done
done

# ---- the library ----
# Programs that are linked with libdiffsim do not see that structs of plugins have grown.
library_symbols=$DS_TOP_BUILD/.libs/libdiffsim.ver
if ! command -v abidiff > /dev/null; then
    skip "no abidiff (package abigail-tools)"
elif [ ! -e "$library_symbols" ]; then
    skip "no shared libdiffsim"
else
    # All that it exports is in core/embed.
    for headers in "$DS_TOP_SRC/include" longer-include; do
        library=$([ "$headers" = longer-include ] && echo library-longer || echo library)
        # shellcheck disable=SC2086
        $cc $flags "-I$headers" $DS_HOST_CFLAGS -g -shared -o "$library.so" -Wl,-soname,libdiffsim.so.1 "$DS_TOP_SRC"/core/embed/*.c \
            -Wl,--version-script="$library_symbols" > out 2> err &&
            [ "$(nm -D --defined-only "$library.so" | grep -c ' T ds_')" -eq "$(grep -c . "$DS_TOP_SRC/core/embed/libdiffsim.sym")" ]
        result $? "$library.so has all functions of libdiffsim"
    done
    include=$DS_TOP_SRC/include/diffsim/lib
    abidiff --headers-dir1 "$include" --headers-dir2 longer-include/diffsim/lib library.so library-longer.so \
        > out 2> err &&
        ! grep -E '[1-9][0-9]* (Removed|Changed|Added)' out
    result $? "abidiff of two builds of libdiffsim is silent"
fi
finish
