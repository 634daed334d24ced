# SPDX-License-Identifier: Apache-2.0
# Small systems for the study of smoothed gradients: functions of a few variables (plain), ramps of contact forces
# (softness), episodes with quadratic cost (rollout) as environments of all controls (open_loop) or of a policy
# (policy), blocks on a line.
noinst_LTLIBRARIES += %D%/libsmoothing.la
%C%_libsmoothing_la_LIBADD = plugins/envs/engines/kit/libkit.la
%C%_libsmoothing_la_SOURCES = %D%/blocks.c %D%/blocks.h %D%/open_loop.c %D%/open_loop.h %D%/plain.c \
	%D%/plain.h %D%/policy.c %D%/policy.h %D%/rollout.c %D%/rollout.h %D%/rounded.h %D%/softness.c %D%/softness.h \
	%D%/sources.h
