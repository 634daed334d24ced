# SPDX-License-Identifier: Apache-2.0
# The material point engine of the plasticine environments (plain scalar version) and what its plugins share.
noinst_LTLIBRARIES += plugins/envs/engines/mpm/libmpm.la
# Options that help the fixed-size inner loops and never change what floating-point code means.
plugins_envs_engines_mpm_libmpm_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) \
	-finline-functions
plugins_envs_engines_mpm_libmpm_la_SOURCES = \
	plugins/envs/engines/mpm/deform.c plugins/envs/engines/mpm/deform.h \
	plugins/envs/engines/mpm/distance.c plugins/envs/engines/mpm/distance.h \
	plugins/envs/engines/mpm/env.c plugins/envs/engines/mpm/env.h \
	plugins/envs/engines/mpm/env_params.c \
	plugins/envs/engines/mpm/env_scene.c \
	plugins/envs/engines/mpm/episode.c plugins/envs/engines/mpm/episode.h \
	plugins/envs/engines/mpm/grid.c plugins/envs/engines/mpm/grid.h \
	plugins/envs/engines/mpm/loss.c plugins/envs/engines/mpm/loss.h \
	plugins/envs/engines/mpm/mat3.h \
	plugins/envs/engines/mpm/material.c plugins/envs/engines/mpm/material.h \
	plugins/envs/engines/mpm/mt19937.c plugins/envs/engines/mpm/mt19937.h \
	plugins/envs/engines/mpm/quaternion.c plugins/envs/engines/mpm/quaternion.h \
	plugins/envs/engines/mpm/scene.c plugins/envs/engines/mpm/scene.h \
	plugins/envs/engines/mpm/sim.c plugins/envs/engines/mpm/sim.h \
	plugins/envs/engines/mpm/svd3.c plugins/envs/engines/mpm/svd3.h \
	plugins/envs/engines/mpm/target.c plugins/envs/engines/mpm/target.h \
	plugins/envs/engines/mpm/tool.h \
	plugins/envs/engines/mpm/tool_contact.c \
	plugins/envs/engines/mpm/tool_motion.c \
	plugins/envs/engines/mpm/tool_shape.c \
	plugins/envs/engines/mpm/transfer.c plugins/envs/engines/mpm/transfer.h
include plugins/envs/engines/mpm/fast/local.mk

# Target densities, found by the plugins beside themselves.
mpmdatadir = $(envplugindir)/data
dist_mpmdata_DATA = plugins/envs/data/torus.targets

# Makes a target file again: make plugins/envs/engines/mpm/make_targets_torus, then run it with the file's name.
EXTRA_PROGRAMS += plugins/envs/engines/mpm/make_targets_torus
plugins_envs_engines_mpm_make_targets_torus_SOURCES = plugins/envs/engines/mpm/make_targets.c plugins/envs/torus.c
plugins_envs_engines_mpm_make_targets_torus_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/plugins/envs/engines/mpm
plugins_envs_engines_mpm_make_targets_torus_LDADD = plugins/envs/engines/mpm/libmpm.la
CLEANFILES += plugins/envs/engines/mpm/make_targets_torus

envplugin_LTLIBRARIES += plugins/envs/torus.la
plugins_envs_torus_la_SOURCES = plugins/envs/torus.c
plugins_envs_torus_la_LDFLAGS = $(plugin_link)
plugins_envs_torus_la_LIBADD = plugins/envs/engines/mpm/libmpm.la

envplugin_LTLIBRARIES += plugins/envs/fluid.la
plugins_envs_fluid_la_SOURCES = plugins/envs/fluid.c
plugins_envs_fluid_la_LDFLAGS = $(plugin_link)
plugins_envs_fluid_la_LIBADD = plugins/envs/engines/mpm/libmpm.la plugins/envs/engines/scene/libscene.la
