# SPDX-License-Identifier: Apache-2.0
# Environments of deformable bodies: the FEM engine, compared with a target.
env_engine_libs += %D%/libsoft.la
%C%_libsoft_la_SOURCES = \
	%D%/body_variables.c \
	%D%/body_variables.h \
	%D%/soft.c \
	%D%/soft.h
%C%_libsoft_la_LIBADD = plugins/envs/engines/rendering/observation/libobservation.la plugins/envs/engines/physics/fem/libfem.la \
	plugins/envs/engines/physics/control/libcontrol.la
