# SPDX-License-Identifier: Apache-2.0
# Tests of `dshost landscape`: measures on functions with known answers, the command, its plots.
check_PROGRAMS += tests/unit/test_landscape tests/unit/test_slice tests/unit/test_maps
tests_unit_test_landscape_SOURCES = tests/unit/test_landscape.c
tests_unit_test_landscape_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_landscape_LDADD = $(host_test_libs)
tests_unit_test_slice_SOURCES = tests/unit/test_slice.c
tests_unit_test_slice_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_slice_LDADD = $(host_test_libs)
tests_unit_test_maps_SOURCES = tests/unit/test_maps.c tests/unit/temporary.h
tests_unit_test_maps_CPPFLAGS = $(host_test_cppflags) $(CAIRO_CFLAGS)
tests_unit_test_maps_LDADD = $(host_test_libs) $(CAIRO_LIBS)
check_LTLIBRARIES += tests/plugins/shapes.la
tests_plugins_shapes_la_SOURCES = tests/plugins/shapes.c
tests_plugins_shapes_la_LDFLAGS = $(test_plugin_link)
dist_check_SCRIPTS += tests/cli/landscape.sh tests/cli/landscape_kill.sh

# Fuzz target, as in pictures.mk.
EXTRA_DIST += tests/fuzz/corpus/slice/usual tests/fuzz/corpus/slice/line tests/fuzz/corpus/slice/wrong
check_PROGRAMS += tests/fuzz/replay_slice
tests_fuzz_replay_slice_SOURCES = tests/fuzz/fuzz_slice.c $(fuzz_replay_sources)
tests_fuzz_replay_slice_CPPFLAGS = $(host_test_cppflags) -DDS_FUZZ_NAME='"slice"'
tests_fuzz_replay_slice_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_slice
tests_fuzz_fuzz_slice_SOURCES = tests/fuzz/fuzz_slice.c
tests_fuzz_fuzz_slice_CPPFLAGS = $(host_test_cppflags)
tests_fuzz_fuzz_slice_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_slice_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_slice_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
endif
