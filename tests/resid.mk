# SPDX-License-Identifier: Apache-2.0
# Tests of the BBOB functions, of functions of other libraries, and of least squares.
functions_cppflags = $(TEST_CPPFLAGS) -I$(top_srcdir)/plugins/envs/engines/functions

check_PROGRAMS += tests/unit/test_bbob
tests_unit_test_bbob_SOURCES = tests/unit/test_bbob.c
tests_unit_test_bbob_CPPFLAGS = $(functions_cppflags)
tests_unit_test_bbob_LDADD = plugins/envs/engines/functions/libfunctions.la $(CMOCKA_LIBS)

# A library that knows nothing of diffsim.
check_LTLIBRARIES += tests/plugins/foreign.la
tests_plugins_foreign_la_SOURCES = tests/plugins/foreign.c
tests_plugins_foreign_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined -rpath /nowhere

check_PROGRAMS += tests/unit/test_foreign
tests_unit_test_foreign_SOURCES = tests/unit/test_foreign.c $(fake_cma)
tests_unit_test_foreign_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/plugins/envs/engines/foreign
tests_unit_test_foreign_LDADD = plugins/envs/engines/foreign/libforeign.la $(CMOCKA_LIBS)
dist_check_SCRIPTS += tests/cli/ffi.sh

check_PROGRAMS += tests/unit/test_lm
tests_unit_test_lm_SOURCES = tests/unit/test_lm.c $(optimizer_run_sources)
tests_unit_test_lm_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/plugins/optimizers/methods
tests_unit_test_lm_LDADD = plugins/optimizers/methods/libsquares.la plugins/optimizers/methods/libbayes.la \
	$(CMOCKA_LIBS)
dist_check_SCRIPTS += tests/cli/kill_lm.sh tests/cli/kill_pbh.sh tests/cli/squares.sh
