# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += docs/README.md docs/architecture.md docs/layers.svg tests/README.md bench/README.md
EXTRA_DIST += docs/experiments.md docs/plugin-authors.md docs/optimizers.md
dist_man_MANS = docs/dshost.1
bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = docs/completion/dshost
EXTRA_DIST += docs/images/torus-best.png docs/images/fluid.png
EXTRA_DIST += docs/environments.md docs/images/cartpole3.png docs/images/pinball16.png docs/images/bounce.png
