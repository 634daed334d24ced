# SPDX-License-Identifier: Apache-2.0
# Tests of `dshost bench`, of `dshost merge`, and of the reader of result folders.
EXTRA_DIST += tests/cli/bench_lib.sh
dist_check_SCRIPTS += tests/cli/bench.sh tests/cli/bench_kill.sh tests/cli/mpi.sh
slow_scripts += tests/cli/bench_kill_slow.sh tests/cli/mpi_slow.sh
check_PROGRAMS += tests/unit/test_results
tests_unit_test_results_SOURCES = tests/unit/test_results.c
tests_unit_test_results_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_results_LDADD = $(host_test_libs)
SLOW_TESTS += tests/unit/slow_results
tests_unit_slow_results_SOURCES = tests/unit/test_results.c
tests_unit_slow_results_CPPFLAGS = $(host_test_cppflags) -DROWS=1000000 -DLIMIT_S=2.0
tests_unit_slow_results_LDADD = $(host_test_libs)
