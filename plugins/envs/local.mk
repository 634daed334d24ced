# SPDX-License-Identifier: Apache-2.0
# Environment plugins and the engines they share.

include plugins/envs/engines/functions/local.mk
include plugins/envs/engines/scene/local.mk
include plugins/envs/engines/foreign/local.mk
include plugins/envs/engines/chain/local.mk
include plugins/envs/engines/contact/local.mk
include plugins/envs/engines/penalty/local.mk
include plugins/envs/engines/cloth/local.mk

envplugin_LTLIBRARIES += plugins/envs/analytic.la
plugins_envs_analytic_la_SOURCES = plugins/envs/analytic.c
plugins_envs_analytic_la_LDFLAGS = $(plugin_link)
plugins_envs_analytic_la_LIBADD = plugins/envs/engines/functions/libfunctions.la

envplugin_LTLIBRARIES += plugins/envs/ffi.la
plugins_envs_ffi_la_SOURCES = plugins/envs/ffi.c
plugins_envs_ffi_la_LDFLAGS = $(plugin_link)
plugins_envs_ffi_la_LIBADD = plugins/envs/engines/foreign/libforeign.la plugins/envs/engines/scene/libscene.la

envplugin_LTLIBRARIES += plugins/envs/cartpole.la
plugins_envs_cartpole_la_SOURCES = plugins/envs/cartpole.c
plugins_envs_cartpole_la_LDFLAGS = $(plugin_link)
plugins_envs_cartpole_la_LIBADD = plugins/envs/engines/chain/libchain.la \
	plugins/envs/engines/scene/libscene.la
envplugin_LTLIBRARIES += plugins/envs/cartpole_gym.la
plugins_envs_cartpole_gym_la_SOURCES = plugins/envs/cartpole_gym.c
plugins_envs_cartpole_gym_la_LDFLAGS = $(plugin_link)
plugins_envs_cartpole_gym_la_LIBADD = plugins/envs/engines/scene/libscene.la
envplugin_LTLIBRARIES += plugins/envs/pendulum.la
plugins_envs_pendulum_la_SOURCES = plugins/envs/pendulum.c
plugins_envs_pendulum_la_LDFLAGS = $(plugin_link)
include plugins/envs/engines/mpm/local.mk

envplugin_LTLIBRARIES += plugins/envs/pinball.la
plugins_envs_pinball_la_SOURCES = plugins/envs/pinball.c
plugins_envs_pinball_la_LDFLAGS = $(plugin_link)
plugins_envs_pinball_la_LIBADD = plugins/envs/engines/contact/libcontact.la \
	plugins/envs/engines/scene/libscene.la

envplugin_LTLIBRARIES += plugins/envs/bounce.la
plugins_envs_bounce_la_SOURCES = plugins/envs/bounce.c
plugins_envs_bounce_la_LDFLAGS = $(plugin_link)
plugins_envs_bounce_la_LIBADD = plugins/envs/engines/penalty/libpenalty.la \
	plugins/envs/engines/scene/libscene.la

envplugin_LTLIBRARIES += plugins/envs/swing.la
plugins_envs_swing_la_SOURCES = plugins/envs/swing.c
plugins_envs_swing_la_LDFLAGS = $(plugin_link)
plugins_envs_swing_la_LIBADD = plugins/envs/engines/cloth/libcloth.la plugins/envs/engines/scene/libscene.la

envplugin_LTLIBRARIES += plugins/envs/flip.la
plugins_envs_flip_la_SOURCES = plugins/envs/flip.c
plugins_envs_flip_la_LDFLAGS = $(plugin_link)
plugins_envs_flip_la_LIBADD = plugins/envs/engines/cloth/libcloth.la plugins/envs/engines/scene/libscene.la

envplugin_LTLIBRARIES += plugins/envs/realtosim.la
plugins_envs_realtosim_la_SOURCES = plugins/envs/realtosim.c
plugins_envs_realtosim_la_LDFLAGS = $(plugin_link)
plugins_envs_realtosim_la_LIBADD = plugins/envs/engines/cloth/libcloth.la \
	plugins/envs/engines/scene/libscene.la

# Data files are also beside the plugins in a build outside the source tree (make distcheck).
plugin_data = $(dist_mpmdata_DATA) $(dist_clothdata_DATA)
all-local: plugin-data-links
plugin-data-links:
	@for f in $(plugin_data); do \
	  test -e $$f || { $(MKDIR_P) `dirname $$f` && $(LN_S) -f $(abs_srcdir)/$$f $$f; }; \
	done
mostlyclean-local:
	-for f in $(plugin_data); do test ! -L $$f || rm -f $$f; done
.PHONY: plugin-data-links
