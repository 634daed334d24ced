# SPDX-License-Identifier: Apache-2.0
# Open-loop controllers of deformable bodies; variants as those of fem.
env_engine_libs += %D%/libcontrol.la $(control_variants)
%C%_libcontrol_la_CPPFLAGS = $(AM_CPPFLAGS) $(isa_select)
%C%_libcontrol_la_LIBADD = $(control_variants)
%C%_libcontrol_la_SOURCES = %D%/control.c %D%/control.h %D%/kernel.h

control_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c %D%/kernel.h
%C%_libbaseline_la_CFLAGS = $(fem_kernel_cflags) -DCONTROL_ISA=baseline -DVECTOR_LANES=2
if X86_VARIANTS
control_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c %D%/kernel.h
%C%_libavx2_la_CFLAGS = $(fem_kernel_cflags) -mavx2 -DCONTROL_ISA=avx2 -DVECTOR_LANES=4
%C%_libavx512_la_SOURCES = %D%/variant.c %D%/kernel.h
%C%_libavx512_la_CFLAGS = $(fem_kernel_cflags) $(AVX512_CFLAGS) -mno-fma -DCONTROL_ISA=avx512 -DVECTOR_LANES=8
endif
