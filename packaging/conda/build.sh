#!/bin/sh
# Configures, builds and installs; each output takes its files from what is installed.
set -eu
autoreconf -fi
# One BLAS, and in one thread: results do not depend on what else is in the environment.
./configure --prefix="$PREFIX" --disable-silent-rules
make -j"${CPU_COUNT:-1}"
make install
find "$PREFIX/lib" -path '*diffsim*' -name '*.la' -delete
