# SPDX-License-Identifier: Apache-2.0
# A planar chain of links on a cart; kernels for many of them side by side.
env_engine_libs += %D%/libchain.la $(chain_variants)
%C%_libchain_la_LIBADD = $(chain_variants)
%C%_libchain_la_SOURCES = %D%/chain.h %D%/chain.c $(chain_kernel_headers)
chain_kernel_headers = %D%/chain_law.h %D%/chain_step.h

chain_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(chain_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
chain_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(chain_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(chain_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
