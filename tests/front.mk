# SPDX-License-Identifier: Apache-2.0
# Tests of the program's front: settings, parameters, differences, random numbers, the commands that need no
# run.
front_tests = tests/unit/test_settings tests/unit/test_params tests/unit/test_difference \
	tests/unit/test_random \
	tests/unit/test_instance
check_PROGRAMS += $(front_tests)
tests_unit_test_settings_SOURCES = tests/unit/test_settings.c
tests_unit_test_settings_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_settings_LDADD = $(host_test_libs)
tests_unit_test_params_SOURCES = tests/unit/test_params.c
tests_unit_test_params_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_params_LDADD = $(host_test_libs)
tests_unit_test_difference_SOURCES = tests/unit/test_difference.c
tests_unit_test_difference_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_difference_LDADD = $(host_test_libs)
tests_unit_test_instance_SOURCES = tests/unit/test_instance.c
tests_unit_test_instance_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_instance_LDADD = $(host_test_libs)
tests_unit_test_random_SOURCES = tests/unit/test_random.c
tests_unit_test_random_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_random_LDADD = $(CMOCKA_LIBS)

EXTRA_DIST += tests/cli/lib.sh
dist_check_SCRIPTS += tests/cli/docs.sh tests/cli/flags.sh tests/cli/ini.sh tests/cli/eval.sh \
	tests/cli/plugins.sh

# Fuzz targets, as in pictures.mk.
front_fuzz_corpus = \
	tests/fuzz/corpus/ini/usual.ini tests/fuzz/corpus/ini/odd.ini tests/fuzz/corpus/ini/wrong.ini \
	tests/fuzz/corpus/set/all tests/fuzz/corpus/set/wrong tests/fuzz/corpus/set/long \
	tests/fuzz/corpus/descriptor/usual tests/fuzz/corpus/descriptor/odd tests/fuzz/corpus/descriptor/texts \
	tests/fuzz/corpus/elf/small.bin tests/fuzz/corpus/elf/wrong.bin
EXTRA_DIST += $(front_fuzz_corpus)
check_PROGRAMS += tests/fuzz/replay_ini tests/fuzz/replay_set tests/fuzz/replay_descriptor \
	tests/fuzz/replay_elf
tests_fuzz_replay_ini_SOURCES = tests/fuzz/fuzz_ini.c $(fuzz_replay_sources)
tests_fuzz_replay_ini_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"ini"'
tests_fuzz_replay_ini_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
tests_fuzz_replay_set_SOURCES = tests/fuzz/fuzz_set.c $(fuzz_replay_sources)
tests_fuzz_replay_set_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"set"'
tests_fuzz_replay_set_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
tests_fuzz_replay_descriptor_SOURCES = tests/fuzz/fuzz_descriptor.c $(fuzz_replay_sources)
tests_fuzz_replay_descriptor_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"descriptor"'
tests_fuzz_replay_descriptor_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
tests_fuzz_replay_elf_SOURCES = tests/fuzz/fuzz_elf.c $(fuzz_replay_sources)
tests_fuzz_replay_elf_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"elf"'
tests_fuzz_replay_elf_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
if FUZZERS
front_fuzz_sources = core/plugin/describe.c core/plugin/elf_file.c core/base/error.c core/base/file.c core/config/inifile.c core/plugin/loader.c \
	core/config/npy_read.c \
	core/config/params.c core/config/settings.c core/base/text.c
noinst_PROGRAMS += tests/fuzz/fuzz_ini tests/fuzz/fuzz_set tests/fuzz/fuzz_descriptor tests/fuzz/fuzz_elf
tests_fuzz_fuzz_ini_SOURCES = tests/fuzz/fuzz_ini.c $(front_fuzz_sources)
tests_fuzz_fuzz_ini_CPPFLAGS = $(core_libcore_la_CPPFLAGS)
tests_fuzz_fuzz_ini_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_ini_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_ini_LDADD = $(INIH_LIBS)
tests_fuzz_fuzz_set_SOURCES = tests/fuzz/fuzz_set.c $(front_fuzz_sources)
tests_fuzz_fuzz_set_CPPFLAGS = $(core_libcore_la_CPPFLAGS)
tests_fuzz_fuzz_set_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_set_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_set_LDADD = $(INIH_LIBS)
tests_fuzz_fuzz_descriptor_SOURCES = tests/fuzz/fuzz_descriptor.c $(front_fuzz_sources)
tests_fuzz_fuzz_descriptor_CPPFLAGS = $(core_libcore_la_CPPFLAGS)
tests_fuzz_fuzz_descriptor_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_descriptor_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_descriptor_LDADD = $(INIH_LIBS)
tests_fuzz_fuzz_elf_SOURCES = tests/fuzz/fuzz_elf.c $(front_fuzz_sources)
tests_fuzz_fuzz_elf_CPPFLAGS = $(core_libcore_la_CPPFLAGS)
tests_fuzz_fuzz_elf_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_elf_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_elf_LDADD = $(INIH_LIBS)
endif
