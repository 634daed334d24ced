# SPDX-License-Identifier: Apache-2.0
# Plugins as somebody outside of this tree would write them: not built here, but by tests/cli/examples.sh.
EXTRA_DIST += examples/README.md examples/hill.c examples/hill_full.c examples/walk.c examples/walk_full.c
EXTRA_DIST += examples/first.ini examples/quick.ini
EXTRA_DIST += examples/bessel.ini examples/chain.c examples/chain.ini
