# SPDX-License-Identifier: Apache-2.0
# Rigid bodies in space: mass properties, compliant contact (rigid), momenta with impulses (momentum).
noinst_LTLIBRARIES += %D%/librigid.la
%C%_librigid_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -finline-functions
%C%_librigid_la_LIBADD = plugins/envs/engines/kit/algebra/libalgebra.la plugins/envs/engines/physics/smoothing/libdistance.la
%C%_librigid_la_SOURCES = \
	%D%/mass.c \
	%D%/mass.h \
	%D%/momentum.c \
	%D%/momentum.h \
	%D%/momentum_adjoint.c \
	%D%/momentum_impulse.c \
	%D%/momentum_step.c \
	%D%/momentum_internal.h \
	%D%/momentum_tangent.c \
	%D%/pose.c \
	%D%/pose.h \
	%D%/rigid.c \
	%D%/rigid.h \
	%D%/rigid_adjoint.c \
	%D%/rigid_step.c \
	%D%/rigid_internal.h \
	%D%/rigid_tangent.c \
	%D%/wrench_net.c \
	%D%/wrench_net.h
