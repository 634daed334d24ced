# SPDX-License-Identifier: Apache-2.0
# What the scripts with slices begin with, sourced: $out, the folder that was given or the one in $default, without which
# the arguments are flags of `dshost landscape`. Needs $dshost (dshost.sh).
set -eu
out=${1-$default}
[ $# -eq 0 ] || shift
mkdir -p "$out"

# landscape FOLDER FLAGS: a landscape in FOLDER, or the rest of it
landscape() {
    folder=$1
    shift
    if [ -f "$folder/landscape.sqlite" ]; then
        set -- "$folder"
    else
        set -- --out "$folder" "$@"
    fi
    "$dshost" landscape "$@"
}
