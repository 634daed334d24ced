#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# package.sh - the tests of the Python package (python/tests/test_*.py), where there is a Python with NumPy.
: "${DS_TOP_BUILD:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${DS_TOP_SRC:=$DS_TOP_BUILD}"
skip() {
    echo "1..0 # SKIP $*"
    exit 0
}
[ -z "${DS_SANITIZE-}" ] || skip "a Python without sanitizers does not load a libdiffsim with them"
[ -f "$DS_TOP_BUILD/.libs/libdiffsim.so.1" ] || skip "there is no shared libdiffsim"
for python in ${DS_PYTHON-python3 /usr/bin/python3}; do
    if "$python" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 9))' 2> /dev/null; then
        DS_TOP_BUILD=$DS_TOP_BUILD DS_TOP_SRC=$DS_TOP_SRC DIFFSIM_LIBRARY=$DS_TOP_BUILD/.libs/libdiffsim.so.1 PYTHONDONTWRITEBYTECODE=1 \
            exec "$python" "$DS_TOP_SRC/python/tests/run.py" "$@"
    fi
done
skip "there is no Python 3.9 or newer with NumPy (Debian: python3-numpy)"
