# SPDX-License-Identifier: Apache-2.0
# Environment plugins and the engines they share. Includes of engines are written "engines/FOLDER/file.h".
noinst_LTLIBRARIES += $(env_engine_libs)
env_engine_libs = plugins/envs/engines/kit/libkit.la plugins/envs/engines/functions/libfunctions.la \
	plugins/envs/engines/foreign/libforeign.la plugins/envs/engines/chain/libchain.la \
	plugins/envs/engines/contact/libcontact.la plugins/envs/engines/penalty/libpenalty.la \
	plugins/envs/engines/cloth/libcloth.la plugins/envs/engines/mpm/libmpm.la $(mpm_variants)

# The kit: what environments have in common, a table of functions and the scene extension from tables.
plugins_envs_engines_kit_libkit_la_SOURCES = plugins/envs/engines/kit/env_kit.h \
	plugins/envs/engines/kit/env_kit.c plugins/envs/engines/kit/scene_kit.h \
	plugins/envs/engines/kit/scene_kit.c

# Test functions with known optimum.
plugins_envs_engines_functions_libfunctions_la_SOURCES = plugins/envs/engines/functions/function.h \
	plugins/envs/engines/functions/functions.h plugins/envs/engines/functions/functions.c \
	plugins/envs/engines/functions/smooth.c plugins/envs/engines/functions/rugged.c \
	plugins/envs/engines/functions/classic.c plugins/envs/engines/functions/bbob.h \
	plugins/envs/engines/functions/bbob.c plugins/envs/engines/functions/bbob_draw.h \
	plugins/envs/engines/functions/bbob_draw.c plugins/envs/engines/functions/squares.h \
	plugins/envs/engines/functions/squares.c

# Calls of functions of other libraries, described by a signature.
plugins_envs_engines_foreign_libforeign_la_CPPFLAGS = $(AM_CPPFLAGS) $(FFI_CFLAGS)
plugins_envs_engines_foreign_libforeign_la_LIBADD = $(FFI_LIBS)
plugins_envs_engines_foreign_libforeign_la_SOURCES = plugins/envs/engines/foreign/call.c \
	plugins/envs/engines/foreign/call.h plugins/envs/engines/foreign/signature.c \
	plugins/envs/engines/foreign/signature.h

# Rigid bodies: a planar chain of links on a cart; a ball among boxes and walls in the plane (linear
# complementarity, impact, episode); a particle against planes with penalty (compliant) contact.
plugins_envs_engines_chain_libchain_la_SOURCES = plugins/envs/engines/chain/chain.h \
	plugins/envs/engines/chain/chain.c
plugins_envs_engines_contact_libcontact_la_SOURCES = plugins/envs/engines/contact/ball.h \
	plugins/envs/engines/contact/ball.c plugins/envs/engines/contact/ball_adjoint.c \
	plugins/envs/engines/contact/dense.h plugins/envs/engines/contact/dense.c \
	plugins/envs/engines/contact/impact.h plugins/envs/engines/contact/impact.c \
	plugins/envs/engines/contact/lcp.h plugins/envs/engines/contact/lcp.c plugins/envs/engines/contact/shape.h \
	plugins/envs/engines/contact/shape.c
plugins_envs_engines_penalty_libpenalty_la_SOURCES = plugins/envs/engines/penalty/penalty.h \
	plugins/envs/engines/penalty/penalty.c

# Mass-spring systems on a lattice with contact. Of OpenMP only the directives for vectorization, no threads.
plugins_envs_engines_cloth_libcloth_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -fopenmp-simd
plugins_envs_engines_cloth_libcloth_la_SOURCES = plugins/envs/engines/cloth/cloth.h \
	plugins/envs/engines/cloth/cloth.c plugins/envs/engines/cloth/disc.h plugins/envs/engines/cloth/disc.c \
	plugins/envs/engines/cloth/floor.c plugins/envs/engines/cloth/lift.h plugins/envs/engines/cloth/lift.c \
	plugins/envs/engines/cloth/mesh.h plugins/envs/engines/cloth/mesh.c plugins/envs/engines/cloth/pan.c \
	plugins/envs/engines/cloth/pan_shape.h plugins/envs/engines/cloth/pan_shape.c \
	plugins/envs/engines/cloth/sets.h plugins/envs/engines/cloth/sheet.h plugins/envs/engines/cloth/sheet.c \
	plugins/envs/engines/cloth/spring.h plugins/envs/engines/cloth/spring.c plugins/envs/engines/cloth/touch.h \
	plugins/envs/engines/cloth/trajectory.h plugins/envs/engines/cloth/trajectory.c

# Material points. scene: bodies, tools and where they are; sim: the plain scalar simulation, the oracle of
# the fast one; loss: what the tasks measure; fast: the engine with vectors and threads; env: the environment
# interface of the tasks. Options that help the fixed-size inner loops and never change what floating-point
# code means.
plugins_envs_engines_mpm_libmpm_la_CPPFLAGS = $(AM_CPPFLAGS) $(mpm_select)
plugins_envs_engines_mpm_libmpm_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -finline-functions
plugins_envs_engines_mpm_libmpm_la_LIBADD = $(mpm_variants) plugins/envs/engines/kit/libkit.la
plugins_envs_engines_mpm_libmpm_la_SOURCES = plugins/envs/engines/mpm/scene/mat3.h \
	plugins/envs/engines/mpm/scene/mt19937.c plugins/envs/engines/mpm/scene/mt19937.h \
	plugins/envs/engines/mpm/scene/quaternion.c plugins/envs/engines/mpm/scene/quaternion.h \
	plugins/envs/engines/mpm/scene/scene.c plugins/envs/engines/mpm/scene/scene.h \
	plugins/envs/engines/mpm/scene/tool.h plugins/envs/engines/mpm/scene/tool_contact.c \
	plugins/envs/engines/mpm/scene/tool_motion.c plugins/envs/engines/mpm/scene/tool_shape.c \
	plugins/envs/engines/mpm/sim/deform.c plugins/envs/engines/mpm/sim/deform.h \
	plugins/envs/engines/mpm/sim/grid.c plugins/envs/engines/mpm/sim/grid.h \
	plugins/envs/engines/mpm/sim/material.c plugins/envs/engines/mpm/sim/material.h \
	plugins/envs/engines/mpm/sim/sim.c plugins/envs/engines/mpm/sim/sim.h plugins/envs/engines/mpm/sim/svd3.c \
	plugins/envs/engines/mpm/sim/svd3.h plugins/envs/engines/mpm/sim/transfer.c \
	plugins/envs/engines/mpm/sim/transfer.h plugins/envs/engines/mpm/loss/distance.c \
	plugins/envs/engines/mpm/loss/distance.h plugins/envs/engines/mpm/loss/loss.c \
	plugins/envs/engines/mpm/loss/loss.h plugins/envs/engines/mpm/loss/target.c \
	plugins/envs/engines/mpm/loss/target.h plugins/envs/engines/mpm/fast/adjoint.c \
	plugins/envs/engines/mpm/fast/engine.c plugins/envs/engines/mpm/fast/engine.h \
	plugins/envs/engines/mpm/fast/engine_internal.h plugins/envs/engines/mpm/fast/forward.c \
	plugins/envs/engines/mpm/fast/layout.c plugins/envs/engines/mpm/fast/memory.c \
	plugins/envs/engines/mpm/fast/plan.c plugins/envs/engines/mpm/fast/segment.c \
	plugins/envs/engines/mpm/fast/segment.h plugins/envs/engines/mpm/fast/strike.c \
	plugins/envs/engines/mpm/fast/strike.h plugins/envs/engines/mpm/fast/substep.c \
	plugins/envs/engines/mpm/fast/team.c plugins/envs/engines/mpm/fast/team.h \
	plugins/envs/engines/mpm/fast/kernels/select.c plugins/envs/engines/mpm/env/env.c \
	plugins/envs/engines/mpm/env/env.h plugins/envs/engines/mpm/env/env_params.c \
	plugins/envs/engines/mpm/env/env_params.h plugins/envs/engines/mpm/env/env_scene.c \
	plugins/envs/engines/mpm/env/env_scene.h plugins/envs/engines/mpm/env/episode.c \
	plugins/envs/engines/mpm/env/episode.h plugins/envs/engines/mpm/env/evaluate.c \
	plugins/envs/engines/mpm/env/evaluate.h plugins/envs/engines/mpm/env/instance.h \
	plugins/envs/engines/mpm/env/stepwise.c plugins/envs/engines/mpm/env/stepwise.h

# variant.c is compiled for each float type and instruction set; select.c chooses when the engine starts.
# Vectors that a set does not have are fine: everything is inlined, no vector is passed between files.
# Fused multiply-add is part of avx2 and avx512, and of their results.
mpm_kernel_sources = plugins/envs/engines/mpm/fast/kernels/variant.c \
	plugins/envs/engines/mpm/fast/kernels/kernels.h plugins/envs/engines/mpm/fast/kernels/chunk.h \
	plugins/envs/engines/mpm/fast/kernels/chunk_law.h plugins/envs/engines/mpm/fast/kernels/convert.h \
	plugins/envs/engines/mpm/fast/kernels/lanes.h plugins/envs/engines/mpm/fast/kernels/law.h \
	plugins/envs/engines/mpm/fast/kernels/law_fluid.h plugins/envs/engines/mpm/fast/kernels/nodes.h \
	plugins/envs/engines/mpm/fast/kernels/stencil.h
mpm_baseline_cflags = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -Wno-psabi
mpm_avx2_cflags = $(mpm_baseline_cflags) -mavx2 -mfma -ffp-contract=fast
mpm_avx512_cflags = $(mpm_baseline_cflags) $(AVX512_CFLAGS) -ffp-contract=fast
mpm_variants = plugins/envs/engines/mpm/fast/lib64_baseline.la plugins/envs/engines/mpm/fast/lib32_baseline.la
plugins_envs_engines_mpm_fast_lib64_baseline_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib64_baseline_la_CFLAGS = $(mpm_baseline_cflags) -DMPM_REAL_BITS=64 \
	-DMPM_LANES=4 -DMPM_ISA=baseline
plugins_envs_engines_mpm_fast_lib32_baseline_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib32_baseline_la_CFLAGS = $(mpm_baseline_cflags) -DMPM_REAL_BITS=32 \
	-DMPM_LANES=4 -DMPM_ISA=baseline
if X86_VARIANTS
mpm_select = -DMPM_X86_VARIANTS=1
mpm_variants += plugins/envs/engines/mpm/fast/lib64_avx2.la plugins/envs/engines/mpm/fast/lib32_avx2.la \
	plugins/envs/engines/mpm/fast/lib64_avx512.la plugins/envs/engines/mpm/fast/lib32_avx512.la
plugins_envs_engines_mpm_fast_lib64_avx2_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib64_avx2_la_CFLAGS = $(mpm_avx2_cflags) -DMPM_REAL_BITS=64 -DMPM_LANES=4 \
	-DMPM_ISA=avx2
plugins_envs_engines_mpm_fast_lib32_avx2_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib32_avx2_la_CFLAGS = $(mpm_avx2_cflags) -DMPM_REAL_BITS=32 -DMPM_LANES=8 \
	-DMPM_ISA=avx2
plugins_envs_engines_mpm_fast_lib64_avx512_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib64_avx512_la_CFLAGS = $(mpm_avx512_cflags) -DMPM_REAL_BITS=64 -DMPM_LANES=8 \
	-DMPM_ISA=avx512
plugins_envs_engines_mpm_fast_lib32_avx512_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib32_avx512_la_CFLAGS = $(mpm_avx512_cflags) -DMPM_REAL_BITS=32 \
	-DMPM_LANES=16 -DMPM_ISA=avx512
endif

# PlasticineLab's tasks together, without their plugin interface: a library for tests and make_targets.
EXTRA_LTLIBRARIES = plugins/envs/engines/mpm/libtasks.la
plugins_envs_engines_mpm_libtasks_la_SOURCES = plugins/envs/assembly.c plugins/envs/chopsticks.c \
	plugins/envs/move.c plugins/envs/pinch.c plugins/envs/rollingpin.c plugins/envs/rope.c plugins/envs/table.c \
	plugins/envs/torus.c plugins/envs/triplemove.c plugins/envs/writer.c plugins/envs/engines/mpm/env/tasks.c \
	plugins/envs/engines/mpm/env/tasks.h
plugins_envs_engines_mpm_libtasks_la_CPPFLAGS = $(AM_CPPFLAGS) -DMPM_TASKS_ONLY
plugins_envs_engines_mpm_libtasks_la_LIBADD = plugins/envs/engines/mpm/libmpm.la

# The plugins: PlasticineLab's tasks, then the others. The source of each is the file of its name.
envplugin_LTLIBRARIES += plugins/envs/assembly.la plugins/envs/chopsticks.la plugins/envs/move.la \
	plugins/envs/pinch.la plugins/envs/rollingpin.la plugins/envs/rope.la plugins/envs/table.la \
	plugins/envs/torus.la plugins/envs/triplemove.la plugins/envs/writer.la plugins/envs/analytic.la \
	plugins/envs/bounce.la plugins/envs/cartpole.la plugins/envs/cartpole_gym.la plugins/envs/ffi.la \
	plugins/envs/flip.la plugins/envs/fluid.la plugins/envs/pendulum.la plugins/envs/pinball.la \
	plugins/envs/realtosim.la plugins/envs/swing.la
plugins_envs_assembly_la_LDFLAGS = $(plugin_link)
plugins_envs_assembly_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_chopsticks_la_LDFLAGS = $(plugin_link)
plugins_envs_chopsticks_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_move_la_LDFLAGS = $(plugin_link)
plugins_envs_move_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_pinch_la_LDFLAGS = $(plugin_link)
plugins_envs_pinch_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_rollingpin_la_LDFLAGS = $(plugin_link)
plugins_envs_rollingpin_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_rope_la_LDFLAGS = $(plugin_link)
plugins_envs_rope_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_table_la_LDFLAGS = $(plugin_link)
plugins_envs_table_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_torus_la_LDFLAGS = $(plugin_link)
plugins_envs_torus_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_triplemove_la_LDFLAGS = $(plugin_link)
plugins_envs_triplemove_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_writer_la_LDFLAGS = $(plugin_link)
plugins_envs_writer_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_analytic_la_LDFLAGS = $(plugin_link)
plugins_envs_analytic_la_LIBADD = plugins/envs/engines/functions/libfunctions.la \
	plugins/envs/engines/kit/libkit.la
plugins_envs_bounce_la_LDFLAGS = $(plugin_link)
plugins_envs_bounce_la_LIBADD = plugins/envs/engines/penalty/libpenalty.la \
	plugins/envs/engines/kit/libkit.la
plugins_envs_cartpole_la_LDFLAGS = $(plugin_link)
plugins_envs_cartpole_la_LIBADD = plugins/envs/engines/chain/libchain.la plugins/envs/engines/kit/libkit.la
plugins_envs_cartpole_gym_la_LDFLAGS = $(plugin_link)
plugins_envs_cartpole_gym_la_LIBADD = plugins/envs/engines/kit/libkit.la
plugins_envs_ffi_la_LDFLAGS = $(plugin_link)
plugins_envs_ffi_la_LIBADD = plugins/envs/engines/foreign/libforeign.la plugins/envs/engines/kit/libkit.la
plugins_envs_flip_la_LDFLAGS = $(plugin_link)
plugins_envs_flip_la_LIBADD = plugins/envs/engines/cloth/libcloth.la plugins/envs/engines/kit/libkit.la
plugins_envs_fluid_la_LDFLAGS = $(plugin_link)
plugins_envs_fluid_la_LIBADD = plugins/envs/engines/mpm/libmpm.la
plugins_envs_pendulum_la_LDFLAGS = $(plugin_link)
plugins_envs_pendulum_la_LIBADD = plugins/envs/engines/kit/libkit.la
plugins_envs_pinball_la_LDFLAGS = $(plugin_link)
plugins_envs_pinball_la_LIBADD = plugins/envs/engines/contact/libcontact.la \
	plugins/envs/engines/kit/libkit.la
plugins_envs_realtosim_la_LDFLAGS = $(plugin_link)
plugins_envs_realtosim_la_LIBADD = plugins/envs/engines/cloth/libcloth.la plugins/envs/engines/kit/libkit.la
plugins_envs_swing_la_LDFLAGS = $(plugin_link)
plugins_envs_swing_la_LIBADD = plugins/envs/engines/cloth/libcloth.la plugins/envs/engines/kit/libkit.la

# Target densities and recorded lifts, found by the plugins beside themselves; also in a build outside of the
# source tree (make distcheck).
envdatadir = $(envplugindir)/data
dist_envdata_DATA = plugins/envs/data/chopsticks.targets plugins/envs/data/cloth.lift \
	plugins/envs/data/pinch.targets plugins/envs/data/rollingpin.targets plugins/envs/data/table.targets \
	plugins/envs/data/torus.targets plugins/envs/data/writer.targets
all-local: plugin-data-links
plugin-data-links:
	@for f in $(dist_envdata_DATA); do \
	  test -e $$f || { $(MKDIR_P) `dirname $$f` && $(LN_S) -f $(abs_srcdir)/$$f $$f; }; \
	done
mostlyclean-local:
	-for f in $(dist_envdata_DATA); do test ! -L $$f || rm -f $$f; done
.PHONY: plugin-data-links

# These make such files, when asked for by name (make plugins/envs/engines/mpm/make_targets): make_targets ID
# FILE, make_lift 1 0.002 0.1 > FILE.
EXTRA_PROGRAMS += plugins/envs/engines/mpm/make_targets plugins/envs/engines/cloth/make_lift
plugins_envs_engines_mpm_make_targets_SOURCES = plugins/envs/engines/mpm/env/make_targets.c
plugins_envs_engines_mpm_make_targets_LDADD = plugins/envs/engines/mpm/libtasks.la
plugins_envs_engines_cloth_make_lift_SOURCES = plugins/envs/engines/cloth/make_lift.c
plugins_envs_engines_cloth_make_lift_LDADD = plugins/envs/engines/cloth/libcloth.la
CLEANFILES += plugins/envs/engines/mpm/make_targets plugins/envs/engines/cloth/make_lift \
	plugins/envs/engines/mpm/libtasks.la
