#!/bin/sh
# Installs what build.sh has built, without what libtool leaves.
set -eu
make install
find "$PREFIX/lib" -path '*diffsim*' -name '*.la' -delete
