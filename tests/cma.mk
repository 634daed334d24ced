# SPDX-License-Identifier: Apache-2.0
# Tests of the analytic functions, the pendulum, random search and CMA-ES.
fake_cma = tests/unit/fake_cma_run.c tests/unit/fake_cma_run.h

check_PROGRAMS += tests/unit/test_functions tests/unit/test_rand tests/unit/test_cmaes
tests_unit_test_cmaes_SOURCES = tests/unit/test_cmaes.c $(fake_cma)
tests_unit_test_cmaes_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_cmaes_LDADD = $(CMOCKA_LIBS)
tests_unit_test_functions_SOURCES = tests/unit/test_functions.c $(fake_cma)
tests_unit_test_functions_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_functions_LDADD = $(CMOCKA_LIBS)
tests_unit_test_rand_SOURCES = tests/unit/test_rand.c $(fake_cma)
tests_unit_test_rand_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_rand_LDADD = $(CMOCKA_LIBS)

cma_cases = tests/unit/cma_cases.c tests/unit/cma_cases.h
cma_cppflags = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS) -I$(top_srcdir)/plugins/optimizers
cma_ldadd = plugins/optimizers/methods/libcma.la $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cma tests/unit/test_cma_evals
tests_unit_test_cma_SOURCES = tests/unit/test_cma.c $(cma_cases)
tests_unit_test_cma_CPPFLAGS = $(cma_cppflags)
tests_unit_test_cma_LDADD = $(cma_ldadd)
tests_unit_test_cma_evals_SOURCES = tests/unit/test_cma_evals.c $(cma_cases)
tests_unit_test_cma_evals_CPPFLAGS = $(cma_cppflags)
tests_unit_test_cma_evals_LDADD = $(cma_ldadd)

SLOW_TESTS += tests/unit/test_cma_evals_slow
EXTRA_PROGRAMS += tests/unit/test_cma_evals_slow
tests_unit_test_cma_evals_slow_SOURCES = tests/unit/test_cma_evals.c $(cma_cases)
tests_unit_test_cma_evals_slow_CPPFLAGS = $(cma_cppflags) -DSLOW
tests_unit_test_cma_evals_slow_LDADD = $(cma_ldadd)

check_PROGRAMS += tests/unit/test_pendulum
tests_unit_test_pendulum_SOURCES = tests/unit/test_pendulum.c $(fake_cma)
tests_unit_test_pendulum_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_pendulum_LDADD = $(JANSSON_LIBS) $(CMOCKA_LIBS)
