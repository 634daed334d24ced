# SPDX-License-Identifier: Apache-2.0
# Tests of stepwise control: networks and losses, whole runs, the host.
fake_rl_sources = tests/unit/fake_rl.c tests/unit/fake_rl.h tests/unit/golden.h
rl_test_cppflags = $(TEST_CPPFLAGS) $(host_include) -I$(top_srcdir)/plugins/optimizers $(JANSSON_CFLAGS)

check_PROGRAMS += tests/unit/test_rl
tests_unit_test_rl_SOURCES = tests/unit/test_rl.c $(fake_rl_sources)
tests_unit_test_rl_CPPFLAGS = $(rl_test_cppflags)
tests_unit_test_rl_LDADD = plugins/optimizers/methods/librl.la tools/libtools.la core/libcore.la $(tools_libs) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_mlp_loops
tests_unit_test_mlp_loops_SOURCES = tests/unit/test_mlp_loops.c
tests_unit_test_mlp_loops_CPPFLAGS = $(rl_test_cppflags)
tests_unit_test_mlp_loops_LDADD = plugins/optimizers/methods/librl.la tools/libtools.la core/libcore.la $(tools_libs) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_stepwise
tests_unit_test_stepwise_SOURCES = tests/unit/test_stepwise.c $(fake_cma)
tests_unit_test_stepwise_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_stepwise_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cartpole_gym
tests_unit_test_cartpole_gym_SOURCES = tests/unit/test_cartpole_gym.c $(fake_cma)
tests_unit_test_cartpole_gym_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_cartpole_gym_LDADD = $(JANSSON_LIBS) $(CMOCKA_LIBS)

SLOW_TESTS += tests/unit/slow_rl
tests_unit_slow_rl_SOURCES = tests/unit/slow_rl.c $(fake_rl_sources)
tests_unit_slow_rl_CPPFLAGS = $(rl_test_cppflags)
tests_unit_slow_rl_LDADD = tools/libtools.la core/libcore.la $(tools_libs) $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_LTLIBRARIES += tests/plugins/faulty_rl.la
tests_plugins_faulty_rl_la_SOURCES = tests/plugins/faulty_rl.c
tests_plugins_faulty_rl_la_LDFLAGS = $(test_plugin_link)
dist_check_SCRIPTS += tests/cli/rl.sh
