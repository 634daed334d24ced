# SPDX-License-Identifier: Apache-2.0
# Tests of LeapRefine and what it shares with bo and boleap, and of every optimizer through the program.
check_PROGRAMS += tests/unit/test_leaprefine
tests_unit_test_leaprefine_SOURCES = tests/unit/test_leaprefine.c $(optimizer_run_sources)
tests_unit_test_leaprefine_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_leaprefine_LDADD = plugins/optimizers/methods/libbayes.la $(CMOCKA_LIBS)
dist_check_SCRIPTS += tests/cli/optimizers.sh tests/cli/optimizer_edges.sh
slow_scripts += tests/cli/optimizers_slow.sh tests/cli/orders_slow.sh
