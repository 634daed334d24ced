# SPDX-License-Identifier: Apache-2.0
# Environments of deformable bodies: the FEM engine, watched.
env_engine_libs += %D%/libsoft.la
%C%_libsoft_la_SOURCES = \
	%D%/quantity.h \
	%D%/quantity.c \
	%D%/quantity_internal.h \
	%D%/quantity_pick.c \
	%D%/quantity_pose.c \
	%D%/soft.h \
	%D%/soft.c
%C%_libsoft_la_LIBADD = plugins/envs/engines/rendering/film/libfilm.la plugins/envs/engines/physics/fem/libfem.la \
	plugins/envs/engines/physics/control/libcontrol.la
