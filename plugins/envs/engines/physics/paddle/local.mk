# SPDX-License-Identifier: Apache-2.0
# A ball and a paddle; kernels for many of them side by side.
env_engine_libs += %D%/libpaddle.la $(paddle_variants)
%C%_libpaddle_la_LIBADD = $(paddle_variants)
%C%_libpaddle_la_SOURCES = %D%/paddle.h $(paddle_kernel_headers)
paddle_kernel_headers = %D%/paddle_step.h

paddle_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(paddle_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
paddle_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(paddle_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(paddle_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
