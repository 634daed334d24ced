# SPDX-License-Identifier: Apache-2.0
# Tests of the plasticine engine and its plugins.
mpm_test_cppflags = $(TEST_CPPFLAGS) -I$(srcdir)/plugins/envs/engines/mpm $(JANSSON_CFLAGS) $(ZLIB_CFLAGS)
mpm_test_ldadd = plugins/envs/engines/mpm/libtasks.la $(CMOCKA_LIBS) $(JANSSON_LIBS) $(ZLIB_LIBS)
mpm_test_support = tests/unit/mpm_support.c tests/unit/mpm_support.h tests/unit/mpm_random.h

check_PROGRAMS += tests/unit/test_mpm_golden
tests_unit_test_mpm_golden_SOURCES = tests/unit/test_mpm_golden.c $(mpm_test_support)
tests_unit_test_mpm_golden_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_golden_LDADD = $(mpm_test_ldadd)

# The same with the fast engine.
check_PROGRAMS += tests/unit/test_mpm_golden_fast
tests_unit_test_mpm_golden_fast_SOURCES = $(tests_unit_test_mpm_golden_SOURCES)
tests_unit_test_mpm_golden_fast_CPPFLAGS = $(mpm_test_cppflags) -DFAST
tests_unit_test_mpm_golden_fast_LDADD = $(mpm_test_ldadd)

check_PROGRAMS += tests/unit/test_mpm_fast
tests_unit_test_mpm_fast_SOURCES = tests/unit/test_mpm_fast.c $(mpm_test_support)
tests_unit_test_mpm_fast_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_fast_LDADD = $(mpm_test_ldadd)

check_PROGRAMS += tests/unit/test_mpm_plugins
tests_unit_test_mpm_plugins_SOURCES = tests/unit/test_mpm_plugins.c tests/unit/fake_host.c \
	tests/unit/fake_host.h
tests_unit_test_mpm_plugins_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_mpm_plugins_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_mpm_parts
tests_unit_test_mpm_parts_SOURCES = tests/unit/test_mpm_parts.c $(mpm_test_support)
tests_unit_test_mpm_parts_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_parts_LDADD = $(mpm_test_ldadd)

check_PROGRAMS += tests/unit/test_mpm_tools
tests_unit_test_mpm_tools_SOURCES = tests/unit/test_mpm_tools.c $(mpm_test_support)
tests_unit_test_mpm_tools_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_tools_LDADD = $(mpm_test_ldadd)

check_PROGRAMS += tests/unit/test_mpm_step
tests_unit_test_mpm_step_SOURCES = tests/unit/test_mpm_step.c $(mpm_test_support)
tests_unit_test_mpm_step_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_step_LDADD = $(mpm_test_ldadd)

# Everything that was recorded, and the gradient protocol: minutes.
SLOW_TESTS += tests/unit/test_mpm_golden_slow
tests_unit_test_mpm_golden_slow_SOURCES = $(tests_unit_test_mpm_golden_SOURCES)
tests_unit_test_mpm_golden_slow_CPPFLAGS = $(mpm_test_cppflags) -DSLOW
tests_unit_test_mpm_golden_slow_LDADD = $(mpm_test_ldadd)

SLOW_TESTS += tests/unit/test_mpm_tables
tests_unit_test_mpm_tables_SOURCES = tests/unit/test_mpm_tables.c $(mpm_test_support)
tests_unit_test_mpm_tables_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_tables_LDADD = $(mpm_test_ldadd)

SLOW_TESTS += tests/unit/test_mpm_gradient
tests_unit_test_mpm_gradient_SOURCES = tests/unit/test_mpm_gradient.c $(mpm_test_support)
tests_unit_test_mpm_gradient_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_gradient_LDADD = $(mpm_test_ldadd)
SLOW_TESTS += tests/unit/test_mpm_golden_fast_slow
tests_unit_test_mpm_golden_fast_slow_SOURCES = $(tests_unit_test_mpm_golden_SOURCES)
tests_unit_test_mpm_golden_fast_slow_CPPFLAGS = $(mpm_test_cppflags) -DSLOW -DFAST
tests_unit_test_mpm_golden_fast_slow_LDADD = $(mpm_test_ldadd)

check_PROGRAMS += tests/unit/test_mpm_laws
tests_unit_test_mpm_laws_SOURCES = tests/unit/test_mpm_laws.c $(mpm_test_support)
tests_unit_test_mpm_laws_CPPFLAGS = $(mpm_test_cppflags)
tests_unit_test_mpm_laws_LDADD = $(mpm_test_ldadd)

# The plugin fluid, and the same at more points and full size.
check_PROGRAMS += tests/unit/test_fluid
tests_unit_test_fluid_SOURCES = tests/unit/test_fluid.c $(fake_cma)
tests_unit_test_fluid_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_fluid_LDADD = $(CMOCKA_LIBS)
SLOW_TESTS += tests/unit/test_fluid_slow
tests_unit_test_fluid_slow_SOURCES = $(tests_unit_test_fluid_SOURCES)
tests_unit_test_fluid_slow_CPPFLAGS = $(TEST_CPPFLAGS) -DSLOW
tests_unit_test_fluid_slow_LDADD = $(CMOCKA_LIBS)
