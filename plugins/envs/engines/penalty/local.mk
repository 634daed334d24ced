# SPDX-License-Identifier: Apache-2.0
# A particle against planes with penalty (compliant) contact.
noinst_LTLIBRARIES += plugins/envs/engines/penalty/libpenalty.la
plugins_envs_engines_penalty_libpenalty_la_SOURCES = \
	plugins/envs/engines/penalty/penalty.h \
	plugins/envs/engines/penalty/penalty.c
