# SPDX-License-Identifier: Apache-2.0
# Tests of the program's front: settings, parameters, differences, random numbers, the commands that need no run.
front_tests = tests/unit/test_settings tests/unit/test_params tests/unit/test_difference tests/unit/test_random
check_PROGRAMS += $(front_tests)
tests_unit_test_settings_SOURCES = tests/unit/test_settings.c
tests_unit_test_settings_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_settings_LDADD = $(host_test_libs)
tests_unit_test_params_SOURCES = tests/unit/test_params.c
tests_unit_test_params_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_params_LDADD = $(host_test_libs)
tests_unit_test_difference_SOURCES = tests/unit/test_difference.c
tests_unit_test_difference_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_difference_LDADD = $(host_test_libs)
tests_unit_test_random_SOURCES = tests/unit/test_random.c
tests_unit_test_random_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_random_LDADD = $(CMOCKA_LIBS)
