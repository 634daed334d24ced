# SPDX-License-Identifier: Apache-2.0
# libdiffsim (loader, parameters, worker pool, run engine, store, pictures) and the dshost command line on top of it.
noinst_LTLIBRARIES += libdiffsim.la
libdiffsim_la_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS) $(CAIRO_CFLAGS) \
	$(ZLIB_CFLAGS) -DDS_PLUGINDIR='"$(plugindir)"'
libdiffsim_la_LIBADD = $(INIH_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(CAIRO_LIBS) $(ZLIB_LIBS)
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
dshost_SOURCES = \
	core/main.c
