#!/bin/sh
# @NAME@ passes `dshost check`, and two runs with the same seed are the same. `make test` runs it.
set -eu
DSHOST=${DSHOST:-dshost}
cd "$(dirname "$0")"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$DSHOST" check ./@PLUGIN@
for i in 1 2; do
	"$DSHOST" run --config @NAME@.ini --budget 60 --out "$tmp/run$i" > /dev/null
	"$DSHOST" export "$tmp/run$i" --format csv --no-times --out "$tmp/$i.csv"
done
cmp "$tmp/1.csv" "$tmp/2.csv"
echo "@NAME@: all is well"
