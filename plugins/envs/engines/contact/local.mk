# SPDX-License-Identifier: Apache-2.0
# A ball among boxes and walls in the plane: linear complementarity, impact, episode.
noinst_LTLIBRARIES += plugins/envs/engines/contact/libcontact.la
plugins_envs_engines_contact_libcontact_la_SOURCES = \
	plugins/envs/engines/contact/ball.h \
	plugins/envs/engines/contact/ball.c \
	plugins/envs/engines/contact/ball_adjoint.c \
	plugins/envs/engines/contact/dense.h \
	plugins/envs/engines/contact/dense.c \
	plugins/envs/engines/contact/impact.h \
	plugins/envs/engines/contact/impact.c \
	plugins/envs/engines/contact/lcp.h \
	plugins/envs/engines/contact/lcp.c \
	plugins/envs/engines/contact/shape.h \
	plugins/envs/engines/contact/shape.c
