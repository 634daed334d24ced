# SPDX-License-Identifier: Apache-2.0
# Tests of Bayesian optimization, BO-Leap and their numerics.
check_PROGRAMS += tests/unit/test_lbfgsb
tests_unit_test_lbfgsb_SOURCES = tests/unit/test_lbfgsb.c tests/unit/functions.h tests/unit/golden.h
tests_unit_test_lbfgsb_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_lbfgsb_LDADD = plugins/optimizers/methods/libbayes.la $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_gp
tests_unit_test_gp_SOURCES = tests/unit/test_gp.c tests/unit/golden.h
tests_unit_test_gp_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_gp_LDADD = plugins/optimizers/methods/libbayes.la $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_acquisition
tests_unit_test_acquisition_SOURCES = tests/unit/test_acquisition.c
tests_unit_test_acquisition_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_acquisition_LDADD = plugins/optimizers/methods/libbayes.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_descent
tests_unit_test_descent_SOURCES = tests/unit/test_descent.c tests/unit/functions.h
tests_unit_test_descent_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_descent_LDADD = plugins/optimizers/methods/libbayes.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_surrogate
tests_unit_test_surrogate_SOURCES = tests/unit/test_surrogate.c tests/unit/functions.h
tests_unit_test_surrogate_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_surrogate_LDADD = plugins/optimizers/methods/libbayes.la $(CMOCKA_LIBS)

# A miniature host, to run optimizer plugins on analytic functions.
fake_run_sources = tests/unit/fake_run.c tests/unit/fake_run.h tests/unit/functions.h

check_PROGRAMS += tests/unit/test_boleap
tests_unit_test_boleap_SOURCES = tests/unit/test_boleap.c $(fake_run_sources)
tests_unit_test_boleap_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_boleap_LDADD = plugins/optimizers/methods/libbayes.la $(CMOCKA_LIBS)

SLOW_TESTS += tests/unit/slow_bo
tests_unit_slow_bo_SOURCES = tests/unit/slow_bo.c tests/unit/golden.h $(fake_run_sources)
tests_unit_slow_bo_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_slow_bo_LDADD = plugins/optimizers/methods/libbayes.la $(JANSSON_LIBS) $(CMOCKA_LIBS)
