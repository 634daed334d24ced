# SPDX-License-Identifier: Apache-2.0
# Tests: cmocka programs (TAP through tap-wrap.sh) and shell scripts that print TAP. A new test program is one
# word in check_PROGRAMS: its source has its name, it sees all headers and is linked with what it uses of
# test_libs.
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
	DS_HOST_CFLAGS='$(INIH_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS) $(CAIRO_CFLAGS) $(ZLIB_CFLAGS)'; \
	export DS_HOST_CFLAGS; \
	DS_HOST_LIBS='$(core_libs) $(CAIRO_LIBS) $(WEBP_LIBS) $(ZLIB_LIBS)'; export DS_HOST_LIBS; \
	CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	OPENBLAS_NUM_THREADS=1; export OPENBLAS_NUM_THREADS; \
	OMP_NUM_THREADS=1; export OMP_NUM_THREADS; \
	LC_ALL=C; export LC_ALL; TZ=UTC; export TZ;
TESTS += $(check_SCRIPTS) $(check_PROGRAMS)
# ./configure --enable-long-check adds the long tests to `make check`; else `make check-long` runs them.
if LONG_CHECK
TESTS += $(long_scripts) $(long_programs)
endif
check_SCRIPTS = $(quick_scripts)

test_cppflags = $(host_include) -I$(top_srcdir)/tests/support $(CMOCKA_CFLAGS) $(JANSSON_CFLAGS) $(SQLITE_CFLAGS) \
	$(CAIRO_CFLAGS) $(ZLIB_CFLAGS)
%D%/%.$(OBJEXT) %D%/%.lo: AM_CPPFLAGS += $(test_cppflags)
# Few test functions use their parameter `state`.
%D%/%.$(OBJEXT) %D%/%.lo: AM_CFLAGS += -Wno-unused-parameter
# Test programs spend their time in what they test: compiling them takes longer than running them.
%D%/%.$(OBJEXT): CFLAGS += -O0
methods = plugins/optimizers/methods
engines = plugins/envs/engines
test_libs = %D%/support/libtest.la $(methods)/librace.la $(methods)/libcma.la $(methods)/libsquares.la $(methods)/libbayes.la \
	$(methods)/libalpha.la $(methods)/librl.la $(methods)/libbase.la $(engines)/functions/libfunctions.la \
	$(engines)/physics/smoothing/libdistance.la $(engines)/physics/quasidynamic/libquasidynamic.la $(engines)/ffi/libforeign.la $(engines)/physics/chain/libchain.la $(engines)/physics/contact/libcontact.la \
	$(engines)/physics/penalty/libpenalty.la $(engines)/physics/cloth/libspringsscene.la $(engines)/physics/cloth/libliftenv.la $(engines)/physics/cloth/libcloth.la $(engines)/physics/soft/libsoft.la $(engines)/physics/soft/libsoftscene.la $(engines)/rendering/observation/libobserved.la \
	$(engines)/rendering/observation/libobservation.la $(engines)/physics/fem/libfem.la $(engines)/physics/control/libcontrol.la \
	$(engines)/rendering/render/librender.la $(engines)/rendering/render/libreadpng.la $(engines)/physics/mpm/libmpmscene.la $(engines)/physics/mpm/libtasks.la \
	$(engines)/physics/rigid/librigid.la $(engines)/physics/articulated/libarticulated.la $(engines)/physics/pendulum/libpendulum.la \
	$(engines)/physics/pendulum/libcompound.la $(engines)/data/librecording.la $(engines)/data/libsurface.la $(engines)/data/libscenefile.la $(engines)/physics/throw/libthrow.la $(engines)/physics/billiards/libbilliards.la $(engines)/physics/smoke/libsmoke.la \
	$(tools_link) $(CMOCKA_LIBS)

# The archives of test_libs, and what they need of the system: libtool takes a second for each program to find that out.
test_archives = $(foreach la,$(filter %.la,$(test_libs)),$(dir $(la)).libs/$(notdir $(la:.la=.a))) \
	$(filter-out %.la,$(test_libs)) $(OPENBLAS_LIBS) $(FFI_LIBS) $(EXPAT_LIBS) $(INIH_LIBS) $(PNG_LIBS)

# What several tests use.
check_LTLIBRARIES += %D%/support/libtest.la
%C%_support_libtest_la_SOURCES = %D%/fuzz/fuzz.h %D%/support/parameter_sets.c %D%/support/parameter_sets.h
if HAVE_CMOCKA
%C%_support_libtest_la_SOURCES += \
	%D%/envs/engines/physics/mpm/mpm_support.c \
	%D%/envs/engines/physics/mpm/mpm_support.h \
	%D%/envs/engines/physics/smoke/smoke_plain.c \
	%D%/envs/engines/physics/smoke/smoke_plain.h \
	%D%/envs/engines/rendering/render/render_cases.h \
	%D%/envs/engines/rendering/render/softras_plain.c \
	%D%/envs/engines/rendering/render/softras_plain.h \
	%D%/envs/engines/physics/fem/fem_plain.c \
	%D%/envs/engines/physics/fem/fem_scenes.c \
	%D%/envs/engines/physics/fem/fem_scenes.h \
	%D%/support/differences.c \
	%D%/support/differences.h \
	%D%/optimizers/methods/cma_cases.c \
	%D%/optimizers/methods/cma_cases.h \
	%D%/support/host.c \
	%D%/support/host.h \
	%D%/support/sanitizers.h \
	%D%/support/rl.c \
	%D%/support/rl.h \
	%D%/support/objective.c \
	%D%/support/objective.h \
	%D%/support/functions.h \
	%D%/support/golden.h \
	%D%/support/synthetic_scene.h \
	%D%/support/test.h \
	%D%/support/temporary.h

# In the long tests: full scenes of the engines, and runs of methods that learn.
long_programs = \
	%D%/envs/test_fluid %D%/envs/test_cloth_scenes %D%/envs/test_image_losses %D%/envs/test_soft_scenes \
	%D%/envs/test_mpm_plugins %D%/envs/test_mpm_derivatives %D%/envs/engines/physics/mpm/test_mpm_fast \
	%D%/envs/engines/physics/mpm/test_mpm_golden_fast %D%/optimizers/test_stepwise %D%/optimizers/test_rl \
	%D%/optimizers/test_leaprefine %D%/optimizers/test_racer %D%/tools/render/test_render
EXTRA_PROGRAMS += $(long_programs)
check_PROGRAMS += %D%/optimizers/test_invariance
check_PROGRAMS += \
	%D%/abi/test_abi %D%/abi/test_random %D%/core/config/test_npy %D%/core/config/test_settings \
	%D%/core/embed/test_environment %D%/core/embed/test_runner %D%/core/embed/test_search %D%/core/evaluate/test_pool \
	%D%/core/plugin/test_channels %D%/core/plugin/test_expectation %D%/core/plugin/test_instance %D%/core/run/test_queries %D%/core/run/test_isolated \
	%D%/core/scene/test_snapshot %D%/core/store/test_store
# As other programs use libdiffsim.
library_tests = %D%/core/embed/test_environment %D%/core/embed/test_runner %D%/core/embed/test_search
%C%_core_embed_test_environment_LDADD = libdiffsim.la $(test_libs)
%C%_core_embed_test_runner_LDADD = libdiffsim.la $(test_libs)
%C%_core_embed_test_search_LDADD = libdiffsim.la $(test_libs)

check_PROGRAMS += \
	%D%/tools/difference/test_finite_difference %D%/tools/exchange/test_exchange %D%/tools/exchange/test_film_files \
	%D%/tools/landscape/test_estimate %D%/tools/harness/test_check_clock %D%/tools/landscape/test_landscape \
	%D%/tools/plot/test_deflate %D%/tools/plot/test_plot %D%/tools/policy/test_policy %D%/tools/results/test_results \
	%D%/tools/stats/test_hypothesis %D%/tools/view/test_view
if HAVE_WEBP
%C%_tools_exchange_test_film_files_CPPFLAGS = $(AM_CPPFLAGS) $(WEBPDEMUX_CFLAGS) -DFILM_WEBP=1
endif

check_PROGRAMS += \
	%D%/envs/engines/physics/fem/test_fem_episode %D%/envs/engines/physics/fem/test_fem_laws \
	%D%/envs/engines/physics/fem/test_contact %D%/envs/engines/physics/fem/test_fem_mesh %D%/envs/engines/rendering/observation/test_frames \
	%D%/envs/engines/physics/mpm/test_mpm_bad %D%/envs/engines/physics/mpm/test_mpm_golden \
	%D%/envs/engines/physics/mpm/test_mpm_parts %D%/envs/engines/physics/mpm/test_mpm_sand \
	%D%/envs/engines/physics/mpm/test_mpm_sizes \
	%D%/envs/engines/physics/mpm/test_mpm_step %D%/envs/engines/neural/test_hook_points %D%/envs/engines/neural/test_networks \
	%D%/envs/engines/rendering/render/test_dibr %D%/envs/engines/rendering/render/test_render \
	%D%/envs/engines/rendering/render/test_softras %D%/envs/engines/physics/test_chain %D%/envs/engines/physics/test_cloth \
	%D%/envs/engines/physics/test_contact %D%/envs/engines/physics/test_hand %D%/envs/engines/physics/rigid/test_rigid %D%/envs/engines/physics/articulated/test_free_cube %D%/envs/engines/physics/articulated/test_robot %D%/envs/engines/physics/articulated/test_tree %D%/envs/engines/physics/test_systems \
	%D%/envs/engines/physics/smoke/test_smoke %D%/envs/test_analytic %D%/envs/test_bounce %D%/envs/test_box \
	%D%/envs/test_cartpole %D%/envs/test_env_kit %D%/envs/test_foreign %D%/envs/test_pendulum %D%/envs/test_pinball \
	%D%/envs/smoothing/test_distance %D%/envs/smoothing/test_functions %D%/envs/smoothing/test_rollouts \
	%D%/envs/test_observed_scenes %D%/envs/engines/data/test_recording %D%/envs/engines/kit/test_kit \
	%D%/envs/test_identification %D%/envs/test_lanes %D%/envs/test_robot %D%/envs/test_cube_throw %D%/envs/test_billiards
%C%_envs_engines_physics_mpm_test_mpm_golden_fast_SOURCES = %D%/envs/engines/physics/mpm/test_mpm_golden.c
%C%_envs_engines_physics_mpm_test_mpm_golden_fast_CPPFLAGS = $(AM_CPPFLAGS) -DFAST

check_PROGRAMS += \
	%D%/optimizers/methods/test_cma %D%/optimizers/methods/test_descent %D%/optimizers/methods/test_gp \
	%D%/optimizers/methods/test_mlp_loops %D%/optimizers/methods/test_products %D%/optimizers/methods/test_quad_model \
	%D%/optimizers/methods/test_race \
	%D%/optimizers/test_alphaorder %D%/optimizers/test_boleap %D%/optimizers/test_sampling %D%/optimizers/test_cmaes \
	%D%/optimizers/test_gradients %D%/optimizers/test_lm %D%/optimizers/test_opt_kit %D%/optimizers/test_turbo
if HAVE_NLOPT
check_PROGRAMS += %D%/optimizers/test_nlopt
endif
endif

# Fuzz targets. Everywhere they run on a small corpus and mutations of it; with clang and --enable-fuzzers the whole tree is
# instrumented and they are a program of libFuzzer: DS_FUZZ_TARGET=npy tests/fuzz/fuzz tests/fuzz/corpus/npy
fuzz_targets = %D%/fuzz/fuzz
%C%_fuzz_fuzz_SOURCES = %D%/fuzz/fuzz.c %D%/fuzz/fuzz_cloth.c %D%/fuzz/fuzz_data.c %D%/fuzz/fuzz_descriptor.c %D%/fuzz/fuzz_host.c \
	%D%/fuzz/fuzz_particles.c %D%/fuzz/fuzz_results.c %D%/fuzz/fuzz_soft.c %D%/fuzz/listener.h
EXTRA_DIST += %D%/fuzz/campaign.sh %D%/fuzz/corpus
if FUZZERS
%D%/fuzz/fuzz.$(OBJEXT): CPPFLAGS += -DDS_FUZZERS
noinst_PROGRAMS += $(fuzz_targets)
$(fuzz_targets): AM_LDFLAGS += -fsanitize=fuzzer
else
check_PROGRAMS += $(fuzz_targets)
endif
# Random parameters for every environment.
check_PROGRAMS += %D%/fuzz/parameters

# Plugins that misbehave, and a library that knows nothing of diffsim; built as modules but never installed.
check_LTLIBRARIES += %D%/plugins/alone.la %D%/plugins/asker.la %D%/plugins/badopt.la %D%/plugins/calls.la %D%/plugins/channels.la \
	%D%/plugins/digester.la %D%/plugins/faulty.la %D%/plugins/faulty_rl.la %D%/plugins/foreign.la \
	%D%/plugins/reporter.la %D%/plugins/rogue.la %D%/plugins/rogue_env.la %D%/plugins/saver.la %D%/plugins/scenery.la %D%/plugins/shapes.la %D%/plugins/wild.la
%C%_plugins_alone_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_calls_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_digester_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_asker_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_badopt_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_channels_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_faulty_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_faulty_rl_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_foreign_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined -rpath /nowhere
%C%_plugins_reporter_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_rogue_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_rogue_la_SOURCES = %D%/plugins/rogue.c %D%/plugins/rogue.h
%C%_plugins_rogue_env_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_rogue_env_la_SOURCES = %D%/plugins/rogue_env.c %D%/plugins/rogue.h
%C%_plugins_saver_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_scenery_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_shapes_la_LDFLAGS = $(plugin_link) -rpath /nowhere
%C%_plugins_wild_la_LDFLAGS = $(plugin_link) -rpath /nowhere

# The long scripts, which protect the host against the worst plugins, disks and records: `make check-long`, which `.ci/run` runs.
# The longest first: whoever has more jobs than processors is not left with one of them at the end.
long_scripts = \
	python/tests/package.sh \
	%D%/cli/tools/check/check_plugins.sh \
	%D%/cli/tools/check/check.sh \
	%D%/cli/plugins/examples.sh \
	%D%/cli/plugins/python_plugins.sh \
	%D%/cli/install/install.sh \
	%D%/cli/portable.sh \
	%D%/cli/plugins/fmu.sh \
	%D%/cli/tools/identify.sh \
	%D%/cli/scenes.sh \
	%D%/abi/headers.sh \
	%D%/cli/cloth_scenes.sh \
	%D%/cli/store/stored.sh \
	%D%/cli/store/outside.sh \
	%D%/cli/plugins/rogue.sh \
	%D%/cli/tools/new.sh \
	%D%/cli/tools/bench/bench.sh \
	%D%/cli/tools/report.sh \
	%D%/cli/tools/landscape.sh \
	%D%/cli/methods/rl.sh \
	%D%/cli/methods/optimizers.sh \
	%D%/cli/limits.sh \
	%D%/cli/tools/report_tables.sh \
	%D%/cli/tools/report_sets.sh \
	%D%/cli/plugins/wild.sh \
	%D%/cli/plugins/isolate_optimizer.sh \
	%D%/cli/methods/policy_gradient.sh \
	%D%/cli/methods/squares.sh \
	%D%/cli/tools/bench/bench_held.sh \
	%D%/cli/full.sh \
	%D%/cli/methods/units.sh \
	%D%/cli/tools/bench/bench_kill.sh \
	%D%/cli/tools/bench/progress.sh \
	%D%/cli/tools/landscape_kill.sh \
	%D%/abi/grow.sh \
	%D%/cli/tools/bench/mpi.sh
quick_scripts = \
	%D%/cli/plugins/plugins.sh \
	%D%/abi/exports.sh \
	%D%/cli/docs.sh \
	%D%/cli/eval.sh \
	%D%/cli/flags.sh \
	%D%/cli/ini.sh \
	%D%/cli/inputs.sh \
	%D%/cli/messages.sh \
	%D%/cli/programs.sh \
	%D%/cli/install/quickstart.sh \
	%D%/cli/methods/recordings.sh \
	%D%/cli/run.sh \
	%D%/layers.sh \
	%D%/cli/tools/tables.sh \
	%D%/cli/store/kill.sh \
	%D%/cli/store/kill_channels.sh \
	%D%/cli/store/kill_lm.sh \
	%D%/cli/store/kill_pbh.sh \
	%D%/cli/expect.sh \
	%D%/cli/fix.sh \
	%D%/cli/store/progress.sh \
	%D%/cli/methods/identification.sh \
	%D%/cli/tools/bench/bench_merge.sh \
	%D%/cli/tools/gradients.sh \
	%D%/cli/plugins/calls.sh \
	%D%/cli/plugins/channels.sh \
	%D%/cli/plugins/faults.sh \
	%D%/cli/plugins/ffi.sh \
	%D%/cli/plugins/loader.sh \
	%D%/cli/methods/optimizer_edges.sh \
	%D%/cli/plugins/own_process.sh \
	%D%/cli/tools/policy.sh \
	%D%/cli/tools/view/view.sh \
	%D%/cli/tools/view/view_files.sh \
	%D%/cli/tools/view/view_live.sh
EXTRA_DIST += $(long_scripts) $(quick_scripts) $(wide_tests)
EXTRA_DIST += %D%/cli/plugins/faulty_plugins.py %D%/support/tap-wrap.sh %D%/support/lsan.supp %D%/cli/lib.sh %D%/cli/install/conda_channel.py %D%/cli/install/pip_lib.sh %D%/cli/docs_commands.awk \
	%D%/cli/portable_cases.sh %D%/cli/tools/bench/bench_lib.sh %D%/cli/tools/view/view_readers.py \
	%D%/abi/env_grow.c %D%/abi/opt_grow.c %D%/abi/plugin_v0_1.c %D%/abi/plugin_v0_1.h %D%/abi/plugin_v0_2.c \
	%D%/abi/plugin_v0_2.h \
	%D%/bad %D%/data $(slow_scripts) %D%/cli/tools/results_slow.py core/LAYERS

# Programs and scripts that take minutes: `make check-slow`.
slow_scripts = \
	%D%/cli/install/conda_slow.sh \
	%D%/cli/install/deb_slow.sh \
	%D%/cli/install/pip_slow.sh \
	%D%/cli/install/wheel_slow.sh \
	%D%/cli/store/kill_every_slow.sh \
	%D%/cli/methods/control_slow.sh \
	%D%/cli/methods/optimizers_slow.sh \
	%D%/cli/methods/orders_slow.sh \
	%D%/cli/methods/recordings_slow.sh \
	%D%/cli/methods/robots_slow.sh \
	%D%/cli/methods/sources_slow.sh \
	%D%/cli/portable_slow.sh \
	%D%/cli/install/install_slow.sh \
	%D%/cli/tools/bench/bench_kill_slow.sh \
	%D%/cli/tools/check/check_gradients_slow.sh \
	%D%/cli/tools/bench/mpi_slow.sh \
	%D%/cli/tools/view/pages_browser_slow.sh \
	%D%/cli/tools/view/view_readers_slow.sh \
	%D%/cli/tools/view/view_browser_slow.sh \
	%D%/cli/tools/identify_slow.sh \
	%D%/cli/tools/results_slow.sh
SLOW_TESTS = \
	%D%/envs/test_box_slow %D%/envs/engines/physics/fem/test_fem_episode_slow %D%/optimizers/methods/test_cma_slow \
	%D%/envs/test_pinball_slow %D%/optimizers/slow_bo %D%/envs/engines/physics/mpm/test_mpm_golden_slow \
	%D%/envs/engines/physics/mpm/test_mpm_tables %D%/envs/engines/physics/mpm/test_mpm_golden_fast_slow \
	%D%/envs/engines/physics/smoke/test_smoke_slow %D%/envs/test_fluid_slow %D%/optimizers/slow_rl \
	%D%/tools/results/slow_results %D%/fuzz/parameters_slow
EXTRA_PROGRAMS += $(SLOW_TESTS)
%C%_envs_engines_physics_fem_test_fem_episode_slow_SOURCES = %D%/envs/engines/physics/fem/test_fem_episode.c
%C%_envs_engines_physics_fem_test_fem_episode_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
%C%_optimizers_methods_test_cma_slow_SOURCES = %D%/optimizers/methods/test_cma.c
%C%_optimizers_methods_test_cma_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
%C%_envs_test_box_slow_SOURCES = %D%/envs/test_box.c
%C%_envs_test_box_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
%C%_envs_test_pinball_slow_SOURCES = %D%/envs/test_pinball.c
%C%_envs_test_pinball_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
%C%_envs_engines_physics_mpm_test_mpm_golden_slow_SOURCES = %D%/envs/engines/physics/mpm/test_mpm_golden.c
%C%_envs_engines_physics_mpm_test_mpm_golden_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
%C%_envs_engines_physics_mpm_test_mpm_golden_fast_slow_SOURCES = %D%/envs/engines/physics/mpm/test_mpm_golden.c
%C%_envs_engines_physics_mpm_test_mpm_golden_fast_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW -DFAST
%C%_envs_engines_physics_smoke_test_smoke_slow_SOURCES = %D%/envs/engines/physics/smoke/test_smoke.c
%C%_envs_engines_physics_smoke_test_smoke_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
%C%_envs_test_fluid_slow_SOURCES = %D%/envs/test_fluid.c
%C%_envs_test_fluid_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
%C%_tools_results_slow_results_SOURCES = %D%/tools/results/test_results.c
%C%_tools_results_slow_results_CPPFLAGS = $(AM_CPPFLAGS) -DROWS=1000000 -DLIMIT_S=2.0
%C%_fuzz_parameters_slow_SOURCES = %D%/fuzz/parameters.c
%C%_fuzz_parameters_slow_CPPFLAGS = $(AM_CPPFLAGS) -DSLOW
test_programs = $(check_PROGRAMS) $(long_programs) $(fuzz_targets) $(SLOW_TESTS) $(BENCHMARKS)
$(test_programs): LDADD = $(test_archives)
webp_tests = %D%/tools/exchange/test_film_files
$(webp_tests): LDADD = $(test_archives) $(WEBPDEMUX_LIBS)
$(filter-out $(library_tests),$(test_programs)): private LINK = $(CCLD) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@
$(test_programs): $(filter %.la,$(test_libs))
# These try less in `make check` than with CHECK_ALL set; check_gradient.sh and languages.sh run in `make check-slow` alone.
wide_tests = \
	%D%/abi/grow.sh \
	%D%/cli/tools/check/check.sh \
	%D%/cli/tools/check/check_plugins.sh \
	%D%/cli/tools/check/check_gradient.sh \
	%D%/cli/tools/tables.sh \
	%D%/cli/plugins/examples.sh \
	%D%/cli/plugins/python_plugins.sh \
	%D%/cli/plugins/rogue.sh \
	%D%/cli/plugins/wild.sh \
	%D%/cli/plugins/languages.sh \
	%D%/cli/portable.sh \
	%D%/cli/scenes.sh \
	%D%/cli/cloth_scenes.sh \
	%D%/cli/store/stored.sh \
	%D%/cli/methods/squares.sh
wide_programs = \
	%D%/core/store/test_store %D%/envs/engines/physics/mpm/test_mpm_fast %D%/envs/smoothing/test_distance \
	%D%/envs/smoothing/test_rollouts %D%/envs/test_identification %D%/envs/test_image_losses %D%/envs/test_mpm_derivatives \
	%D%/envs/test_mpm_plugins %D%/optimizers/test_racer %D%/optimizers/test_leaprefine %D%/optimizers/methods/test_cma
check-slow: all $(check_PROGRAMS) $(long_programs) $(check_LTLIBRARIES) $(SLOW_TESTS)
	@$(AM_TESTS_ENVIRONMENT) { \
	for t in $(wide_programs); do echo "== $$t"; CHECK_ALL=1 $(SHELL) $(srcdir)/tests/support/tap-wrap.sh ./$$t; done; \
	for t in $(wide_tests); do echo "== $$t"; CHECK_ALL=1 $(SHELL) $(srcdir)/$$t || echo "not ok - $$t"; done; \
	for t in $(SLOW_TESTS); do echo "== $$t"; $(SHELL) $(srcdir)/tests/support/tap-wrap.sh ./$$t; done; \
	for t in $(slow_scripts); do echo "== $$t"; $(SHELL) $(srcdir)/$$t || echo "not ok - $$t"; done; \
	} 2>&1 | tee check-slow.log; \
	! grep -qE '^(not ok|Bail out)' check-slow.log
check-long: all
	+$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(long_programs) $(long_scripts)'
.PHONY: check-slow check-long
