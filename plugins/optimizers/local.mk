# SPDX-License-Identifier: Apache-2.0
# Optimizer plugins, and the numerical methods that they share: each plugin links what it uses.
AM_CPPFLAGS += -I$(top_srcdir)/plugins/optimizers $(OPENBLAS_CFLAGS)

noinst_LTLIBRARIES += %D%/methods/libbase.la %D%/methods/libcma.la %D%/methods/libbayes.la \
	%D%/methods/libalpha.la %D%/methods/librace.la %D%/methods/libsquares.la %D%/methods/librl.la

%C%_methods_libbase_la_SOURCES = \
	%D%/methods/base/blas.h \
	%D%/methods/base/own.h \
	%D%/methods/base/rank.h \
	%D%/methods/base/sobol.c \
	%D%/methods/base/sobol.h \
	plugins/common/exp.h \
	plugins/common/sincos.h \
	plugins/common/isa.h \
	plugins/common/number.h \
	plugins/common/vector.h \
	plugins/common/vector_math.h

%C%_methods_libcma_la_LIBADD = $(OPENBLAS_LIBS)
%C%_methods_libcma_la_SOURCES = \
	%D%/methods/cma/cma.c \
	%D%/methods/cma/cma.h \
	%D%/methods/cma/cma_bounds.c \
	%D%/methods/cma/cma_bounds.h \
	%D%/methods/cma/cma_stop.c \
	%D%/methods/cma/cma_stop.h \
	%D%/methods/cma/quad_model.c \
	%D%/methods/cma/quad_model.h

# Bayesian optimization and what it searches with: descents, leaps, L-BFGS-B.
%C%_methods_libbayes_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS)
%C%_methods_libbayes_la_LIBADD = %D%/methods/libbase.la $(OPENBLAS_LIBS)
%C%_methods_libbayes_la_SOURCES = \
	%D%/methods/bayes/acquisition.c \
	%D%/methods/bayes/acquisition.h \
	%D%/methods/bayes/bayes_search.c \
	%D%/methods/bayes/bayes_search.h \
	%D%/methods/bayes/gp.c \
	%D%/methods/bayes/gp.h \
	%D%/methods/bayes/gp_kernel.c \
	%D%/methods/bayes/gp_kernel.h \
	%D%/methods/bayes/products.c \
	%D%/methods/bayes/products.h \
	%D%/methods/bayes/surrogate.c \
	%D%/methods/bayes/surrogate.h \
	%D%/methods/cma/cma2001.c \
	%D%/methods/cma/cma2001.h \
	%D%/methods/gradient/descent.c \
	%D%/methods/gradient/descent.h \
	%D%/methods/gradient/lbfgsb.c \
	%D%/methods/gradient/lbfgsb.h \
	%D%/methods/gradient/leap.c \
	%D%/methods/gradient/leap.h \
	%D%/methods/gradient/refine.c \
	%D%/methods/gradient/refine.h

%C%_methods_libalpha_la_SOURCES = \
	%D%/methods/gradient/alpha_gradient.c \
	%D%/methods/gradient/alpha_gradient.h \
	%D%/methods/gradient/min_norm.c \
	%D%/methods/gradient/min_norm.h

# Local searches that race.
%C%_methods_librace_la_SOURCES = %D%/methods/race/race.c \
	%D%/methods/race/race.h

# Least squares.
%C%_methods_libsquares_la_LIBADD = $(OPENBLAS_LIBS)
%C%_methods_libsquares_la_SOURCES = \
	%D%/methods/squares/levenberg.c \
	%D%/methods/squares/levenberg.h \
	%D%/methods/squares/riccati.c \
	%D%/methods/squares/riccati.h

# Stepwise control: networks and losses of ppo and sac, the policy of apg and shac.
%C%_methods_librl_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS)
%C%_methods_librl_la_LIBADD = $(OPENBLAS_LIBS)
%C%_methods_librl_la_SOURCES = \
	%D%/methods/rl/analytic_policy.c \
	%D%/methods/rl/analytic_policy.h \
	%D%/methods/rl/actor_critic.c \
	%D%/methods/rl/actor_critic.h \
	%D%/methods/rl/mlp.c \
	%D%/methods/rl/mlp.h \
	%D%/methods/rl/mlp_lanes.h \
	%D%/methods/rl/mlp_loops.c \
	%D%/methods/rl/mlp_loops.h \
	%D%/methods/rl/policy_file.c \
	%D%/methods/rl/policy_file.h \
	%D%/methods/rl/rl_settings.h \
	%D%/methods/rl/soft_actor_critic.c \
	%D%/methods/rl/soft_actor_critic.h \
	%D%/methods/rl/stepwise.c \
	%D%/methods/rl/stepwise.h

optplugin_LTLIBRARIES += %D%/adam.la %D%/alphaorder.la %D%/apg.la %D%/bo.la %D%/boleap.la %D%/cem.la %D%/cmaes.la \
	%D%/ilqr.la %D%/lbfgsb.la %D%/leaprefine.la %D%/lm.la %D%/mppi.la %D%/pbh.la %D%/ppo.la %D%/racer.la \
	%D%/rand.la %D%/randdescents.la %D%/sac.la %D%/shac.la %D%/turbo.la
%C%_adam_la_LDFLAGS = $(plugin_link)
%C%_adam_la_LIBADD = %D%/methods/libbayes.la
%C%_alphaorder_la_LDFLAGS = $(plugin_link)
%C%_alphaorder_la_LIBADD = %D%/methods/libalpha.la %D%/methods/libbase.la
%C%_apg_la_LDFLAGS = $(plugin_link)
%C%_apg_la_LIBADD = %D%/methods/librl.la %D%/methods/libbase.la
%C%_bo_la_LDFLAGS = $(plugin_link)
%C%_bo_la_LIBADD = %D%/methods/libbayes.la
%C%_boleap_la_LDFLAGS = $(plugin_link)
%C%_boleap_la_LIBADD = %D%/methods/libbayes.la
%C%_cem_la_LDFLAGS = $(plugin_link)
%C%_cem_la_LIBADD = %D%/methods/libbayes.la
%C%_cmaes_la_LDFLAGS = $(plugin_link)
%C%_cmaes_la_LIBADD = %D%/methods/libcma.la %D%/methods/libbase.la
%C%_ilqr_la_LDFLAGS = $(plugin_link)
%C%_ilqr_la_LIBADD = %D%/methods/libsquares.la %D%/methods/libbayes.la
%C%_lbfgsb_la_LDFLAGS = $(plugin_link)
%C%_lbfgsb_la_LIBADD = %D%/methods/libbayes.la
%C%_leaprefine_la_LDFLAGS = $(plugin_link)
%C%_leaprefine_la_LIBADD = %D%/methods/libbayes.la
%C%_lm_la_LDFLAGS = $(plugin_link)
%C%_lm_la_LIBADD = %D%/methods/libsquares.la %D%/methods/libbayes.la
%C%_mppi_la_LDFLAGS = $(plugin_link)
%C%_mppi_la_LIBADD = %D%/methods/libbase.la
%C%_pbh_la_LDFLAGS = $(plugin_link)
%C%_pbh_la_LIBADD = %D%/methods/libsquares.la %D%/methods/libbayes.la
%C%_ppo_la_LDFLAGS = $(plugin_link)
%C%_ppo_la_LIBADD = %D%/methods/librl.la %D%/methods/libbase.la
%C%_racer_la_LDFLAGS = $(plugin_link)
%C%_racer_la_LIBADD = %D%/methods/librace.la %D%/methods/libbayes.la %D%/methods/libcma.la
%C%_rand_la_LDFLAGS = $(plugin_link)
%C%_rand_la_LIBADD = %D%/methods/libbase.la
%C%_randdescents_la_LDFLAGS = $(plugin_link)
%C%_randdescents_la_LIBADD = %D%/methods/libbayes.la
%C%_sac_la_LDFLAGS = $(plugin_link)
%C%_sac_la_LIBADD = %D%/methods/librl.la %D%/methods/libbase.la
%C%_shac_la_LDFLAGS = $(plugin_link)
%C%_shac_la_LIBADD = %D%/methods/librl.la %D%/methods/libbase.la
%C%_turbo_la_LDFLAGS = $(plugin_link)
%C%_turbo_la_LIBADD = %D%/methods/libbayes.la

if HAVE_NLOPT
optplugin_LTLIBRARIES += %D%/nlopt.la
%C%_nlopt_la_CPPFLAGS = $(AM_CPPFLAGS) $(NLOPT_CFLAGS)
%C%_nlopt_la_LDFLAGS = $(plugin_link)
%C%_nlopt_la_LIBADD = %D%/methods/libbase.la $(NLOPT_LIBS)
endif
