# SPDX-License-Identifier: Apache-2.0
# Smoke on a periodic grid. The kernels are compiled for each instruction set; nothing is fused or reordered,
# so all of them compute the same bits (see docs/portable.md). Of OpenMP only the directives for vectorization.
noinst_LTLIBRARIES += %D%/libsmoke.la $(smoke_variants)
smoke_kernel_sources = %D%/kernels.c %D%/kernels.h
smoke_cflags = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -fopenmp-simd
smoke_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = $(smoke_kernel_sources)
%C%_libbaseline_la_CFLAGS = $(smoke_cflags) -DSMOKE_ISA=baseline
if X86_VARIANTS
smoke_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = $(smoke_kernel_sources)
%C%_libavx2_la_CFLAGS = $(smoke_cflags) -mavx2 -DSMOKE_ISA=avx2
%C%_libavx512_la_SOURCES = $(smoke_kernel_sources)
%C%_libavx512_la_CFLAGS = $(smoke_cflags) $(AVX512_CFLAGS) -mno-fma -DSMOKE_ISA=avx512
endif
%C%_libsmoke_la_CPPFLAGS = $(AM_CPPFLAGS) $(isa_select)
%C%_libsmoke_la_LIBADD = $(smoke_variants)
%C%_libsmoke_la_SOURCES = \
	%D%/smoke.c \
	%D%/smoke.h
