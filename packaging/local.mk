# SPDX-License-Identifier: Apache-2.0
# How diffsim is handed on: the Python package beside the programs, and as a wheel with all of it inside. Debian's recipe is
# in debian/, that of conda in conda/.
pythonpkgdir = $(datadir)/$(PACKAGE)/python/diffsim
dist_pythonpkg_DATA = python/diffsim/__init__.py python/diffsim/_calls.py python/diffsim/_environment.py \
	python/diffsim/_errors.py python/diffsim/_library.py python/diffsim/_results.py python/diffsim/_run.py \
	python/diffsim/_scene.py python/diffsim/_scipy.py python/diffsim/_search.py python/diffsim/_settings.py \
	python/diffsim/_space.py python/diffsim/gym.py python/diffsim/jax.py python/diffsim/plugin.py \
	python/diffsim/py.typed python/diffsim/serve.py python/diffsim/torch.py

PYTHON3 = python3
wheel: all
	rm -rf wheel-stage
	$(MAKE) -s install DESTDIR='$(abs_builddir)/wheel-stage'
	$(PYTHON3) $(srcdir)/%D%/make_wheel.py --stage wheel-stage --prefix '$(prefix)' --package $(srcdir)/python/diffsim \
	  --version $(PACKAGE_VERSION) --readme $(srcdir)/README.md --licence $(srcdir)/LICENSE --out dist
	rm -rf wheel-stage
.PHONY: wheel
clean-wheel:
	rm -rf wheel-stage dist
clean-local: clean-wheel
.PHONY: clean-wheel
EXTRA_DIST += %D%/make_wheel.py python/pyproject.toml
EXTRA_DIST += debian/changelog debian/control debian/copyright debian/diffsim-doc.install debian/diffsim-mpi.install \
	debian/diffsim.install debian/libdiffsim-dev.install debian/libdiffsim1.install debian/libdiffsim1.symbols \
	debian/python3-diffsim.install debian/rules debian/source/format debian/tests
