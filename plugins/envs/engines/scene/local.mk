# SPDX-License-Identifier: Apache-2.0
# The scene extension from tables, and parameters whose default depends on another one.
noinst_LTLIBRARIES += plugins/envs/engines/scene/libscene.la
plugins_envs_engines_scene_libscene_la_SOURCES = \
	plugins/envs/engines/scene/scene_kit.h \
	plugins/envs/engines/scene/scene_kit.c \
	plugins/envs/engines/scene/settings.h \
	plugins/envs/engines/scene/settings.c
