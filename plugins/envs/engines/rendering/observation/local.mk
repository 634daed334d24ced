# SPDX-License-Identifier: Apache-2.0
# What cameras see of an episode, and how it is compared with a target.
# A plugin that links libobserved.la also links libfem.la, which has the meshes of the balls.
env_engine_libs += %D%/libobservation.la %D%/libobserved.la
%C%_libobservation_la_SOURCES = \
	%D%/cameras.c \
	%D%/cameras.h \
	%D%/comparison.c \
	%D%/comparison.h \
	%D%/frames.c \
	%D%/frames.h
%C%_libobservation_la_LIBADD = plugins/envs/engines/rendering/render/librender.la \
	plugins/envs/engines/rendering/render/libreadpng.la plugins/envs/engines/kit/libkit.la
%C%_libobserved_la_SOURCES = \
	%D%/ball_scene.c \
	%D%/ball_scene.h \
	%D%/observed.c \
	%D%/observed.h
%C%_libobserved_la_LIBADD = %D%/libobservation.la
