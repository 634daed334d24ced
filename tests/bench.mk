# SPDX-License-Identifier: Apache-2.0
# Tests of `dshost bench`, of `dshost merge`, and of the reader of result folders.
EXTRA_DIST += tests/cli/bench_lib.sh
dist_check_SCRIPTS += tests/cli/bench.sh tests/cli/bench_held.sh tests/cli/bench_kill.sh tests/cli/bench_merge.sh \
	tests/cli/mpi.sh
slow_scripts += tests/cli/bench_kill_slow.sh tests/cli/mpi_slow.sh
check_PROGRAMS += tests/unit/test_results
tests_unit_test_results_SOURCES = tests/unit/test_results.c
tests_unit_test_results_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_results_LDADD = $(host_test_libs)
SLOW_TESTS += tests/unit/slow_results
tests_unit_slow_results_SOURCES = tests/unit/test_results.c
tests_unit_slow_results_CPPFLAGS = $(host_test_cppflags) -DROWS=1000000 -DLIMIT_S=2.0
tests_unit_slow_results_LDADD = $(host_test_libs)

# Fuzz target, as in pictures.mk.
EXTRA_DIST += tests/fuzz/corpus/bench/usual.ini tests/fuzz/corpus/bench/odd.ini \
	tests/fuzz/corpus/bench/wrong.ini
check_PROGRAMS += tests/fuzz/replay_bench
tests_fuzz_replay_bench_SOURCES = tests/fuzz/fuzz_bench.c $(fuzz_replay_sources)
tests_fuzz_replay_bench_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"bench"'
tests_fuzz_replay_bench_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
if FUZZERS
bench_fuzz_sources = tools/bench/bench_file.c tools/bench/bench_lines.c tools/bench/bench_sweep.c core/base/error.c core/base/file.c \
	core/config/inifile.c core/config/npy_read.c core/config/params.c core/config/run_options.c core/config/settings.c core/base/text.c
noinst_PROGRAMS += tests/fuzz/fuzz_bench
tests_fuzz_fuzz_bench_SOURCES = tests/fuzz/fuzz_bench.c $(bench_fuzz_sources)
tests_fuzz_fuzz_bench_CPPFLAGS = $(core_libcore_la_CPPFLAGS)
tests_fuzz_fuzz_bench_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_bench_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_bench_LDADD = tools/libtools.la core/libcore.la $(tools_libs) # ds_processors()
endif
