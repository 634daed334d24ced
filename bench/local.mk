# SPDX-License-Identifier: Apache-2.0

EXTRA_PROGRAMS += bench/bench_cma
bench_bench_cma_SOURCES = bench/bench_cma.c
bench_bench_cma_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/plugins/optimizers
bench_bench_cma_LDADD = plugins/optimizers/methods/libcma.la
