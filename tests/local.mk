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
dist_check_SCRIPTS =
check_SCRIPTS = $(dist_check_SCRIPTS)
EXTRA_DIST += tests/tap-wrap.sh
TEST_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
include tests/pictures.mk
