# SPDX-License-Identifier: Apache-2.0
# Bad states in the material point engines.
check_PROGRAMS += tests/unit/test_mpm_bad
tests_unit_test_mpm_bad_SOURCES = tests/unit/test_mpm_bad.c $(mpm_test_support)
tests_unit_test_mpm_bad_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_bad_LDADD = $(mpm_test_ldadd)
