# SPDX-License-Identifier: Apache-2.0
# Rigid bodies in space: mass properties, compliant contact (rigid), momenta with impulses (momentum).
noinst_LTLIBRARIES += %D%/librigid.la
%C%_librigid_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -finline-functions
%C%_librigid_la_LIBADD = plugins/envs/engines/kit/algebra/libalgebra.la plugins/envs/engines/physics/smoothing/libdistance.la
%C%_librigid_la_SOURCES = \
	%D%/body.c \
	%D%/body.h \
	%D%/momentum.c \
	%D%/momentum.h \
	%D%/rigid.c \
	%D%/rigid.h \
	%D%/wrench_net.c \
	%D%/wrench_net.h
