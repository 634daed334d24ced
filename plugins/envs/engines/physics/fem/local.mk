# SPDX-License-Identifier: Apache-2.0
# Deformable bodies of particles: model and meshes, episodes with adjoint and tangent. The kernels (variant.c) are
# compiled for each instruction set, without fused multiply-add: all of them compute the same bits.
env_engine_libs += %D%/libfem.la $(fem_variants) %D%/libobstacle.la
%C%_libobstacle_la_SOURCES = \
	%D%/obstacle.c \
	%D%/obstacle.h \
	%D%/obstacle_scene.h
%C%_libfem_la_CPPFLAGS = $(AM_CPPFLAGS) $(isa_select)
%C%_libfem_la_LIBADD = $(fem_variants) %D%/libobstacle.la
%C%_libfem_la_SOURCES = \
	%D%/contact.c \
	%D%/contact.h \
	%D%/episode.c \
	%D%/episode.h \
	%D%/ground.h \
	%D%/kernels/kernels.h \
	%D%/kernels/select.c \
	%D%/laws/edge_plain.c \
	%D%/laws/law.h \
	%D%/laws/tet_plain.c \
	%D%/laws/triangle_plain.c \
	%D%/mesh.c \
	%D%/mesh.h \
	%D%/model.c \
	%D%/model.h \
	%D%/pack.c \
	%D%/pack.h \
	%D%/plain.h \
	%D%/read.h \
	%D%/read/formats.c \
	%D%/read/reader.c \
	%D%/read/reader.h \
	%D%/read/surfaces.c \
	%D%/rest.c \
	%D%/rest.h \
	%D%/shapes.c \
	%D%/surfaces.c \
	%D%/surfaces.h \
	%D%/variation.c \
	%D%/variation.h

fem_kernel_sources = %D%/kernels/variant.c %D%/kernels/kernels.h %D%/kernels/lanes.h
fem_kernel_cflags = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -Wno-psabi
fem_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = $(fem_kernel_sources)
%C%_libbaseline_la_CFLAGS = $(fem_kernel_cflags) -DFEM_ISA=baseline -DVECTOR_LANES=2
if X86_VARIANTS
fem_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = $(fem_kernel_sources)
%C%_libavx2_la_CFLAGS = $(fem_kernel_cflags) -mavx2 -DFEM_ISA=avx2 -DVECTOR_LANES=4
%C%_libavx512_la_SOURCES = $(fem_kernel_sources)
%C%_libavx512_la_CFLAGS = $(fem_kernel_cflags) $(AVX512_CFLAGS) -mno-fma -DFEM_ISA=avx512 -DVECTOR_LANES=8
endif
