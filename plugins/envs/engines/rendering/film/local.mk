# SPDX-License-Identifier: Apache-2.0
# What cameras see of an episode, and how it is compared with a target.
env_engine_libs += %D%/libfilm.la
%C%_libfilm_la_SOURCES = \
	%D%/film.h \
	%D%/film.c \
	%D%/film_internal.h \
	%D%/film_part.c \
	%D%/film_dibr.c \
	%D%/film_skin.c \
	%D%/film_target.c \
	%D%/look.h \
	%D%/look.c \
	%D%/sight.h \
	%D%/sight.c \
	%D%/sight_products.c \
	%D%/watch.h \
	%D%/watch.c \
	%D%/watcher.h \
	%D%/watcher.c
%C%_libfilm_la_LIBADD = plugins/envs/engines/rendering/render/librender.la plugins/envs/engines/rendering/render/libreadpng.la \
	plugins/envs/engines/kit/libkit.la
