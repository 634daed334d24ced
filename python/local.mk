# SPDX-License-Identifier: Apache-2.0
# The Python package over libdiffsim: nothing is compiled. Its tests run with what Python there is.
EXTRA_DIST += python/README.md
