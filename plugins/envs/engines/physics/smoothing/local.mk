# SPDX-License-Identifier: Apache-2.0
# Small systems for the study of smoothed gradients: functions of a few variables (plain), episodes with quadratic cost
# (rollout) as environments of all controls (open_loop, open_steps) or of a policy (policy), blocks on a line. libdistance: contact
# that is felt from afar, for every engine: ramps of contact forces (softness), how near bodies came (proximity).
noinst_LTLIBRARIES += %D%/libdistance.la %D%/libsmoothing.la
%C%_libdistance_la_SOURCES = %D%/softness.c %D%/softness.h
%C%_libsmoothing_la_LIBADD = %D%/libdistance.la plugins/envs/engines/kit/libkit.la $(open_variants)
%C%_libsmoothing_la_SOURCES = \
	%D%/blocks.c \
	%D%/blocks.h \
	%D%/box_field.h \
	%D%/open_steps.c \
	%D%/plain.c \
	%D%/plain.h \
	%D%/rollout.c \
	%D%/rollout.h \
	%D%/sliding_box.c \
	%D%/sliding_box.h \
	$(open_kernel_headers)
open_kernel_headers = %D%/open_lanes.h %D%/open_step.h

noinst_LTLIBRARIES += $(open_variants)
open_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = %D%/variant.c $(open_kernel_headers)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
open_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = %D%/variant.c $(open_kernel_headers)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = %D%/variant.c $(open_kernel_headers)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
