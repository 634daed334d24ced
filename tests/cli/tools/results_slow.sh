#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# results_slow.sh - SciPy recomputes the numbers of the tables of docs/experiments/ from the runs: means, quartiles,
# Mann-Whitney tests, Holm's correction, A12. Skipped without Debian's python3-scipy.
. "$(dirname "$0")/../lib.sh"
: "${PYTHON:=$(for p in python3 /usr/bin/python3; do
    "$p" -c 'import scipy.stats' 2> /dev/null && echo "$p" && break
done)}"
results=$DS_TOP_SRC/docs/results
for cells in "$results"/*/*cells.csv "$results"/gradsim/methods/cells.csv; do
    runs=${cells%cells.csv}runs.csv
    name=${cells#"$results"/}
    if [ -z "$PYTHON" ]; then
        skip "$name: SciPy is missing (apt install python3-scipy)"
        continue
    fi
    "$PYTHON" "$DS_TOP_SRC/tests/cli/tools/results_slow.py" "$runs" "$cells" > "$tmp/out" 2> "$tmp/err"
    result $? "$name: $(tail -n 1 "$tmp/out")"
done
# It would notice: one loss of one run changed in its last digits.
if [ -n "$PYTHON" ]; then
    awk -F, -v OFS=, 'NR == 2 { $8 *= 1.0001 } { print }' "$results/rigid/runs.csv" > "$tmp/changed.csv"
    ! "$PYTHON" "$DS_TOP_SRC/tests/cli/tools/results_slow.py" "$tmp/changed.csv" "$results/rigid/cells.csv" > "$tmp/out" 2> "$tmp/err" &&
        grep -q 'mean is .*, SciPy says' "$tmp/out"
    result $? "a loss that was changed is noticed"
fi
finish
