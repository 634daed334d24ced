# SPDX-License-Identifier: Apache-2.0
# libdiffsim (loader, parameters, worker pool, run engine, store, pictures) and the dshost command line on top of it.
noinst_LTLIBRARIES += libdiffsim.la
libdiffsim_la_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS) $(CAIRO_CFLAGS) \
	$(ZLIB_CFLAGS) -DDS_PLUGINDIR='"$(plugindir)"'
libdiffsim_la_LIBADD = $(INIH_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(CAIRO_LIBS) $(ZLIB_LIBS)
libdiffsim_la_SOURCES =
libdiffsim_la_SOURCES += core/arguments.c core/arguments.h
libdiffsim_la_SOURCES += core/canvas.c core/canvas.h
libdiffsim_la_SOURCES += core/childlog.c core/childlog.h
libdiffsim_la_SOURCES += core/crew.c core/crew.h
libdiffsim_la_SOURCES += core/describe.c core/describe.h
libdiffsim_la_SOURCES += core/difference.c core/difference.h
libdiffsim_la_SOURCES += core/elf_file.c core/elf_file.h
libdiffsim_la_SOURCES += core/error.c core/error.h
libdiffsim_la_SOURCES += core/file.c core/file.h
libdiffsim_la_SOURCES += core/guard.c core/guard.h
libdiffsim_la_SOURCES += core/instance.c core/instance.h
libdiffsim_la_SOURCES += core/json_text.c core/json_text.h
libdiffsim_la_SOURCES += core/loader.c core/loader.h
libdiffsim_la_SOURCES += core/log.c core/log.h
libdiffsim_la_SOURCES += core/npy.h
libdiffsim_la_SOURCES += core/npy_read.c
libdiffsim_la_SOURCES += core/npy_write.c
libdiffsim_la_SOURCES += core/params.c core/params.h
libdiffsim_la_SOURCES += core/plot.c core/plot.h
libdiffsim_la_SOURCES += core/plot_bars.c
libdiffsim_la_SOURCES += core/plot_scale.c core/plot_scale.h
libdiffsim_la_SOURCES += core/pool.c core/pool.h
libdiffsim_la_SOURCES += core/recorder.c core/recorder.h
libdiffsim_la_SOURCES += core/run_options.c core/run_options.h
libdiffsim_la_SOURCES += core/runlock.c core/runlock.h
libdiffsim_la_SOURCES += core/scenedata.c core/scenedata.h
libdiffsim_la_SOURCES += core/scenedata_block.c
libdiffsim_la_SOURCES += core/scenedata_check.h
libdiffsim_la_SOURCES += core/settings.c core/settings.h
libdiffsim_la_SOURCES += core/share.c core/share.h
libdiffsim_la_SOURCES += core/spawn.c core/spawn.h
libdiffsim_la_SOURCES += core/store.c core/store.h
libdiffsim_la_SOURCES += core/text.c core/text.h
libdiffsim_la_SOURCES += core/worker.c core/worker.h
libdiffsim_la_SOURCES = \
	core/error.c core/error.h \
	core/file.c core/file.h \
	core/npy_read.c core/npy_write.c core/npy.h \
	core/scenedata.c core/scenedata_block.c core/scenedata.h core/scenedata_check.h \
	core/canvas.c core/canvas.h \
	core/plot.c core/plot_bars.c core/plot_scale.c core/plot.h core/plot_scale.h \
	core/render.c core/render_geometry.c core/render_shapes.c core/render_raster.c core/render_shade.c \
	core/render_flat.c core/render.h core/render_flat.h core/render_internal.h \
	core/picture.c core/picture.h

bin_PROGRAMS += dshost
dshost_CPPFLAGS = $(libdiffsim_la_CPPFLAGS)
dshost_LDADD = libdiffsim.la
dshost_SOURCES = core/main.c core/commands.h
dshost_SOURCES += core/cmd_doctor.c
dshost_SOURCES += core/cmd_eval.c
dshost_SOURCES += core/cmd_help.c
dshost_SOURCES += core/cmd_list.c
dshost_SOURCES += core/cmd_template.c
dshost_SOURCES += core/worker.c
