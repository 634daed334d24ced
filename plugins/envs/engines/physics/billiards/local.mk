# SPDX-License-Identifier: Apache-2.0
# Balls that push each other; kernels for many tables side by side.
env_engine_libs += %D%/libbilliards.la $(billiards_variants)
%C%_libbilliards_la_LIBADD = $(billiards_variants)
%C%_libbilliards_la_SOURCES = %D%/billiards.h %D%/billiards.c $(billiards_kernel_headers)
billiards_kernel_headers = %D%/billiards_step.h

billiards_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(billiards_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
billiards_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(billiards_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(billiards_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
