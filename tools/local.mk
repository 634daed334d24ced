# SPDX-License-Identifier: Apache-2.0
# What stands on the host: statistics, plots, pictures, reports, landscapes, experiments, the conformance kit.
tools/%.$(OBJEXT) tools/%.lo: AM_CPPFLAGS += $(host_cppflags) $(CAIRO_CFLAGS) $(ZLIB_CFLAGS) \
	-DDS_MODULEDIR='"$(modulesdir)"'
tools_link = tools/libtools.la core/libcore.la $(CAIRO_LIBS) $(ZLIB_LIBS) $(core_libs)
LDADD = $(tools_link)
noinst_LTLIBRARIES += tools/libtools.la
stats_sources = tools/stats/aggregate.c tools/stats/aggregate.h tools/stats/distribution.c \
	tools/stats/distribution.h tools/stats/hypothesis.c tools/stats/hypothesis.h tools/stats/sample.c \
	tools/stats/sample.h
plot_sources = tools/plot/canvas.c tools/plot/canvas.h tools/plot/canvas_svg.c tools/plot/canvas_svg.h \
	tools/plot/plot.c tools/plot/plot.h tools/plot/plot_axes.c tools/plot/plot_axes.h tools/plot/plot_bars.c \
	tools/plot/plot_color.c tools/plot/plot_color.h tools/plot/plot_contour.c tools/plot/plot_contour.h \
	tools/plot/plot_groups.c tools/plot/plot_groups.h tools/plot/plot_lines.c tools/plot/plot_lines.h \
	tools/plot/plot_map.c tools/plot/plot_map.h tools/plot/plot_panels.c tools/plot/plot_panels.h \
	tools/plot/plot_scale.c tools/plot/plot_scale.h
snapshot_sources = tools/snapshot/snapshot.h tools/snapshot/snapshot.c tools/snapshot/episode_scene.h \
	tools/snapshot/episode_scene.c
render_sources = tools/render/picture.c tools/render/picture.h tools/render/render.c tools/render/render.h \
	tools/render/render_flat.c tools/render/render_flat.h tools/render/render_geometry.c \
	tools/render/render_internal.h tools/render/render_primitives.c tools/render/render_raster.c \
	tools/render/render_shade.c tools/render/render_shapes.c tools/render/render_smooth.c
results_sources = tools/results/trajectory.h tools/results/compare.c tools/results/compare.h \
	tools/results/disambiguate.c tools/results/export.c tools/results/export.h tools/results/export_bench.c \
	tools/results/export_table.c tools/results/npy_write.c tools/results/npy_write.h tools/results/point.c \
	tools/results/point.h tools/results/printer.c tools/results/printer.h tools/results/results.c \
	tools/results/results.h tools/results/trajectory.c
eval_sources = tools/eval/best_picture.c tools/eval/best_picture.h
report_sources = tools/report/report.c tools/report/report.h tools/report/report_csv.c \
	tools/report/report_csv.h tools/report/report_figures.c tools/report/report_figures.h \
	tools/report/report_html.c tools/report/report_html.h tools/report/report_page.c \
	tools/report/report_page.h tools/report/report_pictures.c tools/report/report_pictures.h \
	tools/report/report_settings.c tools/report/report_settings.h
landscape_sources = tools/landscape/landscape.h tools/landscape/landscape_basins.c \
	tools/landscape/landscape_evaluate.c tools/landscape/landscape_files.c \
	tools/landscape/landscape_gradient.c tools/landscape/landscape_internal.h \
	tools/landscape/landscape_loss.c tools/landscape/landscape_measure.h tools/landscape/landscape_options.c \
	tools/landscape/landscape_options.h tools/landscape/landscape_pictures.c \
	tools/landscape/landscape_report.c tools/landscape/landscape_run.c tools/landscape/landscape_run_path.c \
	tools/landscape/landscape_slice.c tools/landscape/landscape_slice.h tools/landscape/landscape_survey.c \
	tools/landscape/landscape_time.c tools/landscape/landscape_verdict.c tools/landscape/landscape_verdict.h
bench_sources = tools/bench/bench_file.c tools/bench/bench_file.h tools/bench/bench_lines.c \
	tools/bench/bench_lines.h tools/bench/bench_loop.c tools/bench/bench_loop.h tools/bench/bench_parts.c \
	tools/bench/bench_parts.h tools/bench/bench_plan.c tools/bench/bench_plan.h tools/bench/bench_progress.c \
	tools/bench/bench_state.c tools/bench/bench_state.h tools/bench/bench_sweep.c tools/bench/bench_sweep.h \
	tools/bench/bench_trial.c tools/bench/bench_trial.h tools/bench/bench_work.c tools/bench/bench_work.h \
	tools/bench/bench_write.c tools/bench/existing_runs.c tools/bench/optimizer_cost.c \
	tools/bench/optimizer_cost.h
merge_sources = tools/merge/bench_merge.c tools/merge/bench_merge.h tools/merge/compare_runs.c \
	tools/merge/compare_runs.h
ranks_sources = tools/ranks/ranks.c tools/ranks/ranks.h
harness_sources = tools/harness/check.h tools/harness/check_episodes.c tools/harness/check_episodes.h \
	tools/harness/check_guard.c tools/harness/check_guard.h tools/harness/check_host.c \
	tools/harness/check_host.h tools/harness/check_objective.c tools/harness/check_objective.h \
	tools/harness/check_problem.c tools/harness/check_problem.h tools/harness/check_process.c \
	tools/harness/check_process.h tools/harness/check_record.c tools/harness/check_watch.c \
	tools/harness/check_watch.h
check_sources = tools/check/check_eval.c tools/check/check_extensions.c tools/check/check_gradient.c \
	tools/check/check_info.c tools/check/check_instance.c tools/check/check_load.c tools/check/check_pure.c \
	tools/check/check_report.c tools/check/check_report.h tools/check/check_rl.c tools/check/check_run.c \
	tools/check/check_run.h tools/check/check_scene.c tools/check/check_search.c tools/check/check_tests.h
difference_sources = tools/difference/finite_difference.c tools/difference/finite_difference.h
catalog_sources = tools/catalog/describe.c tools/catalog/describe.h tools/catalog/plugin_list.c \
	tools/catalog/plugin_list.h

tools_libtools_la_SOURCES = $(stats_sources) $(plot_sources) $(snapshot_sources) $(render_sources) $(results_sources) \
	$(eval_sources) $(report_sources) $(landscape_sources) $(bench_sources) $(merge_sources) \
	$(ranks_sources) $(harness_sources) $(check_sources) $(difference_sources) $(catalog_sources)

# A command of dshost is a program of its own: dshost NAME becomes dshost-NAME.
pkglibexec_PROGRAMS += libexec/dshost-bench libexec/dshost-check libexec/dshost-compare \
	libexec/dshost-doctor libexec/dshost-eval libexec/dshost-export libexec/dshost-help \
	libexec/dshost-landscape libexec/dshost-list libexec/dshost-merge libexec/dshost-picture \
	libexec/dshost-plot libexec/dshost-report libexec/dshost-template
libexec_dshost_bench_SOURCES = tools/bench/cmd_bench.c
libexec_dshost_check_SOURCES = tools/check/cmd_check.c
libexec_dshost_compare_SOURCES = tools/results/cmd_compare.c
libexec_dshost_doctor_SOURCES = tools/catalog/cmd_doctor.c
libexec_dshost_eval_SOURCES = tools/eval/cmd_eval.c
libexec_dshost_export_SOURCES = tools/results/cmd_export.c
libexec_dshost_help_SOURCES = tools/catalog/cmd_help.c
libexec_dshost_landscape_SOURCES = tools/landscape/cmd_landscape.c
libexec_dshost_list_SOURCES = tools/catalog/cmd_list.c
libexec_dshost_merge_SOURCES = tools/merge/cmd_merge.c
libexec_dshost_picture_SOURCES = tools/eval/cmd_picture.c
libexec_dshost_plot_SOURCES = tools/report/cmd_plot.c
libexec_dshost_report_SOURCES = tools/report/cmd_report.c
libexec_dshost_template_SOURCES = tools/catalog/cmd_template.c

# MPI is in a module of its own, loaded when mpirun has started dshost.
modulesdir = $(pkglibdir)/modules
modules_LTLIBRARIES =
if HAVE_MPI
modules_LTLIBRARIES += tools/ranks/ranks_mpi.la
tools_ranks_ranks_mpi_la_SOURCES = tools/ranks/ranks_mpi.c
tools_ranks_ranks_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_SYSTEM_CFLAGS)
tools_ranks_ranks_mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined \
	-export-symbols-regex '^ds_ranks_module$$'
tools_ranks_ranks_mpi_la_LIBADD = $(MPI_LIBS)
endif
