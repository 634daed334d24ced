# SPDX-License-Identifier: Apache-2.0
# The fast material point engine. kernels.c is compiled for each float type and instruction set; select.c
# chooses when the engine starts.
plugins_envs_engines_mpm_libmpm_la_SOURCES += \
	plugins/envs/engines/mpm/fast/engine.c plugins/envs/engines/mpm/fast/engine.h \
	plugins/envs/engines/mpm/fast/engine_parts.h plugins/envs/engines/mpm/fast/layout.c \
	plugins/envs/engines/mpm/fast/plan.c plugins/envs/engines/mpm/fast/substep.c \
	plugins/envs/engines/mpm/fast/forward.c plugins/envs/engines/mpm/fast/adjoint.c \
	plugins/envs/engines/mpm/fast/segment.c plugins/envs/engines/mpm/fast/segment.h \
	plugins/envs/engines/mpm/fast/select.c \
	plugins/envs/engines/mpm/fast/strike.c plugins/envs/engines/mpm/fast/strike.h \
	plugins/envs/engines/mpm/fast/team.c plugins/envs/engines/mpm/fast/team.h
plugins_envs_engines_mpm_libmpm_la_CPPFLAGS = $(AM_CPPFLAGS) $(mpm_select)
plugins_envs_engines_mpm_libmpm_la_LIBADD = $(mpm_variants)

mpm_kernel_sources = \
	plugins/envs/engines/mpm/fast/kernels.c plugins/envs/engines/mpm/fast/kernels.h \
	plugins/envs/engines/mpm/fast/chunk.h plugins/envs/engines/mpm/fast/chunk_law.h \
	plugins/envs/engines/mpm/fast/convert.h plugins/envs/engines/mpm/fast/lanes.h \
	plugins/envs/engines/mpm/fast/law.h plugins/envs/engines/mpm/fast/law_fluid.h \
	plugins/envs/engines/mpm/fast/nodes.h \
	plugins/envs/engines/mpm/fast/stencil.h
# Vectors that the instruction set does not have are fine: everything is inlined, no vector is passed between
# files.
mpm_kernel_cflags = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -Wno-psabi

mpm_variants = \
	plugins/envs/engines/mpm/fast/lib64_baseline.la \
	plugins/envs/engines/mpm/fast/lib32_baseline.la
plugins_envs_engines_mpm_fast_lib64_baseline_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib64_baseline_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMPM_REAL_BITS=64 -DMPM_LANES=4 -DMPM_ISA=baseline
plugins_envs_engines_mpm_fast_lib64_baseline_la_CFLAGS = $(mpm_kernel_cflags)
plugins_envs_engines_mpm_fast_lib32_baseline_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib32_baseline_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMPM_REAL_BITS=32 -DMPM_LANES=4 -DMPM_ISA=baseline
plugins_envs_engines_mpm_fast_lib32_baseline_la_CFLAGS = $(mpm_kernel_cflags)

if X86_VARIANTS
mpm_select = -DMPM_X86_VARIANTS=1
mpm_variants += \
	plugins/envs/engines/mpm/fast/lib64_avx2.la plugins/envs/engines/mpm/fast/lib32_avx2.la \
	plugins/envs/engines/mpm/fast/lib64_avx512.la plugins/envs/engines/mpm/fast/lib32_avx512.la
# Fused multiply-add is part of these instruction sets, and of their results.
mpm_avx2_cflags = $(mpm_kernel_cflags) -mavx2 -mfma -ffp-contract=fast
mpm_avx512_cflags = $(mpm_kernel_cflags) $(AVX512_CFLAGS) -ffp-contract=fast
plugins_envs_engines_mpm_fast_lib64_avx2_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib64_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMPM_REAL_BITS=64 -DMPM_LANES=4 -DMPM_ISA=avx2
plugins_envs_engines_mpm_fast_lib64_avx2_la_CFLAGS = $(mpm_avx2_cflags)
plugins_envs_engines_mpm_fast_lib32_avx2_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib32_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMPM_REAL_BITS=32 -DMPM_LANES=8 -DMPM_ISA=avx2
plugins_envs_engines_mpm_fast_lib32_avx2_la_CFLAGS = $(mpm_avx2_cflags)
plugins_envs_engines_mpm_fast_lib64_avx512_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib64_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMPM_REAL_BITS=64 -DMPM_LANES=8 -DMPM_ISA=avx512
plugins_envs_engines_mpm_fast_lib64_avx512_la_CFLAGS = $(mpm_avx512_cflags)
plugins_envs_engines_mpm_fast_lib32_avx512_la_SOURCES = $(mpm_kernel_sources)
plugins_envs_engines_mpm_fast_lib32_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMPM_REAL_BITS=32 -DMPM_LANES=16 -DMPM_ISA=avx512
plugins_envs_engines_mpm_fast_lib32_avx512_la_CFLAGS = $(mpm_avx512_cflags)
endif
noinst_LTLIBRARIES += $(mpm_variants)
