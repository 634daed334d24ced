# SPDX-License-Identifier: Apache-2.0
# The simple and the double pendulum with unknown constants; ordinary differential equations by Runge and Kutta. The
# compound one has all its derivatives with it, in vectors; kernels for many of them side by side.
noinst_LTLIBRARIES += %D%/libpendulum.la %D%/libcompound.la $(compound_variants)
%C%_libpendulum_la_SOURCES = %D%/pendulum.c %D%/pendulum.h %D%/rk4.c %D%/rk4.h
%C%_libcompound_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS)
%C%_libcompound_la_CPPFLAGS = $(AM_CPPFLAGS) $(isa_select)
%C%_libcompound_la_LIBADD = $(compound_variants)
%C%_libcompound_la_SOURCES = %D%/compound.c $(compound_kernel_headers)
compound_kernel_headers = %D%/compound.h %D%/compound_step.h

compound_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(compound_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
compound_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(compound_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(compound_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
