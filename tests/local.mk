# SPDX-License-Identifier: Apache-2.0
# Tests: cmocka programs (TAP through tests/tap-wrap.sh) and shell scripts that print TAP.
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/tap-wrap.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	DS_SHARED=$${DS_SHARED-$(abs_top_srcdir)/../shared}; export DS_SHARED; \
	DS_TOP_SRC=$(abs_top_srcdir); export DS_TOP_SRC; \
	DS_TOP_BUILD=$(abs_top_builddir); export DS_TOP_BUILD; \
	DS_CC='$(CC)'; export DS_CC; \
	DS_SANITIZE='$(DS_SANITIZE)'; export DS_SANITIZE; \
	CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	OPENBLAS_NUM_THREADS=1; export OPENBLAS_NUM_THREADS; \
	OMP_NUM_THREADS=1; export OMP_NUM_THREADS; \
	LC_ALL=C; export LC_ALL; TZ=UTC; export TZ;
TESTS += $(check_PROGRAMS) $(check_SCRIPTS)
dist_check_SCRIPTS = tests/layers.sh
EXTRA_DIST += core/LAYERS
# Programs and scripts that take minutes: `make check-slow`.
SLOW_TESTS =
slow_scripts =
EXTRA_PROGRAMS += $(SLOW_TESTS)
EXTRA_DIST += $(slow_scripts)
check_SCRIPTS = $(dist_check_SCRIPTS)
EXTRA_DIST += tests/tap-wrap.sh
TEST_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
include tests/pictures.mk

check-slow: all $(check_PROGRAMS) $(check_LTLIBRARIES) $(SLOW_TESTS)
	@$(AM_TESTS_ENVIRONMENT) { \
	for t in $(SLOW_TESTS); do echo "== $$t"; $(SHELL) $(srcdir)/tests/tap-wrap.sh ./$$t; done; \
	for t in $(slow_scripts); do echo "== $$t"; $(SHELL) $(srcdir)/$$t || echo "not ok - $$t"; done; \
	} 2>&1 | tee check-slow.log; \
	! grep -qE '^(not ok|Bail out)' check-slow.log
.PHONY: check-slow
include tests/cma.mk
include tests/back.mk
include tests/plugins.mk
include tests/rigid.mk
include tests/embed.mk
include tests/front.mk
include tests/bayes.mk
include tests/mpm.mk
include tests/mpm_bad.mk
include tests/opts.mk
include tests/rl.mk
include tests/cloth.mk
include tests/bench.mk
include tests/stats.mk
include tests/resid.mk
include tests/lscape.mk
include tests/leap.mk
include tests/params.mk
