# SPDX-License-Identifier: Apache-2.0
# Mass-spring systems on a lattice with contact.
noinst_LTLIBRARIES += plugins/envs/engines/cloth/libcloth.la
# Only the directives for vectorization of OpenMP, no threads.
plugins_envs_engines_cloth_libcloth_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -fopenmp-simd
plugins_envs_engines_cloth_libcloth_la_SOURCES = \
	plugins/envs/engines/cloth/cloth.h plugins/envs/engines/cloth/cloth.c \
	plugins/envs/engines/cloth/disc.h plugins/envs/engines/cloth/disc.c \
	plugins/envs/engines/cloth/pan_shape.h plugins/envs/engines/cloth/pan_shape.c \
	plugins/envs/engines/cloth/lift.h plugins/envs/engines/cloth/lift.c \
	plugins/envs/engines/cloth/mesh.h plugins/envs/engines/cloth/mesh.c \
	plugins/envs/engines/cloth/sheet.h plugins/envs/engines/cloth/sheet.c \
	plugins/envs/engines/cloth/sets.h \
	plugins/envs/engines/cloth/spring.h plugins/envs/engines/cloth/spring.c \
	plugins/envs/engines/cloth/touch.h plugins/envs/engines/cloth/floor.c plugins/envs/engines/cloth/pan.c \
	plugins/envs/engines/cloth/trajectory.h plugins/envs/engines/cloth/trajectory.c

# Recorded lifts, found by the plugin beside itself.
clothdatadir = $(envplugindir)/data
dist_clothdata_DATA = plugins/envs/data/cloth.lift

# Makes such a file: make plugins/envs/engines/cloth/make_lift, then make_lift 1 0.002 0.1 > FILE.
EXTRA_PROGRAMS += plugins/envs/engines/cloth/make_lift
plugins_envs_engines_cloth_make_lift_SOURCES = plugins/envs/engines/cloth/make_lift.c
plugins_envs_engines_cloth_make_lift_LDADD = plugins/envs/engines/cloth/libcloth.la
CLEANFILES += plugins/envs/engines/cloth/make_lift
