# SPDX-License-Identifier: Apache-2.0
# One differentiable renderer for all environments: camera, light, soft rasterization, discs, and DIB-R.
# The reader of PNG files is a separate library, so that only plugins that read them are linked with libpng.
# A plugin that links librender.la also links libkit.la, which has the team of threads.
env_engine_libs += %D%/librender.la %D%/libreadpng.la $(render_variants)
%C%_librender_la_CPPFLAGS = $(AM_CPPFLAGS) $(isa_select)
%C%_librender_la_CFLAGS = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS)
%C%_librender_la_LIBADD = $(render_variants)
%C%_librender_la_SOURCES = \
	%D%/camera.c \
	%D%/camera.h \
	%D%/dibr.c \
	%D%/dibr.h \
	%D%/dibr_internal.h \
	%D%/dibr_shade.c \
	%D%/image.c \
	%D%/image.h \
	%D%/kernels.h \
	%D%/mesh.c \
	%D%/mesh.h \
	%D%/softras.c \
	%D%/softras.h \
	%D%/softras_internal.h \
	%D%/splat.c \
	%D%/splat.h \
	%D%/vec3.h
%C%_libreadpng_la_SOURCES = %D%/read_png.c %D%/read_png.h
if HAVE_PNG
%C%_libreadpng_la_CPPFLAGS = $(AM_CPPFLAGS) $(PNG_CFLAGS) -DREAD_PNG_LIBPNG=1
%C%_libreadpng_la_LIBADD = $(PNG_LIBS)
endif

# variant.c is compiled for each instruction set; all give the same bits, because nothing is fused.
render_kernel_sources = %D%/variant.c %D%/kernels.h
render_vector_cflags = $(AM_CFLAGS) $(DS_VECTOR_CFLAGS) -Wno-psabi
render_variants = %D%/libbaseline.la
%C%_libbaseline_la_SOURCES = $(render_kernel_sources)
%C%_libbaseline_la_CFLAGS = $(render_vector_cflags) -DRENDER_ISA=baseline -DVECTOR_LANES=2
if X86_VARIANTS
render_variants += %D%/libavx2.la %D%/libavx512.la
%C%_libavx2_la_SOURCES = $(render_kernel_sources)
%C%_libavx2_la_CFLAGS = $(render_vector_cflags) -mavx2 -DRENDER_ISA=avx2 -DVECTOR_LANES=4
%C%_libavx512_la_SOURCES = $(render_kernel_sources)
%C%_libavx512_la_CFLAGS = $(render_vector_cflags) $(AVX512_CFLAGS) -mno-fma \
	-DRENDER_ISA=avx512 -DVECTOR_LANES=8
endif
