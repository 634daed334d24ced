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

check_PROGRAMS += tests/unit/test_contact
tests_unit_test_contact_SOURCES = tests/unit/test_contact.c $(rigid_cases)
tests_unit_test_contact_CPPFLAGS = $(rigid_cppflags)
tests_unit_test_contact_LDADD = plugins/envs/engines/contact/libcontact.la $(rigid_ldadd)

check_PROGRAMS += tests/unit/test_pinball
tests_unit_test_pinball_SOURCES = tests/unit/test_pinball.c $(rigid_cases)
tests_unit_test_pinball_CPPFLAGS = $(rigid_cppflags)
tests_unit_test_pinball_LDADD = plugins/envs/engines/contact/libcontact.la $(rigid_ldadd)

SLOW_TESTS += tests/unit/test_pinball_slow
EXTRA_PROGRAMS += tests/unit/test_pinball_slow
tests_unit_test_pinball_slow_SOURCES = tests/unit/test_pinball.c $(rigid_cases)
tests_unit_test_pinball_slow_CPPFLAGS = $(rigid_cppflags) -DSLOW
tests_unit_test_pinball_slow_LDADD = plugins/envs/engines/contact/libcontact.la $(rigid_ldadd)

check_PROGRAMS += tests/unit/test_bounce
tests_unit_test_bounce_SOURCES = tests/unit/test_bounce.c $(rigid_cases)
tests_unit_test_bounce_CPPFLAGS = $(rigid_cppflags)
tests_unit_test_bounce_LDADD = plugins/envs/engines/penalty/libpenalty.la $(rigid_ldadd)

