# SPDX-License-Identifier: Apache-2.0
# lib.sh - what the shell tests share: TAP output, a scratch folder, and calls of dshost with what they should give.
# Use it with:  . "$DS_TOP_SRC/tests/cli/lib.sh"
top=$DS_TOP_BUILD
dshost=$top/dshost
faulty=$top/tests/plugins/.libs/faulty.so
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
HOME=$tmp
export HOME
unset DS_PLUGIN_PATH POSIXLY_CORRECT
n=0

ok() { # ok STATUS NAME: one line of TAP; the files out and err explain a failure
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        head -c 2000 out 2> /dev/null | sed 's/^/# out: /' | head -20
        head -c 2000 err 2> /dev/null | sed 's/^/# err: /' | head -20
    fi
}

skip() { # skip NAME WHY
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

run() { # run COMMAND...: output to the files out and err, exit status to $status
    "$@" > out 2> err < "${input:-/dev/null}"
    status=$?
    return $status
}

good() { # good NAME ARGUMENTS...: dshost succeeds and says nothing on stderr
    name=$1
    shift
    run "$dshost" "$@"
    [ $status -eq 0 ] && [ ! -s err ]
    ok $? "$name"
}

bad() { # bad STATUS TEXT ARGUMENTS...: dshost ends with STATUS, nothing on stdout, one line on stderr with TEXT
    want=$1
    text=$2
    shift 2
    run "$dshost" "$@"
    [ $status -eq "$want" ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -q '^dshost: error: ' err &&
        grep -qF -- "$text" err
    result=$?
    [ $result -eq 0 ] || echo "# status $status, expected $want and '$text'"
    ok $result "$want: $* -> $text"
}

has() { # has TEXT NAME: the last output contains TEXT
    grep -qF -- "$1" out
    ok $? "$2"
}

done_testing() {
    echo "1..$n"
}
