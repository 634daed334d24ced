# SPDX-License-Identifier: Apache-2.0
# Plugins as somebody outside of this tree would write them: not built here, but by tests/cli/examples.sh; and the
# experiments, those of the paper in full and in minutes.
EXTRA_DIST += examples/README.md examples/chain.c examples/embed.c examples/hill.c examples/hill_full.c examples/walk.c \
	examples/walk_full.c \
	examples/bessel.ini examples/chain.ini examples/cloth_methods.ini examples/first.ini examples/optimizers.ini \
	examples/optimizers_torus.ini examples/particle_methods.ini examples/quick.ini examples/rigid_methods.ini \
	examples/paper/cloth.ini examples/paper/cloth_small.ini examples/paper/fluid.ini examples/paper/fluid_small.ini \
	examples/paper/plasticine.ini examples/paper/plasticine_small.ini examples/paper/realtosim.ini \
	examples/paper/realtosim_small.ini examples/paper/rigid.ini examples/paper/rigid_small.ini examples/paper/slices.sh
