# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this folder and of those in it: sets $dshost, the program, to DSHOST, else to the dshost of the
# PATH, else to the one of the build in the current folder, else to the one of the clone that the script is in.
dshost=${DSHOST-$(command -v dshost || :)}
for top in . "$(dirname "$0")/../.." "$(dirname "$0")/../../.."; do
    [ -n "$dshost" ] || [ ! -f "$top/dshost" ] || [ ! -x "$top/dshost" ] || dshost=$top/dshost
done
[ -n "$dshost" ] || {
    echo "$0: there is no dshost on the PATH and none is built here; build the clone or set DSHOST" >&2
    exit 127
}
