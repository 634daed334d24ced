# SPDX-License-Identifier: Apache-2.0
# Tests of the interface itself: headers, frozen layout, plugins old, bad and by others, the conformance kit.
dist_check_SCRIPTS += tests/headers.sh
dist_check_SCRIPTS += tests/cli/check.sh
dist_check_SCRIPTS += tests/cli/check_plugins.sh
slow_scripts += tests/cli/check_plugins_slow.sh
dist_check_SCRIPTS += tests/cli/examples.sh
dist_check_SCRIPTS += tests/cli/loader.sh
EXTRA_DIST += tests/abi/plugin_v0_1.c tests/abi/plugin_v0_1.h tests/bad

check_PROGRAMS += tests/unit/test_abi
tests_unit_test_abi_SOURCES = tests/unit/test_abi.c
tests_unit_test_abi_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_test_abi_LDADD = $(CMOCKA_LIBS)
