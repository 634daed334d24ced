# SPDX-License-Identifier: Apache-2.0
# Tests of the store, the worker pool and the commands run, resume and export.
host_test_libs = tools/libtools.la core/libcore.la $(tools_libs) $(CMOCKA_LIBS)
host_test_cppflags = $(TEST_CPPFLAGS) $(host_include) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS)

check_PROGRAMS += tests/unit/test_store tests/unit/test_pool
tests_unit_test_store_SOURCES = tests/unit/test_store.c
tests_unit_test_store_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_store_LDADD = $(host_test_libs) $(SQLITE_LIBS)
tests_unit_test_pool_SOURCES = tests/unit/test_pool.c
tests_unit_test_pool_CPPFLAGS = $(host_test_cppflags)
tests_unit_test_pool_LDADD = $(host_test_libs)

# Plugins that misbehave; built as modules but never installed.
test_plugin_link = $(plugin_link) -rpath /nowhere
check_LTLIBRARIES += tests/plugins/faulty.la
tests_plugins_faulty_la_SOURCES = tests/plugins/faulty.c
tests_plugins_faulty_la_LDFLAGS = $(test_plugin_link)
check_LTLIBRARIES += tests/plugins/badopt.la
tests_plugins_badopt_la_SOURCES = tests/plugins/badopt.c
tests_plugins_badopt_la_LDFLAGS = $(test_plugin_link)

dist_check_SCRIPTS += tests/cli/run.sh tests/cli/kill.sh tests/cli/faults.sh tests/cli/inputs.sh
slow_scripts += tests/cli/kill_slow.sh
EXTRA_DIST += tests/cli/lib.sh tests/lsan.supp
