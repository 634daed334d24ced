# SPDX-License-Identifier: Apache-2.0
# A rod that turns under a torque; kernels for many of them side by side.
env_engine_libs += %D%/librod.la $(rod_variants)
%C%_librod_la_LIBADD = $(rod_variants)
%C%_librod_la_SOURCES = %D%/rod.h $(rod_kernel_headers)
rod_kernel_headers = %D%/rod_step.h

rod_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(rod_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
rod_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(rod_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(rod_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
