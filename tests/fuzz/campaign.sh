#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/fuzz/campaign.sh N [TARGET...]: runs every fuzz target N times (./configure CC=clang --enable-fuzzers; without,
# on mutations of its corpus) and prints a table. Run it in the build folder. Exit status 1 where there was a finding, whose
# input is left in campaign/TARGET/.
runs=${1:?usage: tests/fuzz/campaign.sh N [TARGET...]}
shift
here=$(cd "$(dirname "$0")" && pwd)
DS_TOP_SRC=${DS_TOP_SRC:-$(cd "$here/../.." && pwd)}
export DS_TOP_SRC
build=$PWD
# Freed memory is watched for a while, not for as long as possible, and where it came from is not noted (a finding is run again
# with the usual options): a third of the time of a store goes into that.
export ASAN_OPTIONS="${ASAN_OPTIONS-quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=0}"
[ $# -gt 0 ] || set -- "$here"/corpus/*/
status=0
printf '%-14s %12s %9s %8s %s\n' target executions seconds per_s findings
for target in "$@"; do
    name=$(basename "$target")
    program=$build/tests/fuzz/fuzz
    out=$build/campaign/$name
    [ -x "$program" ] || { echo "$name: $program is not built" >&2; status=1; continue; }
    rm -rf "$out"
    mkdir -p "$out/corpus"
    cp "$here/corpus/$name"/* "$out/corpus/"
    files=$(find "$out/corpus" -type f | wc -l)
    begin=$(date +%s)
    failed=0
    if DS_FUZZ_TARGET=$name "$program" -help=1 2>&1 | grep -q -- '-max_total_time'; then
        (cd "$out" && DS_FUZZ_TARGET=$name "$program" -runs="$runs" -timeout=25 -print_final_stats=1 corpus) >"$out/log" 2>&1 || failed=1
        done_runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/log")
    else
        each=$(((runs + files - 1) / files))
        (cd "$out" && "$program" "$name" corpus "$each") >"$out/log" 2>&1 || failed=1
        done_runs=$((each * files))
    fi
    seconds=$(($(date +%s) - begin))
    printf '%-14s %12s %9s %8s %s\n' "$name" "${done_runs:-?}" "$seconds" \
        "$((${done_runs:-0} / (seconds > 0 ? seconds : 1)))" "$([ $failed -eq 0 ] && echo none || echo "see $out")"
    [ $failed -eq 0 ] || status=1
done
exit $status
