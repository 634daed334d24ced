# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += docs/README.md docs/architecture.md docs/layers.svg tests/README.md bench/README.md
EXTRA_DIST += docs/plugin-authors.md
