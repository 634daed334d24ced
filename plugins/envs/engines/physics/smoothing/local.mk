# SPDX-License-Identifier: Apache-2.0
# Small systems for the study of smoothed gradients: functions of a few variables (plain), episodes with quadratic cost
# (rollout) as environments of all controls (open_loop) or of a policy (policy), blocks on a line. libdistance: contact
# that is felt from afar, for every engine: ramps of contact forces (softness), how near bodies came (proximity).
noinst_LTLIBRARIES += %D%/libdistance.la %D%/libsmoothing.la
%C%_libdistance_la_SOURCES = %D%/softness.c %D%/softness.h
%C%_libsmoothing_la_LIBADD = %D%/libdistance.la plugins/envs/engines/kit/libkit.la
%C%_libsmoothing_la_SOURCES = \
	%D%/blocks.c \
	%D%/blocks.h \
	%D%/plain.c \
	%D%/plain.h \
	%D%/rollout.c \
	%D%/rollout.h
