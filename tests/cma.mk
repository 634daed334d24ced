# SPDX-License-Identifier: Apache-2.0
# Tests of the analytic functions, the pendulum, random search and CMA-ES.
fake_cma = tests/unit/fake_cma_run.c tests/unit/fake_cma_run.h

check_PROGRAMS += tests/unit/test_functions tests/unit/test_rand
tests_unit_test_functions_SOURCES = tests/unit/test_functions.c $(fake_cma)
tests_unit_test_functions_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_functions_LDADD = $(CMOCKA_LIBS)
tests_unit_test_rand_SOURCES = tests/unit/test_rand.c $(fake_cma)
tests_unit_test_rand_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_rand_LDADD = $(CMOCKA_LIBS)
