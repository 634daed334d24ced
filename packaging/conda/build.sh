#!/bin/sh
# Configures and builds; install.sh installs for the outputs.
set -eu
autoreconf -fi
# One BLAS, and in one thread: results do not depend on what else is in the environment.
./configure --prefix="$PREFIX" --disable-silent-rules
make -j"${CPU_COUNT:-1}"
