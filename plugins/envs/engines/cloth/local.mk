# SPDX-License-Identifier: Apache-2.0
# Mass-spring systems on a lattice with contact.
noinst_LTLIBRARIES += plugins/envs/engines/cloth/libcloth.la
# Only the directives for vectorization of OpenMP, no threads.
plugins_envs_engines_cloth_libcloth_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -fopenmp-simd
plugins_envs_engines_cloth_libcloth_la_SOURCES = \
	plugins/envs/engines/cloth/cloth.h plugins/envs/engines/cloth/cloth.c \
	plugins/envs/engines/cloth/mesh.h plugins/envs/engines/cloth/mesh.c \
	plugins/envs/engines/cloth/sheet.h plugins/envs/engines/cloth/sheet.c \
	plugins/envs/engines/cloth/spring.h plugins/envs/engines/cloth/spring.c \
	plugins/envs/engines/cloth/touch.h plugins/envs/engines/cloth/floor.c plugins/envs/engines/cloth/pan.c
