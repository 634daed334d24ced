# SPDX-License-Identifier: Apache-2.0
# Tests of the cloth scenes: the mass-spring engine, swing, flip, realtosim.
cloth_cppflags = $(TEST_CPPFLAGS) -I$(top_srcdir)/plugins/envs/engines
cloth_ldadd = plugins/envs/engines/cloth/libcloth.la $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cloth
tests_unit_test_cloth_SOURCES = tests/unit/test_cloth.c
tests_unit_test_cloth_CPPFLAGS = $(cloth_cppflags)
tests_unit_test_cloth_LDADD = $(cloth_ldadd)

check_PROGRAMS += tests/unit/test_cloth_scenes
tests_unit_test_cloth_scenes_SOURCES = tests/unit/test_cloth_scenes.c $(fake_cma)
tests_unit_test_cloth_scenes_CPPFLAGS = $(cloth_cppflags)
tests_unit_test_cloth_scenes_LDADD = $(cloth_ldadd)

# Fuzz target of the reader of recordings, as in pictures.mk.
EXTRA_DIST += tests/fuzz/corpus/trajectory/usual.lift tests/fuzz/corpus/trajectory/odd.lift \
	tests/fuzz/corpus/trajectory/wrong.lift
check_PROGRAMS += tests/fuzz/replay_trajectory
tests_fuzz_replay_trajectory_SOURCES = tests/fuzz/fuzz_trajectory.c $(fuzz_replay_sources)
tests_fuzz_replay_trajectory_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"trajectory"'
tests_fuzz_replay_trajectory_LDADD = plugins/envs/engines/cloth/libcloth.la
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_trajectory
tests_fuzz_fuzz_trajectory_SOURCES = tests/fuzz/fuzz_trajectory.c plugins/envs/engines/cloth/trajectory.c
tests_fuzz_fuzz_trajectory_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_trajectory_LDFLAGS = $(fuzz_flags)
endif
