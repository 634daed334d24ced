# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += docs/README.md docs/architecture.md docs/layers.svg tests/README.md bench/README.md
EXTRA_DIST += docs/experiments.md docs/plugin-authors.md docs/optimizers.md docs/embedding.md
dist_man_MANS = docs/dshost.1
bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = docs/completion/dshost
EXTRA_DIST += docs/images/torus-best.png docs/images/fluid.png
EXTRA_DIST += docs/environments.md docs/images/cartpole3.png docs/images/pinball16.png docs/images/bounce.png
EXTRA_DIST += \
	docs/images/assembly.png \
	docs/images/chopsticks.png \
	docs/images/move.png \
	docs/images/pinch.png \
	docs/images/rollingpin.png \
	docs/images/rope.png \
	docs/images/table.png \
	docs/images/triplemove.png \
	docs/images/writer.png
EXTRA_DIST += docs/landscape.md
EXTRA_DIST += docs/images/landscape-analytic.png docs/images/landscape-bounce.png \
	docs/images/landscape-bounce1.png
EXTRA_DIST += docs/images/landscape-cartpole3.png docs/images/landscape-flip.png \
	docs/images/landscape-pinball16.png
EXTRA_DIST += docs/images/landscape-pinball2.png docs/images/landscape-realtosim.png \
	docs/images/landscape-swing.png
EXTRA_DIST += docs/images/landscape-swing-velocity.png docs/images/landscape-torus.png
EXTRA_DIST += docs/images/landscape-assembly.png docs/images/landscape-chopsticks.png \
	docs/images/landscape-fluid.png docs/images/landscape-move.png docs/images/landscape-pinch.png \
	docs/images/landscape-rollingpin.png docs/images/landscape-rope.png docs/images/landscape-table.png \
	docs/images/landscape-triplemove.png docs/images/landscape-writer.png
EXTRA_DIST += docs/results/rigid/index.html docs/results/rigid/cells.csv docs/results/rigid/runs.csv \
	docs/results/rigid/summary.csv
EXTRA_DIST += docs/results/optimizers/cells.csv docs/results/optimizers/runs.csv \
	docs/results/optimizers/torus-cells.csv docs/results/optimizers/torus-runs.csv
EXTRA_DIST += docs/results/particles/index.html docs/results/particles/cells.csv docs/results/particles/runs.csv \
	docs/results/particles/summary.csv docs/results/particles/best.png
EXTRA_DIST += docs/results/cloth/index.html docs/results/cloth/cells.csv docs/results/cloth/runs.csv \
	docs/results/cloth/summary.csv
