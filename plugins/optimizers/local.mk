# SPDX-License-Identifier: Apache-2.0
# Optimizer plugins and the numerical methods they share.

optplugin_LTLIBRARIES += plugins/optimizers/rand.la
plugins_optimizers_rand_la_SOURCES = plugins/optimizers/rand.c \
	plugins/optimizers/methods/sobol.c plugins/optimizers/methods/sobol.h
plugins_optimizers_rand_la_LDFLAGS = $(plugin_link)

noinst_LTLIBRARIES += plugins/optimizers/methods/libcma.la
plugins_optimizers_methods_libcma_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_methods_libcma_la_LIBADD = $(OPENBLAS_LIBS)
plugins_optimizers_methods_libcma_la_SOURCES = \
	plugins/optimizers/methods/cma.c plugins/optimizers/methods/cma.h \
	plugins/optimizers/methods/cma_bounds.c plugins/optimizers/methods/cma_bounds.h \
	plugins/optimizers/methods/cma_constants.c \
	plugins/optimizers/methods/cma_restart.c plugins/optimizers/methods/cma_restart.h \
	plugins/optimizers/methods/cma_stop.c plugins/optimizers/methods/cma_stop.h \
	plugins/optimizers/methods/eigen.c plugins/optimizers/methods/eigen.h

optplugin_LTLIBRARIES += plugins/optimizers/cmaes.la
plugins_optimizers_cmaes_la_SOURCES = plugins/optimizers/cmaes.c
plugins_optimizers_cmaes_la_LDFLAGS = $(plugin_link)
plugins_optimizers_cmaes_la_LIBADD = plugins/optimizers/methods/libcma.la
# Numerics of the optimizers; each plugin links what it uses.
noinst_LTLIBRARIES += plugins/optimizers/methods/libbayes.la
plugins_optimizers_methods_libbayes_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_methods_libbayes_la_LIBADD = $(OPENBLAS_LIBS)
plugins_optimizers_methods_libbayes_la_SOURCES = \
	plugins/optimizers/methods/acquisition.c plugins/optimizers/methods/acquisition.h \
	plugins/optimizers/methods/blas.h \
	plugins/optimizers/methods/box.h \
	plugins/optimizers/methods/cma2001.c plugins/optimizers/methods/cma2001.h \
	plugins/optimizers/methods/descent.c plugins/optimizers/methods/descent.h \
	plugins/optimizers/methods/gp.c plugins/optimizers/methods/gp.h \
	plugins/optimizers/methods/gp_fit.c plugins/optimizers/methods/gp_internal.h \
	plugins/optimizers/methods/gp_sample.c \
	plugins/optimizers/methods/leap.c plugins/optimizers/methods/leap.h \
	plugins/optimizers/methods/lbfgsb.c plugins/optimizers/methods/lbfgsb.h \
	plugins/optimizers/methods/linesearch.c plugins/optimizers/methods/linesearch.h \
	plugins/optimizers/methods/multistart.c plugins/optimizers/methods/multistart.h \
	plugins/optimizers/methods/params.h \
	plugins/optimizers/methods/rank.h \
	plugins/optimizers/methods/refine.c plugins/optimizers/methods/refine.h \
	plugins/optimizers/methods/sim.c plugins/optimizers/methods/sim.h \
	plugins/optimizers/methods/sobol.c plugins/optimizers/methods/sobol.h \
	plugins/optimizers/methods/surrogate.c plugins/optimizers/methods/surrogate.h

optplugin_LTLIBRARIES += plugins/optimizers/bo.la plugins/optimizers/boleap.la
plugins_optimizers_bo_la_SOURCES = plugins/optimizers/bo.c
plugins_optimizers_bo_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_bo_la_LDFLAGS = $(plugin_link)
plugins_optimizers_bo_la_LIBADD = plugins/optimizers/methods/libbayes.la
plugins_optimizers_boleap_la_SOURCES = plugins/optimizers/boleap.c
plugins_optimizers_boleap_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_boleap_la_LDFLAGS = $(plugin_link)
plugins_optimizers_boleap_la_LIBADD = plugins/optimizers/methods/libbayes.la

# Least squares.
noinst_LTLIBRARIES += plugins/optimizers/methods/libsquares.la
plugins_optimizers_methods_libsquares_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_methods_libsquares_la_LIBADD = $(OPENBLAS_LIBS)
plugins_optimizers_methods_libsquares_la_SOURCES = \
	plugins/optimizers/methods/least_squares.c plugins/optimizers/methods/least_squares.h \
	plugins/optimizers/methods/levenberg.c plugins/optimizers/methods/levenberg.h \
	plugins/optimizers/methods/lm_params.h \
	plugins/optimizers/methods/local_solver.c plugins/optimizers/methods/local_solver.h
optplugin_LTLIBRARIES += plugins/optimizers/lm.la plugins/optimizers/pbh.la
plugins_optimizers_lm_la_SOURCES = plugins/optimizers/lm.c
plugins_optimizers_lm_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_lm_la_LDFLAGS = $(plugin_link)
plugins_optimizers_lm_la_LIBADD = plugins/optimizers/methods/libsquares.la plugins/optimizers/methods/libbayes.la
plugins_optimizers_pbh_la_SOURCES = plugins/optimizers/pbh.c
plugins_optimizers_pbh_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_pbh_la_LDFLAGS = $(plugin_link)
plugins_optimizers_pbh_la_LIBADD = plugins/optimizers/methods/libsquares.la plugins/optimizers/methods/libbayes.la
# LeapRefine, this project's own method.
optplugin_LTLIBRARIES += plugins/optimizers/leaprefine.la
plugins_optimizers_leaprefine_la_SOURCES = plugins/optimizers/leaprefine.c
plugins_optimizers_leaprefine_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_leaprefine_la_LDFLAGS = $(plugin_link)
plugins_optimizers_leaprefine_la_LIBADD = plugins/optimizers/methods/libbayes.la

# Gradient searches from random starts.
optplugin_LTLIBRARIES += plugins/optimizers/randdescents.la
plugins_optimizers_randdescents_la_SOURCES = plugins/optimizers/randdescents.c
plugins_optimizers_randdescents_la_LDFLAGS = $(plugin_link)
plugins_optimizers_randdescents_la_LIBADD = plugins/optimizers/methods/libbayes.la
optplugin_LTLIBRARIES += plugins/optimizers/adam.la
plugins_optimizers_adam_la_SOURCES = plugins/optimizers/adam.c
plugins_optimizers_adam_la_LDFLAGS = $(plugin_link)
plugins_optimizers_adam_la_LIBADD = plugins/optimizers/methods/libbayes.la
optplugin_LTLIBRARIES += plugins/optimizers/lbfgsb.la
plugins_optimizers_lbfgsb_la_SOURCES = plugins/optimizers/lbfgsb.c
plugins_optimizers_lbfgsb_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_lbfgsb_la_LDFLAGS = $(plugin_link)
plugins_optimizers_lbfgsb_la_LIBADD = plugins/optimizers/methods/libbayes.la

optplugin_LTLIBRARIES += plugins/optimizers/turbo.la
plugins_optimizers_turbo_la_SOURCES = plugins/optimizers/turbo.c
plugins_optimizers_turbo_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_turbo_la_LDFLAGS = $(plugin_link)
plugins_optimizers_turbo_la_LIBADD = plugins/optimizers/methods/libbayes.la

noinst_LTLIBRARIES += plugins/optimizers/methods/libalpha.la
plugins_optimizers_methods_libalpha_la_SOURCES = \
	plugins/optimizers/methods/alpha_gradient.c plugins/optimizers/methods/alpha_gradient.h
optplugin_LTLIBRARIES += plugins/optimizers/alphaorder.la
plugins_optimizers_alphaorder_la_SOURCES = plugins/optimizers/alphaorder.c plugins/optimizers/methods/sim.c
plugins_optimizers_alphaorder_la_LDFLAGS = $(plugin_link)
plugins_optimizers_alphaorder_la_LIBADD = plugins/optimizers/methods/libalpha.la

if HAVE_NLOPT
optplugin_LTLIBRARIES += plugins/optimizers/nlopt.la
plugins_optimizers_nlopt_la_SOURCES = plugins/optimizers/nlopt.c plugins/optimizers/methods/sim.c
plugins_optimizers_nlopt_la_CPPFLAGS = $(AM_CPPFLAGS) $(NLOPT_CFLAGS)
plugins_optimizers_nlopt_la_LDFLAGS = $(plugin_link)
plugins_optimizers_nlopt_la_LIBADD = $(NLOPT_LIBS)
endif

# Stepwise control: networks and losses of ppo and sac.
noinst_LTLIBRARIES += plugins/optimizers/methods/librl.la
plugins_optimizers_methods_librl_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_methods_librl_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS)
plugins_optimizers_methods_librl_la_LIBADD = $(OPENBLAS_LIBS)
plugins_optimizers_methods_librl_la_SOURCES = \
	plugins/optimizers/methods/actor_critic.c plugins/optimizers/methods/actor_critic.h \
	plugins/optimizers/methods/float_adam.c plugins/optimizers/methods/float_adam.h \
	plugins/optimizers/methods/mlp.c plugins/optimizers/methods/mlp.h \
	plugins/optimizers/methods/mlp_loops.c plugins/optimizers/methods/mlp_loops.h \
	plugins/optimizers/methods/replay_buffer.c plugins/optimizers/methods/replay_buffer.h \
	plugins/optimizers/methods/rl_settings.h \
	plugins/optimizers/methods/rollout.c plugins/optimizers/methods/rollout.h \
	plugins/optimizers/methods/running_moments.h \
	plugins/optimizers/methods/soft_actor_critic.c plugins/optimizers/methods/soft_actor_critic.h \
	plugins/optimizers/methods/stepwise.c plugins/optimizers/methods/stepwise.h
optplugin_LTLIBRARIES += plugins/optimizers/ppo.la plugins/optimizers/sac.la
plugins_optimizers_ppo_la_SOURCES = plugins/optimizers/ppo.c
plugins_optimizers_ppo_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_ppo_la_LDFLAGS = $(plugin_link)
plugins_optimizers_ppo_la_LIBADD = plugins/optimizers/methods/librl.la
plugins_optimizers_sac_la_SOURCES = plugins/optimizers/sac.c
plugins_optimizers_sac_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
plugins_optimizers_sac_la_LDFLAGS = $(plugin_link)
plugins_optimizers_sac_la_LIBADD = plugins/optimizers/methods/librl.la
