# SPDX-License-Identifier: Apache-2.0
# libdiffsim (loader, parameters, worker pool, run engine, store, pictures) and the dshost command line on top of it.
noinst_LTLIBRARIES += libdiffsim.la
libdiffsim_la_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS) $(CAIRO_CFLAGS) \
	$(ZLIB_CFLAGS) -DDS_PLUGINDIR='"$(plugindir)"'
libdiffsim_la_LIBADD = $(INIH_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(CAIRO_LIBS) $(ZLIB_LIBS)
libdiffsim_la_SOURCES = \
	core/elf_file.c core/elf_file.h \
	core/error.c core/error.h \
	core/file.c core/file.h \
	core/instance.c core/instance.h \
	core/loader.c core/loader.h \
	core/log.c core/log.h \
	core/npy_read.c core/npy_write.c core/npy.h \
	core/params.c core/params.h \
	core/run_options.c core/run_options.h \
	core/settings.c core/settings.h
	core/npy_read.c core/npy_write.c core/npy.h \
	core/scenedata.c core/scenedata_block.c core/scenedata.h core/scenedata_check.h

bin_PROGRAMS += dshost
dshost_CPPFLAGS = $(libdiffsim_la_CPPFLAGS)
dshost_LDADD = libdiffsim.la
dshost_SOURCES = \
	core/main.c
