# SPDX-License-Identifier: Apache-2.0
# Robots: trees of rigid bodies with joints (tree/: tree, tree_state, tree_dynamics, tree_derivatives) and contact
# (tree_touch: where; tree_compliant, tree_impulse: laws; impulse_problem), their motion (motion); files (robot, urdf,
# mjcf); tasks (task).
noinst_LTLIBRARIES += %D%/libarticulated.la
%C%_libarticulated_la_CPPFLAGS = $(AM_CPPFLAGS) $(EXPAT_CFLAGS) $(INIH_CFLAGS)
%C%_libarticulated_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -finline-functions
%C%_libarticulated_la_LIBADD = plugins/envs/engines/kit/algebra/libalgebra.la plugins/envs/engines/physics/smoothing/libdistance.la plugins/envs/engines/physics/fem/libfem.la plugins/envs/engines/rendering/render/libreadpng.la $(articulated_variants) $(EXPAT_LIBS) $(INIH_LIBS)
%C%_libarticulated_la_SOURCES = \
	%D%/hull.c \
	%D%/hull.h \
	%D%/mjcf.c \
	%D%/mjcf_actuator.c \
	%D%/mjcf_attributes.c \
	%D%/mjcf_expand.c \
	%D%/mjcf_geom.c \
	%D%/mjcf_parts.h \
	%D%/motion.c \
	%D%/motion.h \
	%D%/motion_lanes.h \
	%D%/robot.c \
	%D%/robot.h \
	%D%/robot_mesh.c \
	%D%/robot_parts.c \
	%D%/robot_parts.h \
	%D%/task.c \
	%D%/task.h \
	%D%/tree/impulse_problem.c \
	%D%/tree/impulse_problem.h \
	%D%/tree/real.h \
	%D%/tree/tree.c \
	%D%/tree/tree.h \
	%D%/tree/tree_compliant.c \
	%D%/tree/tree_compliant.h \
	%D%/tree/tree_derivatives.c \
	%D%/tree/tree_distance.c \
	%D%/tree/tree_distance.h \
	%D%/tree/tree_dynamics.c \
	%D%/tree/tree_impulse.c \
	%D%/tree/tree_impulse.h \
	%D%/tree/tree_lane.c \
	%D%/tree/tree_lane.h \
	%D%/tree/tree_meet.c \
	%D%/tree/tree_state.c \
	%D%/tree/tree_state.h \
	%D%/tree/tree_touch.c \
	%D%/tree/tree_touch.h \
	%D%/urdf.c

# Robots side by side: the kernels of real.h once more, for each instruction set.
articulated_lanes = %D%/variant.c %D%/motion.c %D%/tree/tree_state.c %D%/tree/tree_dynamics.c %D%/tree/tree_derivatives.c \
	%D%/tree/tree_lanes.c %D%/tree/tree_lanes.h
articulated_variants = %D%/libbaseline.la
noinst_LTLIBRARIES += $(articulated_variants)
%C%_libbaseline_la_SOURCES = $(articulated_lanes)
%C%_libbaseline_la_CFLAGS = $(lanes_baseline)
if X86_VARIANTS
articulated_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = $(articulated_lanes)
%C%_libavx2_la_CFLAGS = $(lanes_avx2)
%C%_libavx512_la_SOURCES = $(articulated_lanes)
%C%_libavx512_la_CFLAGS = $(lanes_avx512)
endif
