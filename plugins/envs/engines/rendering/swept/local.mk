# SPDX-License-Identifier: Apache-2.0
# Environments whose state is a few numbers, watched. Who links libswept.la also links libfem.la, which has the meshes.
env_engine_libs += %D%/libswept.la
%C%_libswept_la_SOURCES = %D%/ball_scene.h %D%/ball_scene.c \
	%D%/balls.h %D%/balls.c %D%/swept.h %D%/swept.c
%C%_libswept_la_LIBADD = plugins/envs/engines/rendering/film/libfilm.la
