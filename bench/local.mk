# SPDX-License-Identifier: Apache-2.0
# Measurements, built by hand: make bench/bench_gp && bench/bench_gp; what each needs stands at the head of its source.
EXTRA_PROGRAMS += bench/bench_cloth bench/bench_cma bench/bench_gp bench/bench_mpm bench/bench_overhead \
	bench/bench_rigid bench/bench_rl
bench_bench_cloth_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
bench_bench_cloth_LDADD = core/libcore.la $(core_libs)
bench_bench_cma_LDADD = plugins/optimizers/methods/libcma.la
bench_bench_gp_LDADD = plugins/optimizers/methods/libbayes.la
bench_bench_mpm_SOURCES = bench/bench_mpm.c plugins/envs/torus.c
bench_bench_mpm_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/plugins/envs/engines/mpm
bench_bench_mpm_LDADD = plugins/envs/engines/mpm/libmpm.la
bench_bench_overhead_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
bench_bench_overhead_LDADD = core/libcore.la $(core_libs)
bench_bench_rigid_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
bench_bench_rigid_LDADD = core/libcore.la $(core_libs)
bench_bench_rl_CPPFLAGS = $(AM_CPPFLAGS) $(host_include) -I$(top_srcdir)/tests/support
bench_bench_rl_LDADD = tests/support/libtest.la plugins/optimizers/methods/librl.la core/libcore.la $(core_libs)
