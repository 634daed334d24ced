# SPDX-License-Identifier: Apache-2.0
# Test functions with known optimum.
noinst_LTLIBRARIES += plugins/envs/engines/functions/libfunctions.la
plugins_envs_engines_functions_libfunctions_la_SOURCES = \
	plugins/envs/engines/functions/functions.h \
	plugins/envs/engines/functions/functions.c \
	plugins/envs/engines/functions/smooth.c \
	plugins/envs/engines/functions/rugged.c \
	plugins/envs/engines/functions/classic.c \
	plugins/envs/engines/functions/bbob.h \
	plugins/envs/engines/functions/bbob.c \
	plugins/envs/engines/functions/bbob_draw.c \
	plugins/envs/engines/functions/squares.h \
	plugins/envs/engines/functions/squares.c
