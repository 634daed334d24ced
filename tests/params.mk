# SPDX-License-Identifier: Apache-2.0
# Random parameters for every environment.
parameter_sources = tests/fuzz/parameters.c tests/fuzz/parameter_sets.c tests/fuzz/parameter_sets.h \
	tests/fuzz/fuzz.h
check_PROGRAMS += tests/fuzz/parameters
tests_fuzz_parameters_SOURCES = $(parameter_sources)
tests_fuzz_parameters_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
tests_fuzz_parameters_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
SLOW_TESTS += tests/fuzz/parameters_slow
tests_fuzz_parameters_slow_SOURCES = $(parameter_sources)
tests_fuzz_parameters_slow_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DSLOW
tests_fuzz_parameters_slow_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
