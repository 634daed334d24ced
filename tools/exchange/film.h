/* SPDX-License-Identifier: Apache-2.0 */
/* film.h - episodes as animations, with frames drawn like best.png. Memory does not depend on the number of
 * frames.
 *
 * Options are in ds_view_options. Defaults: 640 pixels wide and as high as the scene needs; real time, but at
 * least 2 and at most 15 seconds, and at most 30 frames per second. Elements with positions that are not
 * finite are left out of a frame. One thread. Each function is a ds_view_write (view/view.h). */
#ifndef DS_FILM_FILM_H
#define DS_FILM_FILM_H

#include "episode/episode.h"

/* Animated WebP (lossy), by libwebp; DS_EXIT_IO if dshost was built without it. */
int ds_film_webp(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* Animated PNG (APNG of the PNG specification, third edition; lossless), by zlib alone; a plain PNG for one
 * frame. Programs without APNG show the first frame. */
int ds_film_png(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* H.264 in MP4, and GIF, by the program ffmpeg on PATH; DS_EXIT_IO if it is missing or fails. */
int ds_film_mp4(const char *path, const ds_view_episodes *episodes, ds_error *e);
int ds_film_gif(const char *path, const ds_view_episodes *episodes, ds_error *e);

#endif
