# SPDX-License-Identifier: Apache-2.0
# The core (loader, parameters, worker pool, run engine, store, pictures) and what stands on it: the dshost command
# line, and libdiffsim for other programs.
host_include = -I$(top_srcdir)/core -I$(top_srcdir)/tools \
	-I$(top_srcdir)/core/base \
	-I$(top_srcdir)/core/config \
	-I$(top_srcdir)/core/plugin \
	-I$(top_srcdir)/core/scene \
	-I$(top_srcdir)/core/worker \
	-I$(top_srcdir)/core/evaluate \
	-I$(top_srcdir)/core/store \
	-I$(top_srcdir)/core/run \
	-I$(top_srcdir)/core/embed \
	-I$(top_srcdir)/core/cli \
	-I$(top_srcdir)/tools/stats \
	-I$(top_srcdir)/tools/plot \
	-I$(top_srcdir)/tools/render \
	-I$(top_srcdir)/tools/results \
	-I$(top_srcdir)/tools/eval \
	-I$(top_srcdir)/tools/report \
	-I$(top_srcdir)/tools/landscape \
	-I$(top_srcdir)/tools/bench \
	-I$(top_srcdir)/tools/merge \
	-I$(top_srcdir)/tools/ranks \
	-I$(top_srcdir)/tools/check
noinst_LTLIBRARIES += core/libcore.la
core_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) $(INIH_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS) $(CAIRO_CFLAGS) \
	$(ZLIB_CFLAGS) -DDS_PLUGINDIR='"$(plugindir)"' -DDS_MODULEDIR='"$(modulesdir)"'
core_libcore_la_LIBADD = $(INIH_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(CAIRO_LIBS) $(ZLIB_LIBS)
core_libcore_la_SOURCES =
core_libcore_la_SOURCES += tools/results/compare.c tools/results/compare.h
core_libcore_la_SOURCES += tools/plot/plot_groups.c tools/plot/plot_groups.h
core_libcore_la_SOURCES += tools/plot/plot_lines.c tools/plot/plot_lines.h
core_libcore_la_SOURCES += tools/report/report.c tools/report/report.h
core_libcore_la_SOURCES += tools/report/report_csv.c tools/report/report_csv.h
core_libcore_la_SOURCES += tools/report/report_html.c tools/report/report_html.h
core_libcore_la_SOURCES += tools/report/report_settings.c tools/report/report_settings.h
core_libcore_la_SOURCES += tools/report/report_figures.c tools/report/report_figures.h
core_libcore_la_SOURCES += tools/report/report_page.c tools/report/report_page.h
core_libcore_la_SOURCES += tools/report/report_pictures.c tools/report/report_pictures.h
core_libcore_la_SOURCES += tools/report/report_table.c tools/report/report_table.h
core_libcore_la_SOURCES += tools/stats/aggregate.c tools/stats/aggregate.h
core_libcore_la_SOURCES += tools/stats/distribution.c tools/stats/distribution.h
core_libcore_la_SOURCES += tools/stats/hypothesis.c tools/stats/hypothesis.h
core_libcore_la_SOURCES += tools/stats/sample.c tools/stats/sample.h
core_libcore_la_SOURCES += core/cli/arguments.c core/cli/arguments.h
core_libcore_la_SOURCES += tools/bench/bench_file.c tools/bench/bench_file.h
core_libcore_la_SOURCES += tools/bench/bench_held.c
core_libcore_la_SOURCES += tools/bench/bench_lines.c tools/bench/bench_lines.h
core_libcore_la_SOURCES += tools/bench/bench_loop.c tools/bench/bench_loop.h
core_libcore_la_SOURCES += tools/merge/bench_merge.c tools/merge/bench_merge.h
core_libcore_la_SOURCES += tools/bench/bench_plan.c tools/bench/bench_plan.h
core_libcore_la_SOURCES += tools/bench/bench_progress.c
core_libcore_la_SOURCES += tools/merge/bench_same.c
core_libcore_la_SOURCES += tools/bench/bench_state.c tools/bench/bench_state.h
core_libcore_la_SOURCES += tools/bench/bench_sweep.c
core_libcore_la_SOURCES += tools/bench/bench_trial.c tools/bench/bench_trial.h
core_libcore_la_SOURCES += tools/bench/bench_work.c tools/bench/bench_work.h
core_libcore_la_SOURCES += tools/bench/bench_write.c
core_libcore_la_SOURCES += tools/eval/best_picture.c tools/eval/best_picture.h
core_libcore_la_SOURCES += core/embed/embed.c core/embed/embed.h
core_libcore_la_SOURCES += core/embed/environment.c
core_libcore_la_SOURCES += core/embed/search.c core/embed/search_internal.h
core_libcore_la_SOURCES += tools/bench/bench_own.c tools/bench/bench_own.h
core_libcore_la_SOURCES += tools/plot/canvas.c tools/plot/canvas.h
core_libcore_la_SOURCES += tools/check/check_env.c
core_libcore_la_SOURCES += tools/check/check_episodes.c tools/check/check_watch.h
core_libcore_la_SOURCES += tools/check/check_eval.c
core_libcore_la_SOURCES += tools/check/check_extensions.c
core_libcore_la_SOURCES += tools/check/check_gradient.c
core_libcore_la_SOURCES += tools/check/check_guard.c tools/check/check_guard.h
core_libcore_la_SOURCES += tools/check/check_host.c tools/check/check_host.h
core_libcore_la_SOURCES += tools/check/check_instance.c
core_libcore_la_SOURCES += tools/check/check_load.c
core_libcore_la_SOURCES += tools/check/check_opt.c
core_libcore_la_SOURCES += tools/check/check_problem.c tools/check/check_problem.h
core_libcore_la_SOURCES += tools/check/check_process.c tools/check/check_process.h
core_libcore_la_SOURCES += tools/check/check_pure.c
core_libcore_la_SOURCES += tools/check/check_record.c
core_libcore_la_SOURCES += tools/check/check_report.c tools/check/check_report.h
core_libcore_la_SOURCES += tools/check/check_rl.c
core_libcore_la_SOURCES += tools/check/check_run.c
core_libcore_la_SOURCES += tools/check/check_scene.c
core_libcore_la_SOURCES += tools/check/check_search.c
core_libcore_la_SOURCES += core/worker/childlog.c core/worker/childlog.h
core_libcore_la_SOURCES += core/worker/crew.c core/worker/crew.h
core_libcore_la_SOURCES += core/worker/crew_start.c
core_libcore_la_SOURCES += core/plugin/describe.c core/plugin/describe.h
core_libcore_la_SOURCES += core/evaluate/difference.c core/evaluate/difference.h
core_libcore_la_SOURCES += core/plugin/elf_file.c core/plugin/elf_file.h
core_libcore_la_SOURCES += core/plugin/episode.c core/plugin/episode.h
core_libcore_la_SOURCES += core/evaluate/episode_pool.c core/evaluate/episode_pool.h
core_libcore_la_SOURCES += core/store/episode_store.c core/store/episode_store.h
core_libcore_la_SOURCES += core/worker/episode_worker.c core/worker/episode_worker.h
core_libcore_la_SOURCES += core/run/episodes.c core/run/episodes.h
core_libcore_la_SOURCES += core/base/error.c core/base/error.h
core_libcore_la_SOURCES += tools/results/export.c tools/results/export.h
core_libcore_la_SOURCES += tools/results/export_bench.c
core_libcore_la_SOURCES += tools/results/export_table.c
core_libcore_la_SOURCES += core/base/file.c core/base/file.h
core_libcore_la_SOURCES += core/store/folder.c core/store/folder.h
core_libcore_la_SOURCES += core/worker/guard.c core/worker/guard.h
core_libcore_la_SOURCES += core/config/inifile.c core/config/inifile.h
core_libcore_la_SOURCES += core/plugin/instance.c core/plugin/instance.h
core_libcore_la_SOURCES += core/plugin/instance_internal.h
core_libcore_la_SOURCES += core/plugin/instance_more.c
core_libcore_la_SOURCES += core/base/json_text.c core/base/json_text.h
core_libcore_la_SOURCES += tools/landscape/landscape_ask.c
core_libcore_la_SOURCES += tools/landscape/landscape_basins.c
core_libcore_la_SOURCES += tools/landscape/landscape_files.c
core_libcore_la_SOURCES += tools/landscape/landscape_gradient.c
core_libcore_la_SOURCES += tools/landscape/landscape_loss.c
core_libcore_la_SOURCES += tools/landscape/landscape_options.c tools/landscape/landscape_options.h
core_libcore_la_SOURCES += tools/landscape/landscape_pictures.c
core_libcore_la_SOURCES += tools/landscape/landscape_report.c
core_libcore_la_SOURCES += tools/landscape/landscape_run.c
core_libcore_la_SOURCES += tools/landscape/landscape_slice.c tools/landscape/landscape_slice.h
core_libcore_la_SOURCES += tools/landscape/landscape_survey.c
core_libcore_la_SOURCES += tools/landscape/landscape_time.c
core_libcore_la_SOURCES += tools/landscape/landscape_trail.c
core_libcore_la_SOURCES += tools/landscape/landscape_verdict.c tools/landscape/landscape_verdict.h
core_libcore_la_SOURCES += core/run/ledger.c core/run/ledger.h
core_libcore_la_SOURCES += core/plugin/loader.c core/plugin/loader.h
core_libcore_la_SOURCES += core/base/log.c core/base/log.h
core_libcore_la_SOURCES += core/config/npy_read.c
core_libcore_la_SOURCES += tools/results/npy_write.c
core_libcore_la_SOURCES += core/run/objective.c
core_libcore_la_SOURCES += core/evaluate/batch_contract.c core/evaluate/batch_contract.h
core_libcore_la_SOURCES += core/run/objective_residuals.c
core_libcore_la_SOURCES += tools/results/origin.c tools/results/origin.h
core_libcore_la_SOURCES += core/config/params.c core/config/params.h
core_libcore_la_SOURCES += tools/render/picture.c tools/render/picture.h
core_libcore_la_SOURCES += tools/plot/plot.c tools/plot/plot.h
core_libcore_la_SOURCES += tools/plot/plot_axes.c tools/plot/plot_axes.h
core_libcore_la_SOURCES += tools/plot/plot_bars.c
core_libcore_la_SOURCES += tools/plot/plot_color.c tools/plot/plot_color.h
core_libcore_la_SOURCES += tools/plot/plot_contour.c tools/plot/plot_contour.h
core_libcore_la_SOURCES += tools/plot/plot_map.c tools/plot/plot_map.h
core_libcore_la_SOURCES += tools/plot/plot_panels.c tools/plot/plot_panels.h
core_libcore_la_SOURCES += tools/plot/plot_scale.c tools/plot/plot_scale.h
core_libcore_la_SOURCES += tools/results/point.c tools/results/point.h
core_libcore_la_SOURCES += core/evaluate/pool.c core/evaluate/pool.h
core_libcore_la_SOURCES += core/run/progress.c core/run/progress.h
core_libcore_la_SOURCES += tools/ranks/ranks.c tools/ranks/ranks.h
core_libcore_la_SOURCES += core/store/recorder.c core/store/recorder.h
core_libcore_la_SOURCES += tools/render/render.c tools/render/render.h
core_libcore_la_SOURCES += tools/render/render_flat.c tools/render/render_flat.h
core_libcore_la_SOURCES += tools/render/render_geometry.c
core_libcore_la_SOURCES += tools/render/render_raster.c
core_libcore_la_SOURCES += tools/render/render_shade.c
core_libcore_la_SOURCES += tools/render/render_shapes.c
core_libcore_la_SOURCES += tools/render/render_smooth.c
core_libcore_la_SOURCES += core/store/replay.c core/store/replay.h
core_libcore_la_SOURCES += tools/results/results.c tools/results/results.h
core_libcore_la_SOURCES += tools/results/results_apart.c
core_libcore_la_SOURCES += core/run/run.c core/run/run.h
core_libcore_la_SOURCES += core/cli/run_flags.c core/cli/run_flags.h
core_libcore_la_SOURCES += core/config/run_options.c core/config/run_options.h
core_libcore_la_SOURCES += core/run/run_recheck.c
core_libcore_la_SOURCES += tools/eval/run_pictures.c
core_libcore_la_SOURCES += core/run/run_series.c core/run/run_series.h
core_libcore_la_SOURCES += core/store/runlock.c core/store/runlock.h
core_libcore_la_SOURCES += core/scene/scene_keep.c core/scene/scene_keep.h
core_libcore_la_SOURCES += core/scene/scenedata.c core/scene/scenedata.h
core_libcore_la_SOURCES += core/scene/scenedata_block.c
core_libcore_la_SOURCES += core/config/settings.c core/config/settings.h
core_libcore_la_SOURCES += core/worker/share.c core/worker/share.h
core_libcore_la_SOURCES += core/run/signals.c core/run/signals.h
core_libcore_la_SOURCES += core/worker/child.c core/worker/child.h
core_libcore_la_SOURCES += core/store/store.c core/store/store.h
core_libcore_la_SOURCES += core/run/summary.c
core_libcore_la_SOURCES += core/base/text.c core/base/text.h
core_libcore_la_SOURCES += tools/results/trajectory.c
core_libcore_la_SOURCES += core/worker/worker.c core/worker/worker.h
core_libcore_la_SOURCES += tools/check/check.h
core_libcore_la_SOURCES += tools/check/check_tests.h
core_libcore_la_SOURCES += core/worker/crew_internal.h
core_libcore_la_SOURCES += tools/landscape/landscape.h tools/landscape/landscape_internal.h tools/landscape/landscape_measure.h
core_libcore_la_SOURCES += core/config/npy.h
core_libcore_la_SOURCES += tools/render/render_internal.h
core_libcore_la_SOURCES += core/run/run_internal.h
core_libcore_la_SOURCES += core/scene/scenedata_check.h

# Other programs see the functions of diffsim/search.h and diffsim/environment.h alone.
lib_LTLIBRARIES += libdiffsim.la
libdiffsim_la_SOURCES =
libdiffsim_la_LIBADD = core/libcore.la
libdiffsim_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-export-symbols-regex '^ds_(search|environment)_'

bin_PROGRAMS += dshost
dshost_CPPFLAGS = $(core_libcore_la_CPPFLAGS)
dshost_LDADD = core/libcore.la
dshost_SOURCES = core/cli/main.c core/cli/commands.h
dshost_SOURCES += tools/bench/cmd_bench.c
dshost_SOURCES += tools/check/cmd_check.c
dshost_SOURCES += tools/results/cmd_compare.c
dshost_SOURCES += core/cli/cmd_doctor.c
dshost_SOURCES += tools/eval/cmd_eval.c
dshost_SOURCES += tools/results/cmd_export.c
dshost_SOURCES += core/cli/cmd_help.c
dshost_SOURCES += tools/landscape/cmd_landscape.c
dshost_SOURCES += tools/report/cmd_plot.c
dshost_SOURCES += tools/report/cmd_report.c
dshost_SOURCES += core/cli/cmd_list.c
dshost_SOURCES += tools/merge/cmd_merge.c
dshost_SOURCES += core/cli/cmd_resume.c
dshost_SOURCES += core/cli/cmd_run.c
dshost_SOURCES += core/cli/cmd_template.c

# MPI is in a module of its own, loaded when mpirun has started dshost.
modulesdir = $(pkglibdir)/modules
modules_LTLIBRARIES =
if HAVE_MPI
modules_LTLIBRARIES += core/ranks_mpi.la
core_ranks_mpi_la_SOURCES = tools/ranks/ranks_mpi.c
core_ranks_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_SYSTEM_CFLAGS)
core_ranks_mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined \
	-export-symbols-regex '^ds_ranks_module$$'
core_ranks_mpi_la_LIBADD = $(MPI_LIBS)
endif
