# SPDX-License-Identifier: Apache-2.0
# Array files, scenes, pictures, and the fuzz targets of their parsers.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_npy tests/unit/test_scenedata tests/unit/test_pictures
tests_unit_test_npy_SOURCES = tests/unit/test_npy.c tests/unit/temporary.h
tests_unit_test_npy_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_npy_LDADD = libdiffsim.la $(CMOCKA_LIBS) $(ZLIB_LIBS)
tests_unit_test_scenedata_SOURCES = tests/unit/test_scenedata.c tests/unit/synthetic_scene.h tests/unit/temporary.h
tests_unit_test_scenedata_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_scenedata_LDADD = libdiffsim.la $(CMOCKA_LIBS)
tests_unit_test_pictures_SOURCES = tests/unit/test_pictures.c tests/unit/synthetic_scene.h tests/unit/temporary.h
tests_unit_test_pictures_CPPFLAGS = $(TEST_CPPFLAGS) $(CAIRO_CFLAGS)
tests_unit_test_pictures_LDADD = libdiffsim.la $(CMOCKA_LIBS) $(CAIRO_LIBS)
endif
