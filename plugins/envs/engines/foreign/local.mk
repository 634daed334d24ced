# SPDX-License-Identifier: Apache-2.0
# Calls of functions of other libraries, described by a signature.
noinst_LTLIBRARIES += plugins/envs/engines/foreign/libforeign.la
plugins_envs_engines_foreign_libforeign_la_CPPFLAGS = $(AM_CPPFLAGS) $(FFI_CFLAGS)
plugins_envs_engines_foreign_libforeign_la_LIBADD = $(FFI_LIBS)
plugins_envs_engines_foreign_libforeign_la_SOURCES = \
	plugins/envs/engines/foreign/call.c plugins/envs/engines/foreign/call.h \
	plugins/envs/engines/foreign/signature.c plugins/envs/engines/foreign/signature.h
