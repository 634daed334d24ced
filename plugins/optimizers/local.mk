# SPDX-License-Identifier: Apache-2.0
# Optimizer plugins and the numerical methods they share.

optplugin_LTLIBRARIES += plugins/optimizers/rand.la
plugins_optimizers_rand_la_SOURCES = plugins/optimizers/rand.c
plugins_optimizers_rand_la_LDFLAGS = $(plugin_link)

noinst_LTLIBRARIES += plugins/optimizers/methods/libcma.la
plugins_optimizers_methods_libcma_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_methods_libcma_la_LIBADD = $(OPENBLAS_LIBS)
plugins_optimizers_methods_libcma_la_SOURCES = \
	plugins/optimizers/methods/cma.c plugins/optimizers/methods/cma.h \
	plugins/optimizers/methods/cma_bounds.c plugins/optimizers/methods/cma_bounds.h \
	plugins/optimizers/methods/cma_constants.c \
	plugins/optimizers/methods/cma_restart.c plugins/optimizers/methods/cma_restart.h \
	plugins/optimizers/methods/cma_stop.c plugins/optimizers/methods/cma_stop.h \
	plugins/optimizers/methods/eigen.c plugins/optimizers/methods/eigen.h

optplugin_LTLIBRARIES += plugins/optimizers/cmaes.la
plugins_optimizers_cmaes_la_SOURCES = plugins/optimizers/cmaes.c
plugins_optimizers_cmaes_la_LDFLAGS = $(plugin_link)
plugins_optimizers_cmaes_la_LIBADD = plugins/optimizers/methods/libcma.la
