# SPDX-License-Identifier: Apache-2.0
# Statistics of samples and comparisons.
check_PROGRAMS += tests/unit/test_statistics
tests_unit_test_statistics_SOURCES = tests/unit/test_statistics.c
tests_unit_test_statistics_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_statistics_LDADD = $(host_test_libs)
dist_check_SCRIPTS += tests/cli/report.sh
dist_check_SCRIPTS += tests/cli/report_sets.sh
check_PROGRAMS += tests/unit/test_figures
tests_unit_test_figures_SOURCES = tests/unit/test_figures.c
tests_unit_test_figures_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_figures_LDADD = $(host_test_libs)
