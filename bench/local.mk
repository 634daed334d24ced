# SPDX-License-Identifier: Apache-2.0

# Times of the Gaussian process: make bench/bench_gp && bench/bench_gp
EXTRA_PROGRAMS += bench/bench_gp
bench_bench_gp_SOURCES = bench/bench_gp.c
bench_bench_gp_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
bench_bench_gp_LDADD = plugins/optimizers/methods/libbayes.la
