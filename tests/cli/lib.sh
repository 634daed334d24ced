# SPDX-License-Identifier: Apache-2.0
# Helpers of the command line tests: TAP by hand. Source it, test, and call `finish`.
: "${DS_TOP_BUILD:=$(cd "$(dirname "$0")" && while [ ! -e configure.ac ] && [ "$PWD" != / ]; do cd ..; done && pwd)}"
: "${DS_TOP_SRC:=$DS_TOP_BUILD}"
dshost=$DS_TOP_BUILD/dshost
faulty=$DS_TOP_BUILD/tests/plugins/.libs/faulty.so
badopt=$DS_TOP_BUILD/tests/plugins/.libs/badopt.so
LC_ALL=C
LSAN_OPTIONS=suppressions=$DS_TOP_SRC/tests/support/lsan.supp:print_suppressions=0
export LC_ALL LSAN_OPTIONS
unset DS_PLUGIN_PATH POSIXLY_CORRECT
tmp=$(mktemp -d "${TMPDIR:-/tmp}/diffsim-cli-XXXXXX") || exit 99
# Records of the tests name plugins of the tests, which are trusted; outside.sh has untrusted ones.
DS_TRUSTED_PLUGINS=$DS_TOP_BUILD/tests/plugins:$DS_TOP_BUILD/examples:$tmp
export DS_TRUSTED_PLUGINS
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
tests_run=0
# `make check-slow` sets CHECK_ALL for the tests listed as wide_tests in local.mk: they try every case, otherwise one case of
# each kind. `all WORD...` prints the words that are used with CHECK_ALL only.
all() {
    [ -z "${CHECK_ALL-}" ] || echo "$@"
}

# result STATUS NAME: one line of TAP; the status of the test is 0 for passed.
result() {
    tests_run=$((tests_run + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests_run - $2"
    else
        echo "not ok $tests_run - $2"
        for f in "$tmp/out" "$tmp/err"; do
            [ -f "$f" ] && head -n 12 "$f" | sed 's/^/#   /'
        done
    fi
}

# own_scripts PAGE: its policy lets every <script> run that is in it, by the sum of its text, and there is nothing else that
# is fetched or run.
own_scripts() {
    policy=$(grep -o "script-src [^;\"]*" "$1") && [ -n "$policy" ] || return 1
    ! grep -Eq 'https?://|<link|<iframe|src="[^d]| on[a-z]+=' "$1" || return 1
    scripts=$(grep -c '^<script>$' "$1")
    [ "$scripts" -gt 0 ] || return 1
    while [ "$scripts" -gt 0 ]; do
        sum=$(awk -v n="$scripts" '/^<script>$/ { if (++k == n) { inside = 1; print ""; next } }
                                   /^<\/script>/ { inside = 0 } inside' "$1" | sha256sum | cut -c1-64)
        # shellcheck disable=SC2059
        sum=$(printf "$(echo "$sum" | awk '{ for (i = 1; i <= 64; i += 2) {
            printf "\\%03o", 16 * (index("0123456789abcdef", substr($0, i, 1)) - 1) + index("0123456789abcdef", substr($0, i + 1, 1)) - 1 } }')" | base64)
        case $policy in *"'sha256-$sum'"*) ;; *) return 1 ;; esac
        scripts=$((scripts - 1))
    done
}

skip() {
    tests_run=$((tests_run + 1))
    echo "ok $tests_run - # SKIP $1"
}

# status EXPECTED NAME COMMAND...: runs a command; stdout and stderr go to $tmp/out and $tmp/err.
status() {
    expected=$1
    name=$2
    shift 2
    got=0
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
    [ "$got" -eq "$expected" ]
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   exit status $got, expected $expected: $*"
    result "$passed" "$name"
}

# refuses EXPECTED PATTERN NAME COMMAND...: exit status, and one error line with a pattern, and nothing on
# stdout.
refuses() {
    expected=$1
    pattern=$2
    name=$3
    shift 3
    got=0
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
    [ "$got" -eq "$expected" ] && grep -q "^dshost: error: .*$pattern" "$tmp/err" &&
        [ "$(grep -c '^dshost: error: ' "$tmp/err")" -eq 1 ]
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   exit status $got, expected $expected with '$pattern': $*"
    result "$passed" "$name"
}

# begun FOLDER: waits until the run that works in it has recorded something.
begun() {
    for _ in $(seq 1200); do
        [ -s "$1/run.sqlite-wal" ] && return
        sleep 0.05
    done
}

# run COMMAND...: stdout and stderr go to $tmp/out and $tmp/err, stdin comes from $input, the exit status to
# $status.
run() {
    status=0
    "$@" >"$tmp/out" 2>"$tmp/err" <"${input:-/dev/null}" || status=$?
    return "$status"
}

# good NAME ARGUMENT...: dshost succeeds and prints nothing on stderr.
good() {
    name=$1
    shift
    run "$dshost" "$@"
    [ "$status" -eq 0 ] && [ ! -s "$tmp/err" ]
    result $? "$name"
}

# bad EXPECTED TEXT ARGUMENT...: dshost ends with that status, nothing on stdout, and one line, with TEXT, on
# stderr.
bad() {
    expected=$1
    text=$2
    shift 2
    run "$dshost" "$@"
    [ "$status" -eq "$expected" ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        grep -q '^dshost: error: ' "$tmp/err" && grep -qF -- "$text" "$tmp/err"
    passed=$?
    [ "$passed" -eq 0 ] || echo "#   exit status $status, expected $expected with '$text'"
    result "$passed" "$expected: $* -> $text"
}

# has TEXT NAME: the last output contains TEXT.
has() {
    grep -qF -- "$1" "$tmp/out"
    result $? "$2"
}

# table DIR: the record of a run without the columns that depend on the time. With reports=no also without what the optimizer
# reported, which a record of format 1 does not keep.
table() {
    if [ "${reports-yes}" = yes ]; then
        "$dshost" export "$1" --format csv --no-times --out -
    else
        "$dshost" export "$1" --format csv --no-times --out - | awk 'NR == 1 { k = gsub(/,progress\./, ",progress.") }
            { for (i = 0; i < k; i++) sub(/,[^,]*$/, ""); print }'
    fi
}

# same NAME DIR DIR: equal records.
same() {
    table "$2" >"$tmp/table1" 2>"$tmp/err" && table "$3" >"$tmp/table2" 2>>"$tmp/err" && [ -s "$tmp/table1" ] &&
        cmp -s "$tmp/table1" "$tmp/table2"
    passed=$?
    [ "$passed" -eq 0 ] || diff "$tmp/table1" "$tmp/table2" >"$tmp/out"
    result "$passed" "$1"
}

# old_format DIR...: makes the record of a run one of store format 1, which has no checksums (needs sqlite3).
old_format() {
    for dir in "$@"; do
        for table in $(sqlite3 "$dir/run.sqlite" "select name from sqlite_master where type = 'table' and name <> 'total'"); do
            sqlite3 "$dir/run.sqlite" "alter table $table drop column sum"
        done
        sqlite3 "$dir/run.sqlite" "alter table eval drop column parts; drop table total; pragma user_version = 1"
    done
}

# rows DIR: number of evaluations recorded.
rows() {
    table "$1" 2>/dev/null | tail -n +2 | grep -c .
}

# field FILE KEY: a number or string of a flat JSON file.
field() {
    sed -n "s/^ *\"$2\": \"\\{0,1\\}\\([^\",]*\\)\"\\{0,1\\},\\{0,1\\}\$/\\1/p" "$1" | head -n 1
}

# bad_ids FILE: the plugins that tests/bad/FILE.c holds.
bad_ids() {
    sed -n 's/^#ifdef BAD_IS_//p' "$DS_TOP_SRC/tests/bad/$1.c"
}

# compile_bad ID [AS [FLAG...]]: makes plugin ID of tests/bad, with id AS, from AS.c, which it writes, to AS.so here.
compile_bad() {
    bad_id=$1
    bad_as=${2-$1}
    bad_file=$DS_TOP_SRC/tests/bad/$1.c
    [ -e "$bad_file" ] || bad_file=$(grep -l "^#ifdef BAD_IS_$1\$" "$DS_TOP_SRC"/tests/bad/*.c)
    [ $# -lt 2 ] || shift
    shift
    sed "s/^#define BAD_ID .*/#define BAD_ID \"$bad_as\"/" "$bad_file" >"$bad_as.c" &&
        ${DS_CC:-cc} -O1 -fPIC -shared -fvisibility=hidden "-DBAD_IS_$bad_id" "$@" -I"$DS_TOP_SRC/include" -I"$DS_TOP_SRC/tests/bad" \
            -o "$bad_as.so" "$bad_as.c" -lm
}

# compile FILE.c: makes FILE.so here, of a plugin that may use what lies in tests/bad.
compile() {
    # shellcheck disable=SC2086
    ${DS_CC:-cc} -O1 -fPIC -shared -fvisibility=hidden -I"$DS_TOP_SRC/include" -I"$DS_TOP_SRC/tests/bad" \
        -o "$(basename "$1" .c).so" "$1" -lm
}

# few FOLDER PLUGIN...: a build tree there with these plugins alone, as envs/analytic; dshost of it is $few. A list of all
# plugins takes half a second.
few() {
    few=$1/dshost
    shift
    mkdir -p "${few%/*}/libexec" "${few%/*}/plugins/envs" "${few%/*}/plugins/optimizers"
    : >"${few%/*}/.dshost-build"
    cp "$DS_TOP_BUILD/dshost" "$few"
    for name in list doctor worker; do
        cp "$DS_TOP_BUILD/libexec/dshost-$name" "${few%/*}/libexec/"
    done
    for name; do
        cp "$DS_TOP_BUILD/plugins/$name.so" "${few%/*}/plugins/$name.so"
    done
}

finish() {
    echo "1..$tests_run"
}
