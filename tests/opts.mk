# SPDX-License-Identifier: Apache-2.0
# Tests of the gradient optimizers, of NLopt's algorithms and of TuRBO.
optimizer_run_sources = tests/unit/optimizer_cases.c tests/unit/optimizer_cases.h $(fake_run_sources)

check_PROGRAMS += tests/unit/test_gradients
tests_unit_test_gradients_SOURCES = tests/unit/test_gradients.c $(optimizer_run_sources)
tests_unit_test_gradients_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_gradients_LDADD = $(CMOCKA_LIBS)

if HAVE_NLOPT
check_PROGRAMS += tests/unit/test_nlopt
tests_unit_test_nlopt_SOURCES = tests/unit/test_nlopt.c $(optimizer_run_sources)
tests_unit_test_nlopt_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_nlopt_LDADD = $(CMOCKA_LIBS)
endif

check_PROGRAMS += tests/unit/test_turbo
tests_unit_test_turbo_SOURCES = tests/unit/test_turbo.c $(optimizer_run_sources)
tests_unit_test_turbo_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_turbo_LDADD = plugins/optimizers/methods/libbayes.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_alphaorder
tests_unit_test_alphaorder_SOURCES = tests/unit/test_alphaorder.c $(optimizer_run_sources)
tests_unit_test_alphaorder_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_alphaorder_LDADD = plugins/optimizers/methods/libalpha.la $(CMOCKA_LIBS)
