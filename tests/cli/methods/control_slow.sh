#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# control_slow.sh - the tables of docs/sources.md on planning and on expected losses: trees that grow by the smoothed
# contact model find paths that trees of the exact model miss; controls for the expected loss keep their loss on new
# draws, nominal ones do not.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99

python=
for p in ${DS_PYTHON:-${DIFFSIM_PYTHON:-python3}} /usr/bin/python3; do
    "$p" -c 'import numpy' 2>/dev/null && python=$p && break
done
if [ -z "$python" ]; then
    result 0 "paths of trees # SKIP no Python with NumPy"
else
    for kind in "" --exact; do
        # shellcheck disable=SC2086
        PYTHONPATH=$DS_TOP_SRC/python "$python" "$DS_TOP_SRC/examples/paper/control/rrt.py" --seeds 4 $kind
    done > out 2> err
    sed 's/^/# /' out
    smooth=$(head -4 out | grep -c "nodes, nearest") exact=$(tail -4 out | grep -c "nodes, nearest")
    [ "$(grep -c "^seed" out)" -eq 8 ] && [ "$smooth" -ge 3 ] && [ "$exact" -lt "$smooth" ]
    result $? "paths of trees: $smooth of 4 with smoothed contact, $exact of 4 with exact contact"
fi

DSHOST=$dshost sh "$DS_TOP_SRC/examples/paper/control/expect.sh" expect > out 2> err
sed 's/^/# /' out
awk '$1 == "nominal" { n++; if ($4 < 20 * $3) bad = 1; least = least == 0 || $4 < least ? $4 : least }
    $1 == "expected" { e++; if ($4 > 1.2 * $3) bad = 1; most = $4 > most ? $4 : most }
    END { exit !(n == 5 && e == 5 && !bad && most < least) }' out
result $? "the expected loss is below the loss of nominal controls on new draws, for each seed"
finish
