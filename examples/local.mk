# SPDX-License-Identifier: Apache-2.0
# Plugins as somebody outside of this tree would write them: not built here, but by tests/cli/plugins/examples.sh; and
# experiments, those of the paper in full and in minutes.
EXTRA_DIST += examples
