# SPDX-License-Identifier: Apache-2.0
# A particle against planes with penalty (compliant) contact; kernels for many of them side by side.
env_engine_libs += %D%/libpenalty.la $(penalty_variants)
%C%_libpenalty_la_LIBADD = $(penalty_variants) plugins/envs/engines/physics/smoothing/libdistance.la
%C%_libpenalty_la_SOURCES = %D%/penalty.h %D%/penalty.c $(penalty_kernel_headers)
penalty_kernel_headers = %D%/penalty_law.h

penalty_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(penalty_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
penalty_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(penalty_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(penalty_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
