# SPDX-License-Identifier: Apache-2.0
# One differentiable renderer for all environments: camera, light, soft rasterization, discs, and DIB-R.
# The reader of PNG files is a library of its own, so that only those who read them are linked with libpng.
# Who links librender.la also links libkit.la, which has the team of threads.
env_engine_libs += %D%/librender.la %D%/libreadpng.la $(render_variants)
%C%_librender_la_CPPFLAGS = $(AM_CPPFLAGS) $(isa_select)
%C%_librender_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS)
%C%_librender_la_LIBADD = $(render_variants)
%C%_librender_la_SOURCES = \
	%D%/bins.c \
	%D%/bins.h \
	%D%/camera.c \
	%D%/camera.h \
	%D%/dibr/dibr.c \
	%D%/dibr/dibr.h \
	%D%/dibr/dibr_derivatives.c \
	%D%/dibr/dibr_internal.h \
	%D%/dibr/dibr_shade.c \
	%D%/image.c \
	%D%/image.h \
	%D%/light.c \
	%D%/light.h \
	%D%/mesh.c \
	%D%/mesh.h \
	%D%/softras.c \
	%D%/softras.h \
	%D%/softras_faces.c \
	%D%/softras_internal.h \
	%D%/softras_plain.c \
	%D%/splat.c \
	%D%/splat.h \
	%D%/vec3.h \
	%D%/kernels/select.c
%C%_libreadpng_la_SOURCES = %D%/read_png.c %D%/read_png.h
if HAVE_PNG
%C%_libreadpng_la_CPPFLAGS = $(AM_CPPFLAGS) $(PNG_CFLAGS) -DREAD_PNG_LIBPNG=1
%C%_libreadpng_la_LIBADD = $(PNG_LIBS)
endif

# variant.c is compiled for each instruction set; all give the same bits: nothing is fused.
render_kernel_sources = %D%/kernels/variant.c %D%/kernels/kernels.h \
	%D%/kernels/softras_kernel.h %D%/kernels/splat_kernel.h %D%/kernels/tile.h
render_vector_cflags = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -Wno-psabi
render_variants = %D%/kernels/libbaseline.la
%C%_kernels_libbaseline_la_SOURCES = $(render_kernel_sources)
%C%_kernels_libbaseline_la_CFLAGS = $(render_vector_cflags) -DRENDER_ISA=baseline -DVECTOR_LANES=2
if X86_VARIANTS
render_variants += %D%/kernels/libavx2.la %D%/kernels/libavx512.la
%C%_kernels_libavx2_la_SOURCES = $(render_kernel_sources)
%C%_kernels_libavx2_la_CFLAGS = $(render_vector_cflags) -mavx2 -DRENDER_ISA=avx2 -DVECTOR_LANES=4
%C%_kernels_libavx512_la_SOURCES = $(render_kernel_sources)
%C%_kernels_libavx512_la_CFLAGS = $(render_vector_cflags) $(AVX512_CFLAGS) -mno-fma \
	-DRENDER_ISA=avx512 -DVECTOR_LANES=8
endif
