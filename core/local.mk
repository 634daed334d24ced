# SPDX-License-Identifier: Apache-2.0
# libdiffsim (loader, parameters, worker pool, run engine, store, pictures) and the dshost command line on top of it.
noinst_LTLIBRARIES += libdiffsim.la
libdiffsim_la_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS) $(CAIRO_CFLAGS) \
	$(ZLIB_CFLAGS) -DDS_PLUGINDIR='"$(plugindir)"'
libdiffsim_la_LIBADD = $(INIH_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(CAIRO_LIBS) $(ZLIB_LIBS)
libdiffsim_la_SOURCES =
libdiffsim_la_SOURCES += core/arguments.c core/arguments.h
libdiffsim_la_SOURCES += core/describe.c core/describe.h
libdiffsim_la_SOURCES += core/difference.c core/difference.h
libdiffsim_la_SOURCES += core/elf_file.c core/elf_file.h
libdiffsim_la_SOURCES += core/error.c core/error.h
libdiffsim_la_SOURCES += core/file.c core/file.h
libdiffsim_la_SOURCES += core/instance.c core/instance.h
libdiffsim_la_SOURCES += core/json_text.c core/json_text.h
libdiffsim_la_SOURCES += core/loader.c core/loader.h
libdiffsim_la_SOURCES += core/log.c core/log.h
libdiffsim_la_SOURCES += core/npy_read.c core/npy_write.c core/npy.h
libdiffsim_la_SOURCES += core/params.c core/params.h
libdiffsim_la_SOURCES += core/run_options.c core/run_options.h
libdiffsim_la_SOURCES += core/scenedata.c core/scenedata_block.c core/scenedata.h core/scenedata_check.h
libdiffsim_la_SOURCES += core/settings.c core/settings.h
libdiffsim_la_SOURCES += core/text.c core/text.h

bin_PROGRAMS += dshost
dshost_CPPFLAGS = $(libdiffsim_la_CPPFLAGS)
dshost_LDADD = libdiffsim.la
dshost_SOURCES = core/main.c core/commands.h
dshost_SOURCES += core/cmd_doctor.c
dshost_SOURCES += core/cmd_eval.c
dshost_SOURCES += core/cmd_help.c
dshost_SOURCES += core/cmd_list.c
dshost_SOURCES += core/cmd_template.c
