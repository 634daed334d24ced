# SPDX-License-Identifier: Apache-2.0
# The Python package over libdiffsim: nothing is compiled. Its tests run with what Python there is.
EXTRA_DIST += python/README.md python/diffsim/__init__.py python/diffsim/py.typed
EXTRA_DIST += python/diffsim/plugin.py python/diffsim/serve.py
