# SPDX-License-Identifier: Apache-2.0

EXTRA_PROGRAMS += bench/bench_cma
bench_bench_cma_SOURCES = bench/bench_cma.c

bench_bench_cma_LDADD = plugins/optimizers/methods/libcma.la
# Times of the Gaussian process: make bench/bench_gp && bench/bench_gp
EXTRA_PROGRAMS += bench/bench_gp
bench_bench_gp_SOURCES = bench/bench_gp.c

bench_bench_gp_LDADD = plugins/optimizers/methods/libbayes.la
# Overhead of the host per evaluation: make bench/bench_overhead && bench/bench_overhead
EXTRA_PROGRAMS += bench/bench_overhead
bench_bench_overhead_SOURCES = bench/bench_overhead.c
bench_bench_overhead_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
bench_bench_overhead_LDADD = core/libcore.la $(core_libs)
# Time per episode of the rigid scenes: make bench/bench_rigid && DS_PLUGIN_PATH=plugins bench/bench_rigid
EXTRA_PROGRAMS += bench/bench_rigid
bench_bench_rigid_SOURCES = bench/bench_rigid.c
bench_bench_rigid_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
bench_bench_rigid_LDADD = core/libcore.la $(core_libs)
# Times of the plasticine engine: make bench/bench_mpm && bench/bench_mpm 50
EXTRA_PROGRAMS += bench/bench_mpm
bench_bench_mpm_SOURCES = bench/bench_mpm.c plugins/envs/torus.c
bench_bench_mpm_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/plugins/envs/engines/mpm
bench_bench_mpm_LDADD = plugins/envs/engines/mpm/libmpm.la
# Time per episode of the cloth scenes: make bench/bench_cloth && DS_PLUGIN_PATH=plugins bench/bench_cloth
EXTRA_PROGRAMS += bench/bench_cloth
bench_bench_cloth_SOURCES = bench/bench_cloth.c
bench_bench_cloth_CPPFLAGS = $(AM_CPPFLAGS) $(host_include)
bench_bench_cloth_LDADD = core/libcore.la $(core_libs)
# Gradient steps of sac, and ppo as a whole: make bench/bench_rl && bench/bench_rl
EXTRA_PROGRAMS += bench/bench_rl
bench_bench_rl_SOURCES = bench/bench_rl.c
bench_bench_rl_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS) $(host_include) -I$(top_srcdir)/tests/support
bench_bench_rl_LDADD = tests/support/libtest.la plugins/optimizers/methods/librl.la core/libcore.la $(core_libs)
