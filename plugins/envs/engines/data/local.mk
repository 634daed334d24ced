# SPDX-License-Identifier: Apache-2.0
# Recordings: readers of text and NumPy files, and the residuals of a simulated motion.
env_engine_libs += %D%/librecording.la
%C%_librecording_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS)
%C%_librecording_la_LIBADD = $(ZLIB_LIBS)
%C%_librecording_la_SOURCES = \
	%D%/recording.c \
	%D%/recording.h

# Scene files.
env_engine_libs += %D%/libscenefile.la
%C%_libscenefile_la_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS)
%C%_libscenefile_la_LIBADD = $(INIH_LIBS)
%C%_libscenefile_la_SOURCES = \
	%D%/scene_camera.c \
	%D%/scene_camera.h \
	%D%/scene_file.c \
	%D%/scene_file.h \
	%D%/scene_params.c \
	%D%/scene_params.h

# Closed surfaces from meshes, and the signed distance to them on a grid.
env_engine_libs += %D%/libsurface.la %D%/libsurfacecore.la %D%/libdistancegrid.la
%C%_libdistancegrid_la_SOURCES = \
	%D%/distance_grid.c \
	%D%/distance_grid.h
%C%_libsurface_la_LIBADD = %D%/libsurfacecore.la plugins/envs/engines/physics/fem/libfem.la
%C%_libsurface_la_SOURCES =
%C%_libsurfacecore_la_SOURCES = \
	%D%/surface.c \
	%D%/surface.h
