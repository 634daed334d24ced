# SPDX-License-Identifier: Apache-2.0
# Robots: trees of rigid bodies with joints and contact (tree), their motion (motion); files (robot, urdf,
# mjcf); tasks (task).
noinst_LTLIBRARIES += %D%/libarticulated.la
%C%_libarticulated_la_CPPFLAGS = $(AM_CPPFLAGS) $(EXPAT_CFLAGS) $(INIH_CFLAGS)
%C%_libarticulated_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -finline-functions
%C%_libarticulated_la_LIBADD = plugins/envs/engines/kit/algebra/libalgebra.la plugins/envs/engines/physics/fem/libfem.la $(EXPAT_LIBS) $(INIH_LIBS)
%C%_libarticulated_la_SOURCES = \
	%D%/hull.c \
	%D%/hull.h \
	%D%/mjcf.c \
	%D%/motion.c \
	%D%/motion.h \
	%D%/robot.c \
	%D%/robot.h \
	%D%/robot_mesh.c \
	%D%/robot_parts.c \
	%D%/robot_parts.h \
	%D%/task.c \
	%D%/task.h \
	%D%/tree.c \
	%D%/tree.h \
	%D%/tree_contact.c \
	%D%/tree_contact.h \
	%D%/tree_derivatives.c \
	%D%/tree_dynamics.c \
	%D%/tree_state.c \
	%D%/tree_state.h \
	%D%/urdf.c
