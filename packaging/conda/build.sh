#!/bin/sh
# Configures, builds and installs; each output takes its files from what is installed.
set -eu
autoreconf -fi
# One BLAS, and in one thread: results do not depend on what else is in the environment.
./configure --prefix="$PREFIX" --disable-silent-rules
make -j"${CPU_COUNT:-1}"
make install
rm -f "$PREFIX/lib/libdiffsim.la" # what libtool leaves; those of other packages stay
find "$PREFIX/lib/diffsim" -name '*.la' -delete
