# SPDX-License-Identifier: Apache-2.0
# Array files, scenes, pictures, and the fuzz targets of their parsers.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_npy tests/unit/test_scenedata tests/unit/test_pictures
tests_unit_test_npy_SOURCES = tests/unit/test_npy.c tests/unit/temporary.h
tests_unit_test_npy_CPPFLAGS = $(TEST_CPPFLAGS) $(host_include)
tests_unit_test_npy_LDADD = tools/libtools.la core/libcore.la $(tools_libs) $(CMOCKA_LIBS) $(ZLIB_LIBS)
tests_unit_test_scenedata_SOURCES = tests/unit/test_scenedata.c tests/unit/synthetic_scene.h \
	tests/unit/temporary.h
tests_unit_test_scenedata_CPPFLAGS = $(TEST_CPPFLAGS) $(host_include)
tests_unit_test_scenedata_LDADD = tools/libtools.la core/libcore.la $(tools_libs) $(CMOCKA_LIBS)
tests_unit_test_pictures_SOURCES = tests/unit/test_pictures.c tests/unit/synthetic_scene.h \
	tests/unit/temporary.h
tests_unit_test_pictures_CPPFLAGS = $(TEST_CPPFLAGS) $(host_include) $(CAIRO_CFLAGS)
tests_unit_test_pictures_LDADD = tools/libtools.la core/libcore.la $(tools_libs) $(CMOCKA_LIBS) $(CAIRO_LIBS)
endif

# Fuzz targets. Everywhere they run on a small corpus and mutations of it (replay_*); with clang and
# --enable-fuzzers
# they are also built for libFuzzer: tests/fuzz/fuzz_npy tests/fuzz/corpus/npy
check_PROGRAMS += tests/fuzz/replay_npy tests/fuzz/replay_text_array tests/fuzz/replay_scenedata
fuzz_corpus = \
	tests/fuzz/corpus/npy/big.npy tests/fuzz/corpus/npy/complex.npy tests/fuzz/corpus/npy/f4_4.npy \
	tests/fuzz/corpus/npy/f8_2x3.npy tests/fuzz/corpus/npy/fortran.npy tests/fuzz/corpus/npy/i4_v2.npy \
	tests/fuzz/corpus/npy/i8_scalar.npy tests/fuzz/corpus/npy/nan.npy \
	tests/fuzz/corpus/text_array/column.txt tests/fuzz/corpus/text_array/long.txt \
	tests/fuzz/corpus/text_array/nan.txt tests/fuzz/corpus/text_array/table.txt \
	tests/fuzz/corpus/text_array/uneven.txt tests/fuzz/corpus/text_array/vector.txt \
	tests/fuzz/corpus/scenedata/all_shapes tests/fuzz/corpus/scenedata/metrics \
	tests/fuzz/corpus/scenedata/torus
EXTRA_DIST += $(fuzz_corpus)
fuzz_replay_sources = tests/fuzz/replay.c tests/fuzz/fuzz.h

tests_fuzz_replay_npy_SOURCES = tests/fuzz/fuzz_npy.c $(fuzz_replay_sources)
tests_fuzz_replay_npy_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"npy"'
tests_fuzz_replay_npy_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
tests_fuzz_replay_text_array_SOURCES = tests/fuzz/fuzz_text_array.c $(fuzz_replay_sources)
tests_fuzz_replay_text_array_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"text_array"'
tests_fuzz_replay_text_array_LDADD = tools/libtools.la core/libcore.la $(tools_libs)
tests_fuzz_replay_scenedata_SOURCES = tests/fuzz/fuzz_scenedata.c $(fuzz_replay_sources)
tests_fuzz_replay_scenedata_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -DDS_FUZZ_NAME='"scenedata"'
tests_fuzz_replay_scenedata_LDADD = tools/libtools.la core/libcore.la $(tools_libs)

if FUZZERS
# The code under test is compiled again here, with the instrumentation that guides the fuzzer.
fuzz_flags = -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
noinst_PROGRAMS += tests/fuzz/fuzz_npy tests/fuzz/fuzz_text_array tests/fuzz/fuzz_scenedata
tests_fuzz_fuzz_npy_SOURCES = tests/fuzz/fuzz_npy.c core/config/npy_read.c core/base/file.c core/base/error.c core/base/text.c
tests_fuzz_fuzz_npy_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
tests_fuzz_fuzz_npy_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_npy_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_text_array_SOURCES = tests/fuzz/fuzz_text_array.c core/config/npy_read.c core/base/file.c core/base/error.c \
	core/base/text.c
tests_fuzz_fuzz_text_array_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
tests_fuzz_fuzz_text_array_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_text_array_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_scenedata_SOURCES = tests/fuzz/fuzz_scenedata.c core/scene/snapshot.c core/scene/snapshot_file.c \
	tools/render/render_geometry.c tools/render/render_shapes.c tools/results/npy_write.c core/base/file.c core/base/error.c core/base/text.c
tests_fuzz_fuzz_scenedata_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
tests_fuzz_fuzz_scenedata_CFLAGS = $(AM_CFLAGS) $(fuzz_flags)
tests_fuzz_fuzz_scenedata_LDFLAGS = $(fuzz_flags)
tests_fuzz_fuzz_scenedata_LDADD = $(ZLIB_LIBS)
endif
