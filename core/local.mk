# SPDX-License-Identifier: Apache-2.0
# The host: layers from the ground up, the programs dshost and dshost-worker, and libdiffsim for others.
host_include = -I$(top_srcdir)/core -I$(top_srcdir)/tools
host_cppflags = $(host_include) $(INIH_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS) $(XXHASH_CFLAGS)
core/%.$(OBJEXT) core/%.lo: AM_CPPFLAGS += $(host_cppflags)
# The folders of an installation, which find each other when it is moved, are known to this file alone.
core/base/program.lo: AM_CPPFLAGS += \
	-DDS_BINDIR='"$(bindir)"' -DDS_LIBEXECDIR='"$(pkglibexecdir)"' -DDS_LIBDIR='"$(libdir)"' \
	-DDS_PLUGINDIR='"$(plugindir)"' -DDS_MODULEDIR='"$(modulesdir)"' \
	-DDS_INCLUDEDIR='"$(includedir)"' -DDS_PKGCONFIGDIR='"$(pkgconfigdir)"'
core/base/program.lo: installed-folders
core_libs = $(SQLITE_LIBS) $(JANSSON_LIBS) $(INIH_LIBS)
noinst_LTLIBRARIES += core/libcore.la
base_sources = \
	core/base/answer.h \
	core/base/clock.c \
	core/base/clock.h \
	core/base/error.c \
	core/base/error.h \
	core/base/file.c \
	core/base/file.h \
	core/base/json_text.c \
	core/base/json_text.h \
	core/base/log.c \
	core/base/log.h \
	core/base/plugin_memory.c \
	core/base/plugin_memory.h \
	core/base/program.c \
	core/base/program.h \
	core/base/stop.c \
	core/base/stop.h \
	core/base/text.c \
	core/base/text.h \
	core/base/variables.c \
	core/base/variables.h
arithmetic_sources = core/arithmetic/arithmetic.c core/arithmetic/arithmetic.h
protect_sources = core/protect/crash.c core/protect/crash.h core/protect/call_state.c core/protect/call_state.h
config_sources = \
	core/config/expect.c \
	core/config/expect.h \
	core/config/inifile.c \
	core/config/inifile.h \
	core/config/npy.h \
	core/config/npy_read.c \
	core/config/params.c \
	core/config/params.h \
	core/config/run_options.c \
	core/config/run_options.h \
	core/config/settings.c \
	core/config/settings.h
plugin_sources = \
	core/plugin/blas.c \
	core/plugin/blas.h \
	core/plugin/channels.c \
	core/plugin/channels.h \
	core/plugin/descriptor.c \
	core/plugin/descriptor.h \
	core/plugin/elf_file.c \
	core/plugin/elf_file.h \
	core/plugin/env.c \
	core/plugin/env_steps.c \
	core/plugin/expectation.c \
	core/plugin/instance.c \
	core/plugin/instance.h \
	core/plugin/loader.c \
	core/plugin/loader.h \
	core/plugin/search_path.c \
	core/plugin/search_path.h \
	core/plugin/services.c \
	core/plugin/services.h
scene_sources = core/scene/scene_write.h core/scene/scene_write.c
worker_sources = \
	core/worker/handshake.c \
	core/worker/handshake.h \
	core/worker/process.c \
	core/worker/process.h \
	core/worker/proxy.c \
	core/worker/proxy.h \
	core/worker/remote.c \
	core/worker/remote.h \
	core/worker/ring.c \
	core/worker/ring.h \
	core/worker/supervisor.c \
	core/worker/supervisor.h
evaluate_sources = \
	core/evaluate/fix.c \
	core/evaluate/fix.h \
	core/evaluate/pool.c \
	core/evaluate/pool.h \
	core/evaluate/request.c \
	core/evaluate/request.h \
	core/evaluate/trust.c \
	core/evaluate/trust.h
snapshot_sources = core/snapshot/episode_scene.c core/snapshot/episode_scene.h core/snapshot/snapshot.c \
	core/snapshot/snapshot.h
store_sources = \
	core/store/optimizer_output.c \
	core/store/optimizer_output.h \
	core/store/recorder.c \
	core/store/recorder.h \
	core/store/run_folder.c \
	core/store/run_folder.h \
	core/store/store.c \
	core/store/store.h \
	core/store/store_check.c \
	core/store/store_file.c \
	core/store/store_internal.h \
	core/store/store_repair.c \
	core/store/store_rows.c \
	core/store/store_tables.c
progress_sources = core/progress/progress.c core/progress/progress.h
run_sources = \
	core/run/queries.c \
	core/run/queries.h \
	core/run/episodes.c \
	core/run/free_variables.c \
	core/run/free_variables.h \
	core/run/isolated.c \
	core/run/isolated.h \
	core/run/journal.c \
	core/run/journal.h \
	core/run/objective.c \
	core/run/objective.h \
	core/run/recommend.c \
	core/run/recommend.h \
	core/run/run.c \
	core/run/run.h \
	core/run/run_series.c \
	core/run/session.c \
	core/run/session.h
embed_sources = \
	core/embed/embed.c \
	core/embed/embed.h \
	core/embed/environment.c \
	core/embed/recording.c \
	core/embed/recording.h \
	core/embed/runner.c \
	core/embed/search.c
cli_sources = \
	core/cli/arguments.c \
	core/cli/arguments.h \
	core/cli/command.c \
	core/cli/command.h \
	core/cli/pictures.c \
	core/cli/pictures.h \
	core/cli/run_flags.c \
	core/cli/run_flags.h

core_libcore_la_SOURCES = $(base_sources) $(arithmetic_sources) $(config_sources) $(plugin_sources) $(scene_sources) $(protect_sources) \
	$(worker_sources) $(evaluate_sources) $(snapshot_sources) $(store_sources) $(progress_sources) $(run_sources) \
	$(embed_sources) $(cli_sources)
# The ids of the plugins that come with this host (core/plugin/search_path.c), in a header beside config.h.
BUILT_SOURCES = own_plugins.h
CLEANFILES += own_plugins.h
core/plugin/search_path.lo: own_plugins.h
own_plugins.h: Makefile
	$(AM_V_GEN){ printf '/* Made by make: the plugins of this host. */\n#define DS_OWN_PLUGINS'; \
	for la in $(envplugin_LTLIBRARIES) $(optplugin_LTLIBRARIES); do printf ' "%s",' "`basename $$la .la`"; done; \
	echo; } > $@-t && mv $@-t $@

# Other programs see the functions of diffsim/lib/*.h alone. The soname follows VERSIONING.md.
lib_LTLIBRARIES += libdiffsim.la
libdiffsim_la_SOURCES =
libdiffsim_la_LIBADD = core/libcore.la $(core_libs)
libdiffsim_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -no-undefined \
	-export-symbols $(srcdir)/core/embed/libdiffsim.sym
libdiffsim_la_DEPENDENCIES = core/libcore.la core/embed/libdiffsim.sym
EXTRA_DIST += core/embed/libdiffsim.sym

bin_PROGRAMS += dshost
dshost_LDADD = core/libcore.la $(core_libs)
dshost_SOURCES = core/cli/main.c

# Evaluates for a host; it starts often, and needs little.
pkglibexec_PROGRAMS += libexec/dshost-worker
libexec_dshost_worker_LDADD = core/libcore.la $(INIH_LIBS)
libexec_dshost_worker_SOURCES = \
	core/worker/context.c \
	core/worker/context.h \
	core/worker/work.c \
	core/worker/worker.c
