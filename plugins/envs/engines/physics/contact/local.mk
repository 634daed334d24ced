# SPDX-License-Identifier: Apache-2.0
# Rigid bodies: a ball among boxes and walls in the plane (linear complementarity, impact, episode), or over a floor;
# kernels for many of them side by side.
env_engine_libs += %D%/libcontact.la $(contact_variants)
%C%_libcontact_la_LIBADD = $(contact_variants) plugins/envs/engines/physics/smoothing/libdistance.la
%C%_libcontact_la_SOURCES = $(contact_kernel_headers) \
	%D%/ball.c \
	%D%/floor_ball.h \
	%D%/floor_ball.c \
	%D%/impact.h \
	%D%/impact.c \
	%D%/lcp.h \
	%D%/lcp.c \
	%D%/shape.h \
	%D%/shape.c
contact_kernel_headers = %D%/ball.h %D%/ball_lanes.h

contact_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(contact_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
contact_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(contact_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(contact_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
