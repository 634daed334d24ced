# SPDX-License-Identifier: Apache-2.0
# A pole on a cart, as CartPole-v1; kernels for many of them side by side.
env_engine_libs += %D%/libbalance.la $(balance_variants)
%C%_libbalance_la_LIBADD = $(balance_variants)
%C%_libbalance_la_SOURCES = %D%/balance.h $(balance_kernel_headers)
balance_kernel_headers = %D%/balance_step.h

balance_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(balance_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
balance_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(balance_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(balance_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
