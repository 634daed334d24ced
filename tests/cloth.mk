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
