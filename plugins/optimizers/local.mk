# SPDX-License-Identifier: Apache-2.0
# Optimizer plugins and the numerical methods they share.

optplugin_LTLIBRARIES += plugins/optimizers/rand.la
plugins_optimizers_rand_la_SOURCES = plugins/optimizers/rand.c
plugins_optimizers_rand_la_LDFLAGS = $(plugin_link)
