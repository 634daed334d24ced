# SPDX-License-Identifier: Apache-2.0
# Robots: trees of rigid bodies with joints and contact (tree), their motion (motion).
noinst_LTLIBRARIES += %D%/libarticulated.la
%C%_libarticulated_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -finline-functions
%C%_libarticulated_la_LIBADD = plugins/envs/engines/kit/algebra/libalgebra.la
%C%_libarticulated_la_SOURCES = \
	%D%/motion.c \
	%D%/motion.h \
	%D%/tree.c \
	%D%/tree.h
