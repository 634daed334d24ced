# SPDX-License-Identifier: Apache-2.0
# A cube that is thrown onto a plane: compliant contact with derivatives, impulses; kernels for many side by side.
env_engine_libs += %D%/libthrow.la $(throw_variants)
%C%_libthrow_la_LIBADD = $(throw_variants)
%C%_libthrow_la_SOURCES = \
	%D%/contact_law.c \
	%D%/contact_law.h \
	%D%/throw.c \
	%D%/throw.h \
	$(throw_kernel_headers)
throw_kernel_headers = %D%/contact_step.h %D%/contact_types.h %D%/throw_lanes.h %D%/throw_step.h

throw_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(throw_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
throw_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(throw_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(throw_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
