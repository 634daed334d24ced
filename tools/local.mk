# SPDX-License-Identifier: Apache-2.0
# What stands on the host: statistics, plots, pictures, reports, landscapes, gradients, experiments, the conformance kit.
tools/%.$(OBJEXT) tools/%.lo: AM_CPPFLAGS += $(host_cppflags) $(CAIRO_CFLAGS) $(EXPAT_CFLAGS) $(WEBP_CFLAGS) $(ZLIB_CFLAGS)
pictures_link = tools/libpictures.la core/libcore.la $(CAIRO_LIBS) $(ZLIB_LIBS) $(core_libs)
tools_link = tools/libtools.la tools/libpictures.la core/libcore.la $(CAIRO_LIBS) $(WEBP_LIBS) $(ZLIB_LIBS) $(core_libs)
LDADD = $(tools_link)
noinst_LTLIBRARIES += tools/libtools.la
tools_libtools_la_SOURCES = \
	%D%/stats/aggregate.c \
	%D%/stats/aggregate.h \
	%D%/stats/hypothesis.c \
	%D%/stats/hypothesis.h \
	%D%/stats/sample.c \
	%D%/stats/sample.h \
	%D%/stats/singular.c \
	%D%/stats/singular.h \
	%D%/plot/plot_lines.c \
	%D%/plot/plot_lines.h \
	%D%/plot/plot_map.c \
	%D%/plot/plot_map.h \
	%D%/page/page.c \
	%D%/page/page.h \
	%D%/results/disambiguate.c \
	%D%/results/export.c \
	%D%/results/export.h \
	%D%/results/export_bench.c \
	%D%/results/npy_write.c \
	%D%/results/npy_write.h \
	%D%/results/printer.c \
	%D%/results/printer.h \
	%D%/results/csv.c \
	%D%/results/csv.h \
	%D%/results/run_table.c \
	%D%/results/run_table.h \
	%D%/exchange/film.h \
	%D%/exchange/film_ffmpeg.c \
	%D%/exchange/film_frame.c \
	%D%/exchange/film_frame.h \
	%D%/exchange/film_image.c \
	%D%/exchange/exchange.h \
	%D%/exchange/exchange_obj.c \
	%D%/exchange/exchange_usd.c \
	%D%/exchange/exchange_vtk.c \
	%D%/exchange/series.c \
	%D%/exchange/series.h \
	%D%/results/trajectory.c \
	%D%/policy/npz_read.c \
	%D%/policy/npz_read.h \
	%D%/policy/policy.c \
	%D%/policy/policy.h \
	%D%/view/live_run.c \
	%D%/view/live_run.h \
	%D%/view/live_server.c \
	%D%/view/live_server.h \
	%D%/report/report_make.c \
	%D%/report/report.h \
	%D%/report/report_csv.c \
	%D%/report/report_figures.c \
	%D%/report/report_overall.c \
	%D%/report/report_page.c \
	%D%/report/report_episodes.c \
	%D%/report/report_point.c \
	%D%/report/grid.c \
	%D%/report/grid.h \
	%D%/report/report_tables.c \
	%D%/identify/identify.h \
	%D%/identify/identify_case.c \
	%D%/identify/identify_check.c \
	%D%/identify/identify_data.c \
	%D%/identify/identify_data.h \
	%D%/identify/identify_figure.c \
	%D%/identify/identify_file.c \
	%D%/identify/identify_model.c \
	%D%/identify/identify_page.c \
	%D%/identify/identify_problem.c \
	%D%/identify/identify_rank.c \
	%D%/identify/identify_report.c \
	%D%/identify/identify_search.c \
	%D%/identify/identify_statistics.c \
	%D%/landscape/gradients.h \
	%D%/landscape/gradients_cell.c \
	%D%/landscape/gradients_options.c \
	%D%/landscape/gradients_report.c \
	%D%/landscape/gradients_run.c \
	%D%/landscape/gradients_sample.c \
	%D%/landscape/landscape.h \
	%D%/landscape/landscape_marks.c \
	%D%/landscape/landscape_measure.c \
	%D%/landscape/landscape_measure.h \
	%D%/landscape/landscape_page.c \
	%D%/landscape/landscape_pictures.c \
	%D%/landscape/landscape_report.c \
	%D%/landscape/landscape_run.c \
	%D%/landscape/landscape_slice.c \
	%D%/landscape/landscape_slice.h \
	%D%/landscape/landscape_survey.c \
	%D%/landscape/landscape_verdict.c \
	%D%/landscape/landscape_verdict.h \
	%D%/bench/bench_file.c \
	%D%/bench/bench_file.h \
	%D%/bench/bench_loop.c \
	%D%/bench/bench_plan.c \
	%D%/bench/bench_plan.h \
	%D%/bench/bench_state.c \
	%D%/bench/experiment.h \
	%D%/bench/bench_trial.c \
	%D%/bench/bench_work.c \
	%D%/ranks/ranks.c \
	%D%/ranks/ranks.h \
	%D%/harness/check.h \
	%D%/harness/check_episodes.c \
	%D%/harness/check_host.c \
	%D%/harness/check_host.h \
	%D%/harness/check_objective.c \
	%D%/harness/check_watch.c \
	%D%/harness/check_watch.h \
	%D%/harness/check_process.c \
	%D%/harness/check_process.h \
	%D%/harness/check.c \
	%D%/check/check_queries.c \
	%D%/check/check_queries.h \
	%D%/check/check_channels.c \
	%D%/check/check_linear.c \
	%D%/check/check_products.c \
	%D%/check/check_eval.c \
	%D%/check/check_rows.c \
	%D%/check/check_gradient.c \
	%D%/check/check_gradient_report.h \
	%D%/check/check_gradient_report.c \
	%D%/check/check_instance.c \
	%D%/check/check_items.c \
	%D%/check/check_items.h \
	%D%/check/check_load.c \
	%D%/check/check_pure.c \
	%D%/check/check_steps.c \
	%D%/check/check_steps.h \
	%D%/check/check_sweeps.c \
	%D%/check/check_run.c \
	%D%/check/check_tests.h \
	%D%/check/check_search.c \
	%D%/check/check_extensions.c \
	%D%/difference/finite_difference.c \
	%D%/difference/finite_difference.h \
	%D%/difference/seam.c \
	%D%/catalog/catalog.c \
	%D%/catalog/catalog.h


# What draws a run when it has ended: all that dshost-picture needs, so that a first result does not wait for the rest.
noinst_LTLIBRARIES += tools/libpictures.la
tools_libpictures_la_SOURCES = \
	%D%/plot/canvas.c \
	%D%/plot/canvas.h \
	%D%/plot/deflate.c \
	%D%/plot/deflate.h \
	%D%/plot/png.c \
	%D%/plot/png.h \
	%D%/plot/plot.c \
	%D%/plot/plot.h \
	%D%/plot/plot_axes.c \
	%D%/plot/plot_axes.h \
	%D%/render/picture.c \
	%D%/render/picture.h \
	%D%/render/render.c \
	%D%/render/render.h \
	%D%/render/render_flat.c \
	%D%/render/render_flat.h \
	%D%/render/render_geometry.c \
	%D%/render/render_internal.h \
	%D%/render/render_raster.c \
	%D%/results/trajectory.h \
	%D%/results/point.c \
	%D%/results/point.h \
	%D%/results/results.c \
	%D%/results/results.h \
	%D%/episode/episode.c \
	%D%/episode/episode.h \
	%D%/view/view_page.c \
	%D%/view/view_page.h \
	%D%/eval/best_picture.c \
	%D%/eval/best_picture.h
nodist_tools_libpictures_la_SOURCES = tools/view/page_files.c

# A command of dshost is a program of its own: dshost NAME becomes dshost-NAME.
pkglibexec_PROGRAMS += libexec/dshost-bench libexec/dshost-check libexec/dshost-compare \
	libexec/dshost-doctor libexec/dshost-eval libexec/dshost-export libexec/dshost-gradients libexec/dshost-help \
	libexec/dshost-identify libexec/dshost-landscape libexec/dshost-list libexec/dshost-merge libexec/dshost-new \
	libexec/dshost-picture \
	libexec/dshost-plot libexec/dshost-report libexec/dshost-scene libexec/dshost-table libexec/dshost-target libexec/dshost-template libexec/dshost-view
pkglibexec_SCRIPTS = libexec/dshost-complete
EXTRA_DIST += tools/complete/dshost-complete.sh
CLEANFILES += libexec/dshost-complete
libexec/dshost-complete: tools/complete/dshost-complete.sh
	$(AM_V_GEN)$(MKDIR_P) libexec && cp $(srcdir)/tools/complete/dshost-complete.sh $@ && chmod a+rx $@
libexec_dshost_bench_SOURCES = tools/bench/cmd_bench.c
libexec_dshost_check_SOURCES = tools/check/cmd_check.c
libexec_dshost_compare_SOURCES = tools/compare/cmd_compare.c
libexec_dshost_doctor_SOURCES = tools/catalog/cmd_doctor.c
libexec_dshost_eval_SOURCES = \
	tools/eval/cmd_eval.c \
	tools/eval/eval_channels.c \
	tools/eval/eval_gradient.c \
	tools/eval/eval_objects.c \
	tools/eval/eval_policy.c \
	tools/eval/eval.h
if HAVE_PNG
libexec_dshost_eval_CPPFLAGS = $(AM_CPPFLAGS) $(PNG_CFLAGS) -DEVAL_LIBPNG=1
libexec_dshost_eval_LDADD = $(LDADD) $(PNG_LIBS)
endif
libexec_dshost_export_SOURCES = tools/results/cmd_export.c
libexec_dshost_gradients_SOURCES = tools/landscape/cmd_gradients.c
libexec_dshost_help_SOURCES = tools/catalog/cmd_help.c
libexec_dshost_identify_SOURCES = tools/identify/cmd_identify.c
libexec_dshost_identify_LDADD = $(LDADD) $(EXPAT_LIBS)
libexec_dshost_landscape_SOURCES = tools/landscape/cmd_landscape.c
libexec_dshost_list_SOURCES = tools/catalog/cmd_list.c
libexec_dshost_merge_SOURCES = tools/bench/cmd_merge.c
libexec_dshost_new_SOURCES = \
	tools/catalog/cmd_new.c \
	tools/catalog/new_files.h
nodist_libexec_dshost_new_SOURCES = tools/catalog/new_files.c
libexec_dshost_picture_SOURCES = tools/eval/cmd_picture.c
libexec_dshost_picture_LDADD = $(pictures_link)
libexec_dshost_plot_SOURCES = tools/report/cmd_plot.c
libexec_dshost_report_SOURCES = tools/report/cmd_report.c
libexec_dshost_scene_SOURCES = tools/eval/cmd_scene.c
libexec_dshost_scene_LDADD = $(pictures_link)
libexec_dshost_table_SOURCES = tools/report/cmd_table.c
libexec_dshost_target_SOURCES = tools/eval/cmd_target.c
libexec_dshost_template_SOURCES = tools/catalog/cmd_template.c
libexec_dshost_view_SOURCES = \
	tools/view/cmd_view.c \
	tools/view/view.h \
	tools/view/view_formats.c

# Scenes as pixels, for programs.
tools_libtools_la_SOURCES +=
pkglibexec_PROGRAMS += libexec/dshost-frames
libexec_dshost_frames_SOURCES = tools/eval/cmd_frames.c

# What `dshost new` writes: the examples, and the files beside them.
new_files = $(top_srcdir)/examples/hill.c $(top_srcdir)/examples/hill_cpp.cpp \
	$(top_srcdir)/examples/hill.py $(top_srcdir)/examples/hill_rust.rs $(top_srcdir)/examples/plugin.map \
	$(top_srcdir)/examples/walk.c $(top_srcdir)/examples/walk_cpp.cpp $(top_srcdir)/examples/walk.py $(top_srcdir)/examples/walk_rust.rs \
	$(top_srcdir)/tools/catalog/new/Makefile-c $(top_srcdir)/tools/catalog/new/Makefile-cpp \
	$(top_srcdir)/tools/catalog/new/Makefile-py $(top_srcdir)/tools/catalog/new/Makefile-rs $(top_srcdir)/tools/catalog/new/README.md \
	$(top_srcdir)/tools/catalog/new/env.ini $(top_srcdir)/tools/catalog/new/opt.ini \
	$(top_srcdir)/tools/catalog/new/test.sh \
	$(wildcard $(addprefix $(top_srcdir)/examples/scenes/*.,ini obj ply stl msh node ele face))
EXTRA_DIST += tools/catalog/new tools/catalog/new_files.awk
CLEANFILES += tools/catalog/new_files.c
tools/catalog/new_files.c: tools/catalog/new_files.awk $(new_files)
	$(AM_V_GEN)LC_ALL=C $(AWK) -f $(top_srcdir)/tools/catalog/new_files.awk $(new_files) > $@-t && mv $@-t $@

# Style sheets and scripts of pages are lines of C.
page_shared = $(top_srcdir)/tools/page
page_figures = $(page_shared)/page.css $(page_shared)/figure.css $(page_shared)/figure.js
EXTRA_DIST += tools/page/page_files.sh tools/page/page.css tools/page/figure.css tools/page/figure.js
CLEANFILES += tools/page/page_texts.c
tools/page/page_texts.c: tools/page/page_files.sh $(page_figures)
	$(AM_V_GEN)$(MKDIR_P) tools/page && $(SHELL) $(page_shared)/page_files.sh '$(AWK)' page/page.h \
		page_css $(page_shared)/page.css -- figure_css $(page_shared)/figure.css -- figure_js $(page_shared)/figure.js > $@-t && mv $@-t $@

landscape_page = $(top_srcdir)/tools/landscape/page
EXTRA_DIST += tools/landscape/page
CLEANFILES += tools/landscape/page_texts.c
tools/landscape/page_texts.c: tools/page/page_files.sh $(landscape_page)/landscape.css $(landscape_page)/landscape.js
	$(AM_V_GEN)$(MKDIR_P) tools/landscape && $(SHELL) $(page_shared)/page_files.sh '$(AWK)' landscape/landscape.h \
		landscape_css $(landscape_page)/landscape.css -- landscape_js $(landscape_page)/landscape.js > $@-t && mv $@-t $@

# The pages that `dshost view` writes.
page_folder = $(top_srcdir)/tools/view/page
page_scripts = $(page_folder)/math.js $(page_folder)/data.js $(page_folder)/shapes.js $(page_folder)/shaders.js \
	$(page_folder)/draw.js $(page_folder)/plot.js $(page_folder)/episodes.js
nodist_tools_libtools_la_SOURCES = tools/landscape/page_texts.c tools/page/page_texts.c
EXTRA_DIST += tools/view/page
CLEANFILES += tools/view/page_files.c
live_scripts = $(page_folder)/math.js $(page_folder)/plot.js $(page_folder)/live.js
tools/view/page_files.c: tools/page/page_files.sh $(page_folder)/episodes.html $(page_folder)/episodes.css $(page_scripts) \
		$(page_folder)/live.html $(page_folder)/live.css $(live_scripts)
	$(AM_V_GEN)$(MKDIR_P) tools/view && $(SHELL) $(page_shared)/page_files.sh '$(AWK)' view/view_page.h \
		episodes_html $(page_folder)/episodes.html -- episodes_css $(page_folder)/episodes.css \
		-- episodes_js $(page_scripts) -- live_html $(page_folder)/live.html \
		-- live_css $(page_folder)/live.css -- live_js $(live_scripts) > $@-t && mv $@-t $@

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
