# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += docs/README.md docs/architecture.md docs/layers.svg docs/layers.awk docs/embedding.md docs/environments.md \
	docs/experiments.md docs/landscape.md docs/optimizers.md docs/plugin-authors.md docs/plugin-cpp.md docs/plugin-rust.md docs/images docs/results \
	tests/README.md bench/README.md
dist_man_MANS = docs/dshost.1
bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = docs/completion/dshost
