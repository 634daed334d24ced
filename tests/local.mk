# SPDX-License-Identifier: Apache-2.0
# Tests: cmocka programs (TAP through tap-wrap.sh) and shell scripts that print TAP. A new test program is one word
# in check_PROGRAMS: its source has its name, it sees all headers and is linked with what it uses of test_libs.
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/support/tap-wrap.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	DS_SHARED=$${DS_SHARED-$(abs_top_srcdir)/../shared}; export DS_SHARED; \
	DS_TOP_SRC=$(abs_top_srcdir); export DS_TOP_SRC; \
	DS_TOP_BUILD=$(abs_top_builddir); export DS_TOP_BUILD; \
	DS_CC='$(CC)'; export DS_CC; \
	DS_SANITIZE='$(DS_SANITIZE)'; export DS_SANITIZE; \
	CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	OPENBLAS_NUM_THREADS=1; export OPENBLAS_NUM_THREADS; \
	OMP_NUM_THREADS=1; export OMP_NUM_THREADS; \
	LC_ALL=C; export LC_ALL; TZ=UTC; export TZ;
TESTS += $(check_PROGRAMS) $(check_SCRIPTS)
check_SCRIPTS = $(dist_check_SCRIPTS)

tests/%.$(OBJEXT) tests/%.lo: AM_CPPFLAGS += $(host_include) \
	-I$(top_srcdir)/plugins/envs/engines -I$(top_srcdir)/plugins/envs/engines/mpm \
	-I$(top_srcdir)/plugins/optimizers -I$(top_srcdir)/tests/support \
	$(CMOCKA_CFLAGS) $(JANSSON_CFLAGS) $(SQLITE_CFLAGS) $(CAIRO_CFLAGS) $(ZLIB_CFLAGS)
test_libs = tests/support/libtest.la $(method_libs) $(engine_libs) tools/libtools.la core/libcore.la \
	$(tools_libs) $(CMOCKA_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(CAIRO_LIBS) $(ZLIB_LIBS)
method_libs = plugins/optimizers/methods/libcma.la plugins/optimizers/methods/libsquares.la \
	plugins/optimizers/methods/libbayes.la plugins/optimizers/methods/libalpha.la \
	plugins/optimizers/methods/librl.la
engine_libs = plugins/envs/engines/functions/libfunctions.la plugins/envs/engines/foreign/libforeign.la \
	plugins/envs/engines/chain/libchain.la plugins/envs/engines/contact/libcontact.la \
	plugins/envs/engines/penalty/libpenalty.la plugins/envs/engines/cloth/libcloth.la \
	plugins/envs/engines/mpm/libtasks.la
LDADD = $(test_libs)

# What several tests use.
check_LTLIBRARIES += tests/support/libtest.la
tests_support_libtest_la_SOURCES = tests/fuzz/fuzz.h tests/fuzz/parameter_sets.c tests/fuzz/parameter_sets.h
if !FUZZERS
tests_support_libtest_la_SOURCES += tests/fuzz/replay.c
endif
if HAVE_CMOCKA
tests_support_libtest_la_SOURCES += \
	tests/envs/engines/mpm/mpm_random.h tests/envs/engines/mpm/mpm_support.c \
	tests/envs/engines/mpm/mpm_support.h tests/support/rigid_cases.c tests/support/rigid_cases.h \
	tests/optimizers/methods/cma_cases.c tests/optimizers/methods/cma_cases.h \
	tests/optimizers/optimizer_cases.c tests/optimizers/optimizer_cases.h \
	tests/support/host.c tests/support/host.h \
	tests/support/rl.c tests/support/rl.h tests/support/objective.c \
	tests/support/objective.h tests/support/functions.h tests/support/golden.h \
	tests/support/synthetic_scene.h tests/support/temporary.h

check_PROGRAMS += \
	tests/abi/test_abi tests/abi/test_random tests/core/config/test_npy tests/core/config/test_params \
	tests/core/config/test_settings tests/core/embed/test_search tests/core/evaluate/test_finite_difference \
	tests/core/evaluate/test_pool tests/core/plugin/test_instance tests/core/scene/test_snapshot \
	tests/core/store/test_store
# As other programs use libdiffsim.
tests_core_embed_test_search_LDADD = libdiffsim.la $(test_libs)

check_PROGRAMS += \
	tests/tools/landscape/test_landscape tests/tools/landscape/test_landscape_slice \
	tests/tools/plot/test_plot_groups tests/tools/plot/test_plot_map tests/tools/render/test_render \
	tests/tools/results/test_results tests/tools/stats/test_hypothesis

check_PROGRAMS += \
	tests/envs/engines/mpm/test_mpm_bad tests/envs/engines/mpm/test_mpm_fast \
	tests/envs/engines/mpm/test_mpm_golden tests/envs/engines/mpm/test_mpm_golden_fast \
	tests/envs/engines/mpm/test_mpm_laws tests/envs/engines/mpm/test_mpm_parts \
	tests/envs/engines/mpm/test_mpm_step tests/envs/engines/mpm/test_mpm_tools \
	tests/envs/engines/test_bbob tests/envs/engines/test_chain tests/envs/engines/test_cloth \
	tests/envs/engines/test_contact tests/envs/test_analytic tests/envs/test_bounce \
	tests/envs/test_cartpole tests/envs/test_cartpole_gym tests/envs/test_cloth_scenes tests/envs/test_fluid \
	tests/envs/test_foreign tests/envs/test_mpm_plugins tests/envs/test_pendulum tests/envs/test_pinball
tests_envs_engines_mpm_test_mpm_golden_fast_SOURCES = tests/envs/engines/mpm/test_mpm_golden.c
tests_envs_engines_mpm_test_mpm_golden_fast_CPPFLAGS = $(AM_CPPFLAGS) -DFAST

check_PROGRAMS += \
	tests/optimizers/methods/test_acquisition tests/optimizers/methods/test_cma \
	tests/optimizers/methods/test_cma_evals tests/optimizers/methods/test_descent \
	tests/optimizers/methods/test_gp tests/optimizers/methods/test_lbfgsb \
	tests/optimizers/methods/test_mlp_loops tests/optimizers/methods/test_surrogate \
	tests/optimizers/test_alphaorder tests/optimizers/test_boleap tests/optimizers/test_cmaes \
	tests/optimizers/test_gradients tests/optimizers/test_leaprefine tests/optimizers/test_lm \
	tests/optimizers/test_rand tests/optimizers/test_rl tests/optimizers/test_stepwise \
	tests/optimizers/test_turbo
if HAVE_NLOPT
check_PROGRAMS += tests/optimizers/test_nlopt
endif
endif

# Fuzz targets. Everywhere they run on a small corpus and mutations of it; with clang and --enable-fuzzers the whole
# tree is instrumented and they are programs of libFuzzer: tests/fuzz/fuzz_npy tests/fuzz/corpus/npy
fuzz_targets = tests/fuzz/fuzz_bench tests/fuzz/fuzz_descriptor tests/fuzz/fuzz_elf tests/fuzz/fuzz_ini \
	tests/fuzz/fuzz_npy tests/fuzz/fuzz_set tests/fuzz/fuzz_slice tests/fuzz/fuzz_snapshot \
	tests/fuzz/fuzz_text_array tests/fuzz/fuzz_trajectory
EXTRA_DIST += tests/fuzz/corpus
if FUZZERS
noinst_PROGRAMS += $(fuzz_targets)
$(fuzz_targets): AM_LDFLAGS += -fsanitize=fuzzer
else
check_PROGRAMS += $(fuzz_targets)
endif
# Random parameters for every environment.
check_PROGRAMS += tests/fuzz/parameters

# Plugins that misbehave, and a library that knows nothing of diffsim; built as modules but never installed.
check_LTLIBRARIES += tests/plugins/badopt.la tests/plugins/faulty.la tests/plugins/faulty_rl.la \
	tests/plugins/foreign.la tests/plugins/shapes.la
tests_plugins_badopt_la_LDFLAGS = $(plugin_link) -rpath /nowhere
tests_plugins_badopt_la_LIBADD =
tests_plugins_faulty_la_LDFLAGS = $(plugin_link) -rpath /nowhere
tests_plugins_faulty_rl_la_LDFLAGS = $(plugin_link) -rpath /nowhere
tests_plugins_foreign_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined -rpath /nowhere
tests_plugins_shapes_la_LDFLAGS = $(plugin_link) -rpath /nowhere

dist_check_SCRIPTS = tests/layers.sh \
	tests/abi/headers.sh tests/cli/docs.sh tests/cli/eval.sh tests/cli/examples.sh tests/cli/faults.sh \
	tests/cli/ffi.sh tests/cli/flags.sh tests/cli/ini.sh tests/cli/inputs.sh tests/cli/kill.sh \
	tests/cli/kill_lm.sh tests/cli/kill_pbh.sh tests/cli/loader.sh tests/cli/optimizer_edges.sh \
	tests/cli/optimizers.sh tests/cli/plugins.sh tests/cli/rl.sh tests/cli/run.sh tests/cli/squares.sh \
	tests/cli/tools/bench.sh tests/cli/tools/bench_held.sh tests/cli/tools/bench_kill.sh \
	tests/cli/tools/bench_merge.sh tests/cli/tools/check.sh tests/cli/tools/check_plugins.sh \
	tests/cli/tools/landscape.sh tests/cli/tools/landscape_kill.sh tests/cli/tools/mpi.sh \
	tests/cli/tools/report.sh tests/cli/tools/report_sets.sh
EXTRA_DIST += core/LAYERS tests/support/tap-wrap.sh tests/support/lsan.supp tests/cli/lib.sh tests/cli/tools/bench_lib.sh \
	tests/abi/plugin_v0_1.c tests/abi/plugin_v0_1.h tests/bad $(slow_scripts)

# Programs and scripts that take minutes: `make check-slow`.
slow_scripts = tests/cli/kill_slow.sh tests/cli/optimizers_slow.sh tests/cli/orders_slow.sh \
	tests/cli/tools/bench_kill_slow.sh tests/cli/tools/check_plugins_slow.sh tests/cli/tools/mpi_slow.sh
SLOW_TESTS = tests/optimizers/methods/test_cma_evals_slow tests/envs/test_pinball_slow tests/optimizers/slow_bo \
	tests/envs/engines/mpm/test_mpm_golden_slow tests/envs/engines/mpm/test_mpm_tables \
	tests/envs/engines/mpm/test_mpm_gradient tests/envs/engines/mpm/test_mpm_golden_fast_slow \
	tests/envs/test_fluid_slow tests/optimizers/slow_rl tests/tools/results/slow_results \
	tests/fuzz/parameters_slow
EXTRA_PROGRAMS += $(SLOW_TESTS)
tests_optimizers_methods_test_cma_evals_slow_SOURCES = tests/optimizers/methods/test_cma_evals.c
tests_optimizers_methods_test_cma_evals_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
tests_envs_test_pinball_slow_SOURCES = tests/envs/test_pinball.c
tests_envs_test_pinball_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
tests_envs_engines_mpm_test_mpm_golden_slow_SOURCES = tests/envs/engines/mpm/test_mpm_golden.c
tests_envs_engines_mpm_test_mpm_golden_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
tests_envs_engines_mpm_test_mpm_golden_fast_slow_SOURCES = tests/envs/engines/mpm/test_mpm_golden.c
tests_envs_engines_mpm_test_mpm_golden_fast_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW -DFAST
tests_envs_test_fluid_slow_SOURCES = tests/envs/test_fluid.c
tests_envs_test_fluid_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
tests_tools_results_slow_results_SOURCES = tests/tools/results/test_results.c
tests_tools_results_slow_results_CPPFLAGS = $(AM_CPPFLAGS) -DROWS=1000000 -DLIMIT_S=2.0
tests_fuzz_parameters_slow_SOURCES = tests/fuzz/parameters.c
tests_fuzz_parameters_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
check-slow: all $(check_PROGRAMS) $(check_LTLIBRARIES) $(SLOW_TESTS)
	@$(AM_TESTS_ENVIRONMENT) { \
	for t in $(SLOW_TESTS); do echo "== $$t"; $(SHELL) $(srcdir)/tests/support/tap-wrap.sh ./$$t; done; \
	for t in $(slow_scripts); do echo "== $$t"; $(SHELL) $(srcdir)/$$t || echo "not ok - $$t"; done; \
	} 2>&1 | tee check-slow.log; \
	! grep -qE '^(not ok|Bail out)' check-slow.log
.PHONY: check-slow
