#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# grow.sh - structs may grow. Today's host takes plugins whose structs are longer (DS_TEST_GROW in diffsim/base.h) than its
# own. With CHECK_ALL set (.ci/run, make check-slow) a host whose structs are all longer is built, too: it loads the
# plugins that are kept here with the headers of ABI 0.2, gives the same results as today's host, and refuses a plugin of
# ABI 0.1 with one line.
. "$(dirname "$0")/../cli/lib.sh"
cc=${DS_CC:-cc}
abi=$DS_TOP_SRC/tests/abi
cd "$tmp" || exit 99
if [ -n "${DS_SANITIZE-}" ]; then
    skip "the host that is built here has no sanitizers"
    finish
    exit
fi

# ---- the frozen headers ----
minor() { sed -n 's/^#define DS_ABI_MINOR \([0-9]*\)u$/\1/p' "$1/diffsim/base.h"; }
if [ "$(minor "$DS_TOP_SRC/include")" = 2 ]; then
    (cd "$abi/v0_2/diffsim" && find . -name '*.h') | while read -r h; do
        cmp "$abi/v0_2/diffsim/$h" "$DS_TOP_SRC/include/diffsim/$h" || exit 1
    done > out 2> err
    result $? "tests/abi/v0_2 holds the headers of today while they are of 0.2 (else copy them)"
else
    skip "headers of another version than 0.2"
fi
[ "$(minor "$abi/v0_2")" = 2 ]
result $? "tests/abi/v0_2 is of 0.2"

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
compile plain env_v0_2 -I"$abi/v0_2"
compile plain opt_v0_2 -I"$abi/v0_2"
compile longer env_v0_2 -I"$abi/v0_2" -DDS_TEST_GROW
compile longer opt_v0_2 -I"$abi/v0_2" -DDS_TEST_GROW
compile plain plugin_v0_1

# ---- the host with longer structs: a build tree of its own ----
grown=$tmp/grown
mkdir -p "$grown/libexec" "$grown/o"
: > "$grown/.dshost-build"
flags="-std=gnu11 -O0 -w -fPIC -fvisibility=hidden -ffp-contract=off -DHAVE_CONFIG_H"
for folder in BIN LIBEXEC LIB PLUGIN MODULE INCLUDE PKGCONFIG; do
    flags="$flags -DDS_${folder}DIR=\"\""
done
flags="$flags -I$DS_TOP_BUILD"
flags="$flags -I$DS_TOP_SRC/core -I$DS_TOP_SRC/tools -I$DS_TOP_SRC/include $DS_HOST_CFLAGS"
build_grown() {
    (cd "$DS_TOP_SRC/tools" && find ../core stats plot render difference results policy episode view \
        eval harness check -name '*.c' | sed 's|^\.\./core|core|; t; s|^|tools/|') > sources || return 1
    # shellcheck disable=SC2016
    xargs -P 2 -I '{}' sh -c '$0 $1 -c "$2/$3" -o "$4/$(echo "$3" | tr / -).o"' \
        "$cc" "$flags -DDS_TEST_GROW" "$DS_TOP_SRC" '{}' "$grown/o" < sources || return 1
    # What is made of files of tools/view/page lies where it is built.
    # shellcheck disable=SC2086
    [ -e "$DS_TOP_SRC/tools/view/page_files.c" ] ||
        $cc $flags -DDS_TEST_GROW -c "$DS_TOP_BUILD/tools/view/page_files.c" -o "$grown/o/tools-view-page_files.c.o" || return 1
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
answers "$dshost" plain/env_v0_2.so plain/opt_v0_2.so > today 2> err
result $? "today's host evaluates, runs, steps and draws"
grep -q ',episode,' today && grep -q ',asked,\|,step,' today && [ "$(wc -l < today)" -gt 60 ]
result $? "... with episodes and points"
if [ -n "${CHECK_ALL-}" ]; then
    answers "$grown/dshost" plain/env_v0_2.so plain/opt_v0_2.so > out 2> err
    result $? "a host with longer structs does all that with the plugins of 0.2"
    cmp today out > err 2>&1
    result $? "... and gives the same answers, bit for bit"
    answers "$grown/dshost" plain/env_v0_2.so longer/opt_v0_2.so > out 2> err && cmp today out > err 2>&1
    result $? "and so do plugins of two versions together"
else
    skip "a host with longer structs: with CHECK_ALL set"
fi
answers "$dshost" longer/env_v0_2.so longer/opt_v0_2.so > out 2> err
result $? "today's host does all that with plugins whose structs are longer"
cmp today out > err 2>&1
result $? "... and gives the same answers, bit for bit"

# ---- conformance ----
for p in env opt; do
    if [ -n "${CHECK_ALL-}" ]; then
        "$grown/dshost" check ./plain/${p}_v0_2.so > out 2> err
        result $? "${p}_v0_2 passes the conformance tests of the host with longer structs"
    fi
    "$dshost" check ./longer/${p}_v0_2.so > out 2> err
    result $? "with longer structs it passes those of today's host"
done

# ---- what is refused ----
for host in "$dshost" $(all "$grown/dshost"); do
    for isolation in process none; do
        "$host" eval --env plain/plugin_v0_1.so --isolation $isolation > out 2> err
        is=$?
        [ $is -eq 4 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] &&
            grep -q 'plugin_v0_1.*built for plugin ABI 0\.1, this host has 0\.2' err
        result $? "a plugin of 0.1 is refused with one line (isolation $isolation, status $is)"
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
    for grow in "" -DDS_TEST_GROW; do
        # shellcheck disable=SC2086
        $cc $flags -g $grow -shared -o "library$grow.so" -Wl,-soname,libdiffsim.so.1 "$DS_TOP_SRC"/core/embed/*.c \
            -Wl,--version-script="$library_symbols" > out 2> err &&
            [ "$(nm -D --defined-only "library$grow.so" | grep -c ' T ds_')" -eq "$(grep -c . "$DS_TOP_SRC/core/embed/libdiffsim.sym")" ]
        result $? "libdiffsim ${grow:+with longer structs }has all of its functions"
    done
    include=$DS_TOP_SRC/include/diffsim/lib
    abidiff --headers-dir1 "$include" --headers-dir2 "$include" library.so library-DDS_TEST_GROW.so \
        > out 2> err &&
        ! grep -E '[1-9][0-9]* (Removed|Changed|Added)' out
    result $? "abidiff of two builds of libdiffsim is silent"
fi
finish
