# SPDX-License-Identifier: Apache-2.0
# Tests of libdiffsim as other programs use it.
check_PROGRAMS += tests/unit/test_search
tests_unit_test_search_SOURCES = tests/unit/test_search.c $(fake_run_sources)
tests_unit_test_search_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_search_LDADD = libdiffsim.la $(CMOCKA_LIBS)
