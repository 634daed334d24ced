# SPDX-License-Identifier: Apache-2.0
# How diffsim is handed on: the Python package beside the programs, and as a wheel with all of it inside. Debian's recipe is
# in debian/, that of conda in conda/.
pythonpkgdir = $(datadir)/$(PACKAGE)/python/diffsim
python_plugins = python/diffsim/_serve_errors.py python/diffsim/_serve_gradients.py python/diffsim/_serve_parameters.py \
	python/diffsim/_serve_steps.py python/diffsim/plugin.py python/diffsim/serve.py
python_bridges = \
	python/diffsim/bridges/__init__.py \
	python/diffsim/bridges/botorch.py \
	python/diffsim/bridges/ioh.py \
	python/diffsim/bridges/nevergrad.py \
	python/diffsim/bridges/optuna.py \
	python/diffsim/bridges/pycma.py \
	python/diffsim/bridges/sb3.py \
	python/diffsim/bridges/scipy.py \
	python/diffsim/bridges/watch.py
python_peers = python/diffsim/bridges/plugins/peers.py
dist_pythonpkg_DATA = $(python_package) $(python_plugins)
pythonbridgesdir = $(pythonpkgdir)/bridges
dist_pythonbridges_DATA = $(python_bridges)
pythonpeersdir = $(pythonbridgesdir)/plugins
dist_pythonpeers_DATA = $(python_peers)

PYTHON3 = python3
wheel_dir = dist
wheel: all
	rm -rf wheel-stage
	$(MAKE) -s install DESTDIR='$(abs_builddir)/wheel-stage'
	$(PYTHON3) $(srcdir)/%D%/make_wheel.py --stage wheel-stage --prefix '$(prefix)' --package $(srcdir)/python/diffsim \
	  --version $(PACKAGE_VERSION) --readme $(srcdir)/README.md --licence $(srcdir)/LICENSE --out '$(wheel_dir)'
	rm -rf wheel-stage
# For machines with an older C library; needs the network, as manylinux.sh says.
manylinux:
	PYTHON3='$(PYTHON3)' $(srcdir)/%D%/manylinux.sh
.PHONY: wheel manylinux
clean-wheel:
	rm -rf wheel-stage dist
clean-local: clean-wheel
.PHONY: clean-wheel
EXTRA_DIST += docs/bridges.md docs/fmi.md tests/plugins/fmu_models.c tests/plugins/make_fmu.py \
	python/tests/peer_bridges.py %D%/conda %D%/build_backend.py %D%/make_wheel.py %D%/manylinux.sh pyproject.toml
EXTRA_DIST += debian/changelog debian/control debian/copyright debian/diffsim-doc.install debian/diffsim-mpi.install \
	debian/diffsim.install debian/libdiffsim-dev.install debian/libdiffsim1.install debian/libdiffsim1.symbols \
	debian/python3-diffsim.install debian/rules debian/source/format debian/tests
