# SPDX-License-Identifier: Apache-2.0
# Timings, see README.md: make bench/bench_NAME && DS_PLUGIN_PATH=plugins bench/bench_NAME
BENCHMARKS = %D%/bench_basins %D%/bench_bodies %D%/bench_cloth %D%/bench_cma %D%/bench_episodes %D%/bench_fem %D%/bench_gp %D%/bench_hooks %D%/bench_lanes \
	%D%/bench_hybrid %D%/bench_methods %D%/bench_mpm %D%/bench_overhead %D%/bench_peers %D%/bench_render %D%/bench_rigid %D%/bench_rl %D%/bench_runs %D%/bench_steps %D%/bench_view
EXTRA_PROGRAMS += $(BENCHMARKS)
%D%/%.$(OBJEXT): AM_CPPFLAGS += $(test_cppflags) $(isa_select)
%C%_bench_view_SOURCES = %D%/bench_view.c tools/view/view_formats.c
EXTRA_DIST += %D%/arm.ini %D%/bench.h %D%/drop.ini %D%/identify_starts.py %D%/peers.py %D%/quadruped.ini

benchmarks: $(BENCHMARKS)

# Ours and a peer's side by side; peers that the Python of DS_PEER_PYTHON (python3) lacks have no row.
bench-peers: %D%/bench_peers$(EXEEXT) %D%/bench_rl$(EXEEXT) plugins/envs/cartpole.la plugins/envs/pendulum.la plugins/envs/bounce.la plugins/envs/particles.la plugins/envs/robot.la
	DS_TOP_SRC='$(srcdir)' DS_TOP_BUILD=. DS_PLUGIN_PATH=plugins %D%/bench_peers$(EXEEXT)
	DS_TOP_SRC='$(srcdir)' DS_TOP_BUILD=. DS_PLUGIN_PATH=plugins %D%/bench_rl$(EXEEXT) sac-256 sac-64 ppo
.PHONY: bench-peers benchmarks
