/* SPDX-License-Identifier: Apache-2.0 */
/* film.h - episodes as animated pictures, drawn as best.png is, one frame after the other: memory does not
 * depend on how many there are.
 *
 * Scene options are those of ds_view_options. Not told: 640 pixels wide and as high as the scene wants; the
 * episode as fast as it is, but 2 to 15 seconds long, with at most 30 frames a second. Elements whose
 * positions are not finite are left out of a frame. One thread. Each function is a ds_view_write
 * of view/view.h. */
#ifndef DS_FILM_FILM_H
#define DS_FILM_FILM_H

#include "episode/episode.h"

/* Animated WebP (lossy), by libwebp; DS_EXIT_IO where dshost was built without it. */
int ds_film_webp(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* Animated PNG (the APNG of PNG's third edition, without loss), by zlib alone; a plain PNG for one frame.
 * What shows only the first frame of an APNG shows that. */
int ds_film_png(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* H.264 in MP4, and GIF, by a program ffmpeg that is found on PATH; DS_EXIT_IO where there is none, or
 * it fails. */
int ds_film_mp4(const char *path, const ds_view_episodes *episodes, ds_error *e);
int ds_film_gif(const char *path, const ds_view_episodes *episodes, ds_error *e);

#endif
