# SPDX-License-Identifier: Apache-2.0
# Environments of deformable bodies: the FEM engine, compared with a target.
env_engine_libs += %D%/libsoft.la
%C%_libsoft_la_SOURCES = \
	%D%/body_variables.c \
	%D%/body_variables.h \
	%D%/loads.c \
	%D%/loads.h \
	%D%/materials.c \
	%D%/materials.h \
	%D%/node_net.c \
	%D%/node_net.h \
	%D%/pose.c \
	%D%/pose.h \
	%D%/shape.c \
	%D%/shape.h \
	%D%/slots.c \
	%D%/slots.h \
	%D%/soft.c \
	%D%/soft.h \
	%D%/variable_types.h
%C%_libsoft_la_LIBADD = plugins/envs/engines/rendering/observation/libobservation.la plugins/envs/engines/physics/fem/libfem.la \
	plugins/envs/engines/physics/control/libcontrol.la plugins/envs/engines/kit/algebra/libalgebra.la

# The same from a scene file.
env_engine_libs += %D%/libsoftscene.la
%C%_libsoftscene_la_SOURCES = \
	%D%/scene/setup.c \
	%D%/scene/setup.h \
	%D%/scene/setup_bodies.c \
	%D%/scene/setup_bodies.h \
	%D%/scene/setup_cloth.c \
	%D%/scene/setup_contact.c \
	%D%/scene/setup_numbers.c \
	%D%/scene/setup_numbers.h \
	%D%/scene/setup_recorded.c \
	%D%/scene/setup_surface.c \
	%D%/scene/soft_scene.h
%C%_libsoftscene_la_LIBADD = %D%/libsoft.la plugins/envs/engines/data/libscenefile.la plugins/envs/engines/data/librecording.la \
	plugins/envs/engines/data/libsurfacecore.la plugins/envs/engines/data/libdistancegrid.la
