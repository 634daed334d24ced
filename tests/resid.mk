# SPDX-License-Identifier: Apache-2.0
# Tests of the BBOB functions, of functions of other libraries, and of least squares.
functions_cppflags = $(TEST_CPPFLAGS) -I$(top_srcdir)/plugins/envs/engines/functions

check_PROGRAMS += tests/unit/test_bbob
tests_unit_test_bbob_SOURCES = tests/unit/test_bbob.c
tests_unit_test_bbob_CPPFLAGS = $(functions_cppflags)
tests_unit_test_bbob_LDADD = plugins/envs/engines/functions/libfunctions.la $(CMOCKA_LIBS)
