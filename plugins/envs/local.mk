# SPDX-License-Identifier: Apache-2.0
# Environment plugins and the engines they share. Includes of engines are written "engines/FOLDER/file.h".
noinst_LTLIBRARIES += $(env_engine_libs)
# For sources that choose among kernels compiled for several instruction sets (common/isa.h).
if X86_VARIANTS
isa_select = -DISA_X86=1
endif
# Kernels for episodes side by side (engines/kit/lanes.h). The baseline also chooses among the variants.
lanes_cflags = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -Wno-psabi
lanes_baseline = $(lanes_cflags) -DLANES_ISA=baseline -DVECTOR_LANES=2 -DISA_FINDS $(isa_select)
lanes_avx2 = $(lanes_cflags) -mavx2 -DLANES_ISA=avx2 -DVECTOR_LANES=4
lanes_avx512 = $(lanes_cflags) $(AVX512_CFLAGS) -mno-fma -DLANES_ISA=avx512 -DVECTOR_LANES=8
env_engine_libs = %D%/engines/kit/libkit.la %D%/engines/functions/libfunctions.la \
	%D%/engines/ffi/libforeign.la \
	%D%/engines/physics/cloth/libcloth.la %D%/engines/physics/mpm/libmpm.la \
	%D%/engines/physics/mpm/libmpmscene.la $(mpm_variants)
include %D%/engines/rendering/render/local.mk
include %D%/engines/physics/fem/local.mk
include %D%/engines/physics/balance/local.mk
include %D%/engines/physics/chain/local.mk
include %D%/engines/physics/paddle/local.mk
include %D%/engines/physics/contact/local.mk
include %D%/engines/physics/control/local.mk
include %D%/engines/physics/penalty/local.mk
include %D%/engines/rendering/observation/local.mk
include %D%/engines/physics/soft/local.mk
include %D%/engines/kit/algebra/local.mk
include %D%/engines/physics/rigid/local.mk
include %D%/engines/physics/articulated/local.mk
include %D%/engines/physics/rod/local.mk
include %D%/engines/physics/pendulum/local.mk
include %D%/engines/data/local.mk
include %D%/engines/physics/throw/local.mk
include %D%/engines/physics/billiards/local.mk
include %D%/engines/physics/smoke/local.mk
include %D%/engines/physics/smoothing/local.mk
include %D%/engines/physics/quasidynamic/local.mk

# What the bundled environments share in addition to the public kit (diffsim/helper/env_kit.h): parts of descriptors,
# decision variables picked by name and their errors, threads and memory for engines.
%C%_engines_kit_libkit_la_SOURCES = \
	%D%/engines/kit/bundled.h \
	%D%/engines/kit/decision.c \
	%D%/engines/kit/decision.h \
	%D%/engines/kit/lanes.h \
	%D%/engines/kit/linear_model.h \
	%D%/engines/kit/memory_share.h \
	%D%/engines/kit/memory_share.c \
	%D%/engines/kit/norm.h \
	%D%/engines/kit/penalties.h \
	%D%/engines/kit/state_net.c \
	%D%/engines/kit/state_net.h \
	%D%/engines/kit/team.h \
	%D%/engines/kit/team.c

# Test functions with known optimum.
%C%_engines_functions_libfunctions_la_SOURCES = \
	%D%/engines/functions/bbob.c \
	%D%/engines/functions/bbob.h \
	%D%/engines/functions/function.h \
	%D%/engines/functions/functions.c \
	%D%/engines/functions/functions.h \
	%D%/engines/functions/textbook.c

# Calls of functions of other libraries, described by a signature.
%C%_engines_ffi_libforeign_la_CPPFLAGS = $(AM_CPPFLAGS) $(FFI_CFLAGS)
%C%_engines_ffi_libforeign_la_LIBADD = $(FFI_LIBS)
%C%_engines_ffi_libforeign_la_SOURCES = \
	%D%/engines/ffi/call.c \
	%D%/engines/ffi/call.h

# Mass-spring systems on a lattice with contact. Of OpenMP only the directives for vectorization, no threads.
%C%_engines_physics_cloth_libcloth_la_SOURCES =
%C%_engines_physics_cloth_libcloth_la_LIBADD = %D%/engines/physics/cloth/libclothcore.la %D%/engines/physics/smoothing/libdistance.la %D%/engines/rendering/observation/libobservation.la \
	%D%/engines/physics/fem/libobstacle.la
env_engine_libs += %D%/engines/physics/cloth/libclothcore.la
%C%_engines_physics_cloth_libclothcore_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -fopenmp-simd
%C%_engines_physics_cloth_libclothcore_la_SOURCES = \
	%D%/engines/physics/cloth/cloth.h \
	%D%/engines/physics/cloth/cloth.c \
	%D%/engines/physics/cloth/touch.c \
	%D%/engines/physics/cloth/lift.h \
	%D%/engines/physics/cloth/lift.c \
	%D%/engines/physics/cloth/mesh.h \
	%D%/engines/physics/cloth/mesh.c \
	%D%/engines/physics/cloth/camera.h \
	%D%/engines/physics/cloth/camera.c \
	%D%/engines/physics/cloth/env/constants.c \
	%D%/engines/physics/cloth/env/constants.h \
	%D%/engines/physics/cloth/env/disc_env.c \
	%D%/engines/physics/cloth/env/disc_env.h \
	%D%/engines/physics/cloth/env/sheet_env.c \
	%D%/engines/physics/cloth/env/sheet_env.h \
	%D%/engines/physics/cloth/sets.h \
	%D%/engines/physics/cloth/sheet.h \
	%D%/engines/physics/cloth/sheet.c \
	%D%/engines/physics/cloth/vertex_net.c \
	%D%/engines/physics/cloth/vertex_net.h \
	%D%/engines/physics/cloth/solid.h \
	%D%/engines/physics/cloth/solid.c \
	%D%/engines/physics/cloth/spring.h \
	%D%/engines/physics/cloth/spring.c \
	%D%/engines/physics/cloth/touch.h \
	%D%/engines/physics/cloth/trajectory.h \
	%D%/engines/physics/cloth/trajectory.c

# A cloth from a recorded lift.
env_engine_libs += %D%/engines/physics/cloth/libliftenv.la
%C%_engines_physics_cloth_libliftenv_la_SOURCES = \
	%D%/engines/physics/cloth/env/lift_env.c \
	%D%/engines/physics/cloth/env/lift_env.h

# Scenes of the spring model from files.
env_engine_libs += %D%/engines/physics/cloth/libspringsscene.la
%C%_engines_physics_cloth_libspringsscene_la_SOURCES = \
	%D%/engines/physics/cloth/env/springs_scene.c \
	%D%/engines/physics/cloth/env/springs_scene.h

# Material points. sim: bodies, tools, losses, and the scalar simulation, the reference of the fast one; fast: the engine
# with vectors and threads; env: the environment interface of the tasks. These options help fixed-size inner loops and
# never change what floating-point code means.
%C%_engines_physics_mpm_libmpm_la_CPPFLAGS = $(AM_CPPFLAGS) $(isa_select)
%C%_engines_physics_mpm_libmpm_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -finline-functions
%C%_engines_physics_mpm_libmpm_la_LIBADD = $(mpm_variants) %D%/engines/data/libdistancegrid.la %D%/engines/kit/algebra/libalgebra.la %D%/engines/rendering/observation/libobservation.la
%C%_engines_physics_mpm_libmpm_la_SOURCES = \
	%D%/engines/physics/mpm/env/env.c \
	%D%/engines/physics/mpm/env/env.h \
	%D%/engines/physics/mpm/env/env_params.c \
	%D%/engines/physics/mpm/env/episode.c \
	%D%/engines/physics/mpm/env/episode.h \
	%D%/engines/physics/mpm/env/ladle.c \
	%D%/engines/physics/mpm/env/ladle.h \
	%D%/engines/physics/mpm/env/sizes.c \
	%D%/engines/physics/mpm/env/sizes.h \
	%D%/engines/physics/mpm/env/stepwise.c \
	%D%/engines/physics/mpm/env/stepwise.h \
	%D%/engines/physics/mpm/env/terms.c \
	%D%/engines/physics/mpm/env/terms.h \
	%D%/engines/physics/mpm/env/variables.c \
	%D%/engines/physics/mpm/env/variables.h \
	%D%/engines/physics/mpm/fast/engine.c \
	%D%/engines/physics/mpm/fast/engine.h \
	%D%/engines/physics/mpm/fast/engine_internal.h \
	%D%/engines/physics/mpm/fast/segment.c \
	%D%/engines/physics/mpm/fast/select.c \
	%D%/engines/physics/mpm/fast/strike.c \
	%D%/engines/physics/mpm/fast/strike.h \
	%D%/engines/physics/mpm/fast/substep.c \
	%D%/engines/physics/mpm/sim/deform.c \
	%D%/engines/physics/mpm/sim/deform.h \
	%D%/engines/physics/mpm/sim/grid.c \
	%D%/engines/physics/mpm/sim/grid.h \
	%D%/engines/physics/mpm/sim/loss.c \
	%D%/engines/physics/mpm/sim/loss.h \
	%D%/engines/physics/mpm/sim/material.c \
	%D%/engines/physics/mpm/sim/material.h \
	%D%/engines/physics/mpm/sim/sand.c \
	%D%/engines/physics/mpm/sim/sand.h \
	%D%/engines/physics/mpm/sim/scene.c \
	%D%/engines/physics/mpm/sim/scene.h \
	%D%/engines/physics/mpm/sim/sim.c \
	%D%/engines/physics/mpm/sim/sim.h \
	%D%/engines/physics/mpm/sim/target.c \
	%D%/engines/physics/mpm/sim/target.h \
	%D%/engines/physics/mpm/sim/tool.c \
	%D%/engines/physics/mpm/sim/tool.h

# Tasks from scene files.
%C%_engines_physics_mpm_libmpmscene_la_LIBADD = %D%/engines/physics/mpm/libmpm.la %D%/engines/data/libscenefile.la \
	%D%/engines/data/libsurface.la
%C%_engines_physics_mpm_libmpmscene_la_SOURCES = \
	%D%/engines/physics/mpm/env/setup.c \
	%D%/engines/physics/mpm/env/setup.h \
	%D%/engines/physics/mpm/env/setup_bodies.c \
	%D%/engines/physics/mpm/env/setup_bodies.h \
	%D%/engines/physics/mpm/env/setup_targets.c \
	%D%/engines/physics/mpm/env/setup_targets.h \
	%D%/engines/physics/mpm/env/setup_tools.c \
	%D%/engines/physics/mpm/env/setup_tools.h \
	%D%/engines/physics/mpm/env/setup_values.c \
	%D%/engines/physics/mpm/env/setup_values.h

# variant.c is compiled for each float type and instruction set; select.c chooses when the engine starts.
# Vectors wider than those of the set work too: everything is inlined, no vector is passed between files.
# Fused multiply-add is part of avx2 and avx512, and of their results. The portable variants compute the bits of
# the baseline with wider vectors: nothing is fused, and chunks have the same size.
mpm_kernel_sources = \
	%D%/engines/physics/mpm/fast/chunk.h \
	%D%/engines/physics/mpm/fast/kernels.h \
	%D%/engines/physics/mpm/fast/lanes.h \
	%D%/engines/physics/mpm/fast/law.h \
	%D%/engines/physics/mpm/fast/nodes.h \
	%D%/engines/physics/mpm/fast/sand.h \
	%D%/engines/physics/mpm/fast/stencil.h \
	%D%/engines/physics/mpm/fast/variant.c
mpm_vector_cflags = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -Wno-psabi
mpm_baseline_cflags = $(mpm_vector_cflags) -DMPM_ISA=baseline
mpm_avx2_cflags = $(mpm_vector_cflags) -mavx2 -mfma -ffp-contract=fast -DMPM_FUSED -DMPM_ISA=avx2
mpm_avx512_cflags = $(mpm_vector_cflags) $(AVX512_CFLAGS) -ffp-contract=fast -DMPM_FUSED -DMPM_ISA=avx512
mpm_portable_avx2_cflags = $(mpm_vector_cflags) -mavx2 -DMPM_CHUNK=16 -DMPM_ISA=portable_avx2
mpm_portable_avx512_cflags = $(mpm_vector_cflags) $(AVX512_CFLAGS) -mno-fma -DMPM_CHUNK=16 -DMPM_ISA=portable_avx512
mpm_variants = %D%/engines/physics/mpm/fast/lib64_baseline.la %D%/engines/physics/mpm/fast/lib32_baseline.la
%C%_engines_physics_mpm_fast_lib64_baseline_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib64_baseline_la_CFLAGS = $(mpm_baseline_cflags) -DMPM_REAL_BITS=64 -DMPM_LANES=4
%C%_engines_physics_mpm_fast_lib32_baseline_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib32_baseline_la_CFLAGS = $(mpm_baseline_cflags) -DMPM_REAL_BITS=32 -DMPM_LANES=4
if X86_VARIANTS
mpm_variants += %D%/engines/physics/mpm/fast/lib64_avx2.la %D%/engines/physics/mpm/fast/lib32_avx2.la \
	%D%/engines/physics/mpm/fast/lib64_avx512.la %D%/engines/physics/mpm/fast/lib32_avx512.la \
	%D%/engines/physics/mpm/fast/lib64_portable_avx2.la %D%/engines/physics/mpm/fast/lib32_portable_avx2.la \
	%D%/engines/physics/mpm/fast/lib64_portable_avx512.la %D%/engines/physics/mpm/fast/lib32_portable_avx512.la
%C%_engines_physics_mpm_fast_lib64_avx2_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib64_avx2_la_CFLAGS = $(mpm_avx2_cflags) -DMPM_REAL_BITS=64 -DMPM_LANES=4
%C%_engines_physics_mpm_fast_lib32_avx2_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib32_avx2_la_CFLAGS = $(mpm_avx2_cflags) -DMPM_REAL_BITS=32 -DMPM_LANES=8
%C%_engines_physics_mpm_fast_lib64_avx512_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib64_avx512_la_CFLAGS = $(mpm_avx512_cflags) -DMPM_REAL_BITS=64 -DMPM_LANES=8
%C%_engines_physics_mpm_fast_lib32_avx512_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib32_avx512_la_CFLAGS = $(mpm_avx512_cflags) -DMPM_REAL_BITS=32 -DMPM_LANES=16
%C%_engines_physics_mpm_fast_lib64_portable_avx2_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib64_portable_avx2_la_CFLAGS = $(mpm_portable_avx2_cflags) -DMPM_REAL_BITS=64 -DMPM_LANES=4
%C%_engines_physics_mpm_fast_lib32_portable_avx2_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib32_portable_avx2_la_CFLAGS = $(mpm_portable_avx2_cflags) -DMPM_REAL_BITS=32 -DMPM_LANES=8
%C%_engines_physics_mpm_fast_lib64_portable_avx512_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib64_portable_avx512_la_CFLAGS = $(mpm_portable_avx512_cflags) -DMPM_REAL_BITS=64 -DMPM_LANES=8
%C%_engines_physics_mpm_fast_lib32_portable_avx512_la_SOURCES = $(mpm_kernel_sources)
%C%_engines_physics_mpm_fast_lib32_portable_avx512_la_CFLAGS = $(mpm_portable_avx512_cflags) -DMPM_REAL_BITS=32 -DMPM_LANES=16
endif

# PlasticineLab's tasks together, without their plugin interface: a library for tests and make_targets.
EXTRA_LTLIBRARIES = %D%/engines/physics/mpm/libtasks.la
%C%_engines_physics_mpm_libtasks_la_SOURCES = \
	%D%/plasticine/assembly.c \
	%D%/plasticine/chopsticks.c \
	%D%/plasticine/move.c \
	%D%/plasticine/pinch.c \
	%D%/plasticine/rollingpin.c \
	%D%/plasticine/rope.c \
	%D%/plasticine/table.c \
	%D%/plasticine/torus.c \
	%D%/plasticine/triplemove.c \
	%D%/plasticine/writer.c \
	%D%/plasticine/tasks.c \
	%D%/plasticine/tasks.h
%C%_engines_physics_mpm_libtasks_la_CPPFLAGS = $(AM_CPPFLAGS) -DMPM_TASKS_ONLY
%C%_engines_physics_mpm_libtasks_la_LIBADD = %D%/engines/physics/mpm/libmpm.la

# The plugins: PlasticineLab's tasks, then the others. The source of each is the file of its name, here or in the room
# of its family (plasticine/, gradsim/, pendula/, neuralsim/).
envplugin_LTLIBRARIES += %D%/assembly.la %D%/chopsticks.la %D%/move.la %D%/pinch.la %D%/rollingpin.la \
	%D%/rope.la %D%/table.la %D%/torus.la %D%/triplemove.la %D%/writer.la %D%/analytic.la %D%/bounce.la \
	%D%/cartpole.la %D%/cartpole_gym.la %D%/cloth.la %D%/ffi.la %D%/flip.la %D%/fluid.la %D%/particles.la %D%/pendulum.la \
	%D%/pinball.la %D%/realtosim.la %D%/robot.la %D%/smoke.la %D%/swing.la
%C%_assembly_la_SOURCES = %D%/plasticine/assembly.c
%C%_assembly_la_LDFLAGS = $(plugin_link)
%C%_assembly_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_chopsticks_la_SOURCES = %D%/plasticine/chopsticks.c
%C%_chopsticks_la_LDFLAGS = $(plugin_link)
%C%_chopsticks_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_move_la_SOURCES = %D%/plasticine/move.c
%C%_move_la_LDFLAGS = $(plugin_link)
%C%_move_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_pinch_la_SOURCES = %D%/plasticine/pinch.c
%C%_pinch_la_LDFLAGS = $(plugin_link)
%C%_pinch_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_rollingpin_la_SOURCES = %D%/plasticine/rollingpin.c
%C%_rollingpin_la_LDFLAGS = $(plugin_link)
%C%_rollingpin_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_rope_la_SOURCES = %D%/plasticine/rope.c
%C%_rope_la_LDFLAGS = $(plugin_link)
%C%_rope_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_table_la_SOURCES = %D%/plasticine/table.c
%C%_table_la_LDFLAGS = $(plugin_link)
%C%_table_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_torus_la_SOURCES = %D%/plasticine/torus.c
%C%_torus_la_LDFLAGS = $(plugin_link)
%C%_torus_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_triplemove_la_SOURCES = %D%/plasticine/triplemove.c
%C%_triplemove_la_LDFLAGS = $(plugin_link)
%C%_triplemove_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_writer_la_SOURCES = %D%/plasticine/writer.c
%C%_writer_la_LDFLAGS = $(plugin_link)
%C%_writer_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_analytic_la_LDFLAGS = $(plugin_link)
%C%_analytic_la_LIBADD = %D%/engines/functions/libfunctions.la %D%/engines/kit/libkit.la
%C%_bounce_la_LDFLAGS = $(plugin_link)
%C%_bounce_la_LIBADD = %D%/engines/physics/penalty/libpenalty.la %D%/engines/kit/libkit.la
%C%_cartpole_la_LDFLAGS = $(plugin_link)
%C%_cartpole_la_LIBADD = %D%/engines/physics/chain/libchain.la %D%/engines/kit/libkit.la
%C%_cartpole_gym_la_LDFLAGS = $(plugin_link)
%C%_cartpole_gym_la_LIBADD = %D%/engines/physics/balance/libbalance.la %D%/engines/kit/libkit.la
%C%_cloth_la_LDFLAGS = $(plugin_link)
%C%_cloth_la_LIBADD = %D%/engines/physics/cloth/libspringsscene.la %D%/engines/physics/cloth/libliftenv.la \
	%D%/engines/physics/cloth/libclothcore.la %D%/engines/physics/smoothing/libdistance.la \
	%D%/engines/physics/soft/libsoftscene.la
%C%_ffi_la_LDFLAGS = $(plugin_link)
%C%_ffi_la_LIBADD = %D%/engines/ffi/libforeign.la %D%/engines/kit/libkit.la
%C%_flip_la_LDFLAGS = $(plugin_link)
%C%_flip_la_LIBADD = %D%/engines/physics/cloth/libcloth.la
%C%_fluid_la_SOURCES = %D%/plasticine/fluid.c
%C%_fluid_la_LDFLAGS = $(plugin_link)
%C%_fluid_la_LIBADD = %D%/engines/physics/mpm/libmpm.la
%C%_particles_la_SOURCES = %D%/plasticine/particles.c
%C%_particles_la_LDFLAGS = $(plugin_link)
%C%_particles_la_LIBADD = %D%/engines/physics/mpm/libmpmscene.la
%C%_pendulum_la_LDFLAGS = $(plugin_link)
%C%_pendulum_la_LIBADD = %D%/engines/physics/rod/librod.la %D%/engines/kit/libkit.la
%C%_pinball_la_LDFLAGS = $(plugin_link)
%C%_pinball_la_LIBADD = %D%/engines/physics/contact/libcontact.la %D%/engines/kit/libkit.la
%C%_realtosim_la_LDFLAGS = $(plugin_link)
%C%_realtosim_la_LIBADD = %D%/engines/physics/cloth/libcloth.la %D%/engines/physics/cloth/libliftenv.la %D%/engines/data/librecording.la
%C%_smoke_la_SOURCES = %D%/gradsim/smoke.c
%C%_robot_la_SOURCES = %D%/robot.c %D%/robot/robot_controls.c %D%/robot/robot_env.h %D%/robot/robot_lanes.c %D%/robot/robot_loss.c %D%/robot/robot_residuals.c
%C%_robot_la_LDFLAGS = $(plugin_link)
%C%_robot_la_LIBADD = %D%/engines/physics/articulated/libarticulated.la %D%/engines/kit/libkit.la
%C%_smoke_la_LDFLAGS = $(plugin_link)
%C%_smoke_la_LIBADD = %D%/engines/physics/smoke/libsmoke.la %D%/engines/kit/libkit.la
%C%_swing_la_LDFLAGS = $(plugin_link)
%C%_swing_la_LIBADD = %D%/engines/physics/cloth/libcloth.la

# gradSim's scenes.
envplugin_LTLIBRARIES += %D%/rigid_contact.la %D%/rigid_mass.la %D%/pendulum_id.la \
	%D%/ball2d.la \
	%D%/beam.la %D%/soft_ball.la %D%/cloth_velocity.la %D%/cloth_throw.la \
	%D%/walker.la %D%/gear.la %D%/spring_cage.la %D%/soft.la %D%/jellyfish.la
%C%_jellyfish_la_SOURCES = %D%/gradsim/jellyfish.c
%C%_jellyfish_la_LDFLAGS = $(plugin_link)
%C%_jellyfish_la_LIBADD = %D%/engines/physics/soft/libsoft.la
%C%_rigid_contact_la_SOURCES = %D%/gradsim/rigid_contact.c
%C%_rigid_contact_la_LDFLAGS = $(plugin_link)
%C%_rigid_contact_la_LIBADD = %D%/engines/rendering/observation/libobserved.la %D%/engines/physics/rigid/librigid.la %D%/engines/physics/fem/libfem.la
%C%_rigid_mass_la_SOURCES = %D%/gradsim/rigid_mass.c
%C%_rigid_mass_la_LDFLAGS = $(plugin_link)
%C%_rigid_mass_la_LIBADD = %D%/engines/rendering/observation/libobserved.la %D%/engines/physics/rigid/librigid.la %D%/engines/physics/fem/libfem.la
%C%_pendulum_id_la_SOURCES = %D%/gradsim/pendulum_id.c
%C%_pendulum_id_la_LDFLAGS = $(plugin_link)
%C%_pendulum_id_la_LIBADD = %D%/engines/rendering/observation/libobserved.la %D%/engines/physics/pendulum/libpendulum.la %D%/engines/physics/fem/libfem.la
%C%_ball2d_la_SOURCES = %D%/gradsim/ball2d.c
%C%_ball2d_la_LDFLAGS = $(plugin_link)
%C%_ball2d_la_LIBADD = %D%/engines/rendering/observation/libobserved.la %D%/engines/physics/contact/libcontact.la %D%/engines/physics/fem/libfem.la
%C%_beam_la_SOURCES = %D%/gradsim/beam.c
%C%_beam_la_LDFLAGS = $(plugin_link)
%C%_beam_la_LIBADD = %D%/engines/physics/soft/libsoft.la
%C%_soft_ball_la_SOURCES = %D%/gradsim/soft_ball.c
%C%_soft_ball_la_LDFLAGS = $(plugin_link)
%C%_soft_ball_la_LIBADD = %D%/engines/physics/soft/libsoft.la
%C%_cloth_velocity_la_SOURCES = %D%/gradsim/cloth_velocity.c
%C%_cloth_velocity_la_LDFLAGS = $(plugin_link)
%C%_cloth_velocity_la_LIBADD = %D%/engines/physics/soft/libsoft.la
%C%_cloth_throw_la_SOURCES = %D%/gradsim/cloth_throw.c
%C%_cloth_throw_la_LDFLAGS = $(plugin_link)
%C%_cloth_throw_la_LIBADD = %D%/engines/physics/soft/libsoft.la
%C%_walker_la_SOURCES = %D%/gradsim/walker.c
%C%_walker_la_LDFLAGS = $(plugin_link)
%C%_walker_la_LIBADD = %D%/engines/physics/soft/libsoft.la
%C%_soft_la_SOURCES = %D%/gradsim/soft.c
%C%_soft_la_LDFLAGS = $(plugin_link)
%C%_soft_la_LIBADD = %D%/engines/physics/soft/libsoftscene.la
%C%_gear_la_SOURCES = %D%/gradsim/gear.c
%C%_gear_la_LDFLAGS = $(plugin_link)
%C%_gear_la_LIBADD = %D%/engines/physics/soft/libsoft.la
%C%_spring_cage_la_SOURCES = %D%/gradsim/spring_cage.c
%C%_spring_cage_la_LDFLAGS = $(plugin_link)
%C%_spring_cage_la_LIBADD = %D%/engines/physics/soft/libsoft.la

# Systems for the study of smoothed gradients.
envplugin_LTLIBRARIES += %D%/ball_wall.la %D%/ball_wall_soft.la %D%/friction.la %D%/heaviside.la %D%/hydro2d.la %D%/lp_norm.la \
	%D%/lqr.la %D%/momentum.la %D%/pivot.la %D%/planar_hand.la %D%/push.la %D%/push_far.la %D%/pusher1d.la \
	%D%/roomba.la %D%/sine_quadratic.la %D%/soft_heaviside.la %D%/spring_wall.la %D%/tennis.la
%C%_ball_wall_la_SOURCES = %D%/smoothing/ball_wall.c
%C%_ball_wall_la_LDFLAGS = $(plugin_link)
%C%_ball_wall_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_ball_wall_soft_la_SOURCES = %D%/smoothing/ball_wall_soft.c
%C%_ball_wall_soft_la_LDFLAGS = $(plugin_link)
%C%_ball_wall_soft_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_friction_la_SOURCES = %D%/smoothing/friction.c
%C%_friction_la_LDFLAGS = $(plugin_link)
%C%_friction_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_heaviside_la_SOURCES = %D%/smoothing/heaviside.c
%C%_heaviside_la_LDFLAGS = $(plugin_link)
%C%_heaviside_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_hydro2d_la_SOURCES = %D%/smoothing/hydro2d.c
%C%_hydro2d_la_LDFLAGS = $(plugin_link)
%C%_hydro2d_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_lp_norm_la_SOURCES = %D%/smoothing/lp_norm.c
%C%_lp_norm_la_LDFLAGS = $(plugin_link)
%C%_lp_norm_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_lqr_la_SOURCES = %D%/smoothing/lqr.c
%C%_lqr_la_LDFLAGS = $(plugin_link)
%C%_lqr_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_momentum_la_SOURCES = %D%/smoothing/momentum.c
%C%_momentum_la_LDFLAGS = $(plugin_link)
%C%_momentum_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_pivot_la_SOURCES = %D%/smoothing/pivot.c
%C%_pivot_la_LDFLAGS = $(plugin_link)
%C%_pivot_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_planar_hand_la_SOURCES = %D%/smoothing/planar_hand.c
%C%_planar_hand_la_LDFLAGS = $(plugin_link)
%C%_planar_hand_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la \
	%D%/engines/physics/quasidynamic/libquasidynamic.la
%C%_push_la_SOURCES = %D%/smoothing/push.c
%C%_push_la_LDFLAGS = $(plugin_link)
%C%_push_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_push_far_la_SOURCES = %D%/smoothing/push_far.c
%C%_push_far_la_LDFLAGS = $(plugin_link)
%C%_push_far_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_pusher1d_la_SOURCES = %D%/smoothing/pusher1d.c
%C%_pusher1d_la_LDFLAGS = $(plugin_link)
%C%_pusher1d_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_roomba_la_SOURCES = %D%/smoothing/roomba.c
%C%_roomba_la_LDFLAGS = $(plugin_link)
%C%_roomba_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_sine_quadratic_la_SOURCES = %D%/smoothing/sine_quadratic.c
%C%_sine_quadratic_la_LDFLAGS = $(plugin_link)
%C%_sine_quadratic_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_soft_heaviside_la_SOURCES = %D%/smoothing/soft_heaviside.c
%C%_soft_heaviside_la_LDFLAGS = $(plugin_link)
%C%_soft_heaviside_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_spring_wall_la_SOURCES = %D%/smoothing/spring_wall.c
%C%_spring_wall_la_LDFLAGS = $(plugin_link)
%C%_spring_wall_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la
%C%_tennis_la_SOURCES = %D%/smoothing/tennis.c
%C%_tennis_la_LDFLAGS = $(plugin_link)
%C%_tennis_la_LIBADD = %D%/engines/physics/smoothing/libsmoothing.la %D%/engines/physics/paddle/libpaddle.la
# Identification from pictures and from recorded motion.
envplugin_LTLIBRARIES += %D%/double_pendulum.la
%C%_double_pendulum_la_SOURCES = \
	%D%/pendula/camera.c \
	%D%/pendula/double_pendulum.c \
	%D%/pendula/model.c \
	%D%/pendula/model.h \
	%D%/pendula/motion.c
%C%_double_pendulum_la_LDFLAGS = $(plugin_link)
%C%_double_pendulum_la_LIBADD = %D%/engines/rendering/observation/libobserved.la %D%/engines/physics/pendulum/libpendulum.la \
	%D%/engines/physics/pendulum/libcompound.la %D%/engines/data/librecording.la %D%/engines/physics/fem/libfem.la

# The scenes of Heiden et al.
envplugin_LTLIBRARIES += %D%/billiards.la %D%/cube_throw.la
%C%_billiards_la_SOURCES = %D%/neuralsim/billiards.c
%C%_billiards_la_LDFLAGS = $(plugin_link)
%C%_billiards_la_LIBADD = %D%/engines/physics/billiards/libbilliards.la %D%/engines/kit/libkit.la
%C%_cube_throw_la_SOURCES = %D%/neuralsim/cube_throw.c
%C%_cube_throw_la_LDFLAGS = $(plugin_link)
%C%_cube_throw_la_LIBADD = %D%/engines/data/librecording.la %D%/engines/physics/throw/libthrow.la %D%/engines/kit/libkit.la

# Target densities and recorded lifts, found by the plugins beside themselves; also in a build outside of the
# source tree (make distcheck).
envdatadir = $(envplugindir)/data
dist_envdata_DATA = %D%/data/chopsticks.targets %D%/data/cloth.lift %D%/data/paper.lift %D%/data/pinch.targets \
	%D%/data/rollingpin.targets %D%/data/table.targets %D%/data/torus.targets %D%/data/writer.targets
all-local: plugin-data-links
plugin-data-links:
	@for f in $(dist_envdata_DATA); do \
	  test -e $$f || { $(MKDIR_P) `dirname $$f` && $(LN_S) -f $(abs_srcdir)/$$f $$f; }; \
	done
mostlyclean-local:
	-for f in $(dist_envdata_DATA); do test ! -L $$f || rm -f $$f; done
.PHONY: plugin-data-links

# These make such files, when asked for by name (make plugins/envs/plasticine/make_targets): make_targets ID
# FILE, make_lift 1 0.002 0.1 > FILE.
EXTRA_PROGRAMS += %D%/plasticine/make_targets %D%/engines/physics/cloth/make_lift
%C%_plasticine_make_targets_SOURCES = %D%/plasticine/make_targets.c
%C%_plasticine_make_targets_LDADD = %D%/engines/physics/mpm/libtasks.la
%C%_engines_physics_cloth_make_lift_SOURCES = %D%/engines/physics/cloth/make_lift.c
%C%_engines_physics_cloth_make_lift_LDADD = %D%/engines/physics/cloth/libcloth.la
CLEANFILES += %D%/plasticine/make_targets %D%/engines/physics/cloth/make_lift %D%/engines/physics/mpm/libtasks.la
