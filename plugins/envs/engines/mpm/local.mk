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
	plugins/envs/engines/mpm/env_rl.c \
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
	plugins/envs/engines/mpm/stepwise.c plugins/envs/engines/mpm/stepwise.h \
	plugins/envs/engines/mpm/svd3.c plugins/envs/engines/mpm/svd3.h \
	plugins/envs/engines/mpm/target.c plugins/envs/engines/mpm/target.h \
	plugins/envs/engines/mpm/tool.h \
	plugins/envs/engines/mpm/tool_contact.c \
	plugins/envs/engines/mpm/tool_motion.c \
	plugins/envs/engines/mpm/tool_shape.c \
	plugins/envs/engines/mpm/transfer.c plugins/envs/engines/mpm/transfer.h
include plugins/envs/engines/mpm/fast/local.mk

# PlasticineLab's tasks: a plugin each; together, without their plugin interface, they are a library for tests
# and make_targets.
mpm_task_sources = \
	plugins/envs/assembly.c \
	plugins/envs/chopsticks.c \
	plugins/envs/move.c \
	plugins/envs/pinch.c \
	plugins/envs/rollingpin.c \
	plugins/envs/rope.c \
	plugins/envs/table.c \
	plugins/envs/torus.c \
	plugins/envs/triplemove.c \
	plugins/envs/writer.c
EXTRA_LTLIBRARIES = plugins/envs/engines/mpm/libtasks.la
plugins_envs_engines_mpm_libtasks_la_SOURCES = $(mpm_task_sources) \
	plugins/envs/engines/mpm/tasks.c plugins/envs/engines/mpm/tasks.h
plugins_envs_engines_mpm_libtasks_la_CPPFLAGS = $(AM_CPPFLAGS) -DMPM_TASKS_ONLY
plugins_envs_engines_mpm_libtasks_la_LIBADD = plugins/envs/engines/mpm/libmpm.la

envplugin_LTLIBRARIES += plugins/envs/assembly.la
plugins_envs_assembly_la_SOURCES = plugins/envs/assembly.c
plugins_envs_assembly_la_LDFLAGS = $(plugin_link)
plugins_envs_assembly_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
envplugin_LTLIBRARIES += plugins/envs/chopsticks.la
plugins_envs_chopsticks_la_SOURCES = plugins/envs/chopsticks.c
plugins_envs_chopsticks_la_LDFLAGS = $(plugin_link)
plugins_envs_chopsticks_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
envplugin_LTLIBRARIES += plugins/envs/move.la
plugins_envs_move_la_SOURCES = plugins/envs/move.c
plugins_envs_move_la_LDFLAGS = $(plugin_link)
plugins_envs_move_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
envplugin_LTLIBRARIES += plugins/envs/pinch.la
plugins_envs_pinch_la_SOURCES = plugins/envs/pinch.c
plugins_envs_pinch_la_LDFLAGS = $(plugin_link)
plugins_envs_pinch_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
envplugin_LTLIBRARIES += plugins/envs/rollingpin.la
plugins_envs_rollingpin_la_SOURCES = plugins/envs/rollingpin.c
plugins_envs_rollingpin_la_LDFLAGS = $(plugin_link)
plugins_envs_rollingpin_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
envplugin_LTLIBRARIES += plugins/envs/rope.la
plugins_envs_rope_la_SOURCES = plugins/envs/rope.c
plugins_envs_rope_la_LDFLAGS = $(plugin_link)
plugins_envs_rope_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
envplugin_LTLIBRARIES += plugins/envs/table.la
plugins_envs_table_la_SOURCES = plugins/envs/table.c
plugins_envs_table_la_LDFLAGS = $(plugin_link)
plugins_envs_table_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
envplugin_LTLIBRARIES += plugins/envs/torus.la
plugins_envs_torus_la_SOURCES = plugins/envs/torus.c
plugins_envs_torus_la_LDFLAGS = $(plugin_link)
plugins_envs_torus_la_LIBADD = plugins/envs/engines/mpm/libmpm.la

envplugin_LTLIBRARIES += plugins/envs/fluid.la
plugins_envs_fluid_la_SOURCES = plugins/envs/fluid.c
plugins_envs_fluid_la_LDFLAGS = $(plugin_link)
plugins_envs_fluid_la_LIBADD = plugins/envs/engines/mpm/libmpm.la plugins/envs/engines/scene/libscene.la
envplugin_LTLIBRARIES += plugins/envs/triplemove.la
plugins_envs_triplemove_la_SOURCES = plugins/envs/triplemove.c
plugins_envs_triplemove_la_LDFLAGS = $(plugin_link)
plugins_envs_triplemove_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
envplugin_LTLIBRARIES += plugins/envs/writer.la
plugins_envs_writer_la_SOURCES = plugins/envs/writer.c
plugins_envs_writer_la_LDFLAGS = $(plugin_link)
plugins_envs_writer_la_LIBADD = plugins/envs/engines/mpm/libmpm.la

# Target densities, found by the plugins beside themselves.
mpmdatadir = $(envplugindir)/data
dist_mpmdata_DATA = \
	plugins/envs/data/chopsticks.targets \
	plugins/envs/data/pinch.targets \
	plugins/envs/data/rollingpin.targets \
	plugins/envs/data/table.targets \
	plugins/envs/data/torus.targets \
	plugins/envs/data/writer.targets

# Makes a target file again: make plugins/envs/engines/mpm/make_targets, then run it with the task's id and
# the file's name.
EXTRA_PROGRAMS += plugins/envs/engines/mpm/make_targets
plugins_envs_engines_mpm_make_targets_SOURCES = plugins/envs/engines/mpm/make_targets.c
plugins_envs_engines_mpm_make_targets_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/plugins/envs/engines/mpm
plugins_envs_engines_mpm_make_targets_LDADD = plugins/envs/engines/mpm/libtasks.la
CLEANFILES += plugins/envs/engines/mpm/make_targets plugins/envs/engines/mpm/libtasks.la
