# SPDX-License-Identifier: Apache-2.0
# Planar chain of links on a cart.
noinst_LTLIBRARIES += plugins/envs/engines/chain/libchain.la
plugins_envs_engines_chain_libchain_la_SOURCES = \
	plugins/envs/engines/chain/chain.h \
	plugins/envs/engines/chain/chain.c
