# SPDX-License-Identifier: Apache-2.0
# Small vectors, matrices and quaternions, with adjoints. Options that help fixed-size inner loops and never
# change what floating-point code means.
noinst_LTLIBRARIES += %D%/libalgebra.la
%C%_libalgebra_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -finline-functions
%C%_libalgebra_la_SOURCES = %D%/mat3.h %D%/quaternion.c %D%/quaternion.h %D%/quaternion_inline.h
