# SPDX-License-Identifier: Apache-2.0
# Tests of the rigid scenes: chain and cartpole, contact and pinball, bounce.
rigid_cases = tests/unit/rigid_cases.c tests/unit/rigid_cases.h $(fake_cma)
rigid_cppflags = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS) -I$(top_srcdir)/plugins/envs/engines
rigid_ldadd = $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_chain tests/unit/test_cartpole
tests_unit_test_chain_SOURCES = tests/unit/test_chain.c $(rigid_cases)
tests_unit_test_chain_CPPFLAGS = $(rigid_cppflags)
tests_unit_test_chain_LDADD = plugins/envs/engines/chain/libchain.la $(rigid_ldadd)
tests_unit_test_cartpole_SOURCES = tests/unit/test_cartpole.c $(rigid_cases)
tests_unit_test_cartpole_CPPFLAGS = $(rigid_cppflags)
tests_unit_test_cartpole_LDADD = $(rigid_ldadd)
