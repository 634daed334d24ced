/* SPDX-License-Identifier: Apache-2.0 */
/* film_frame.h - a frame of a film: episodes side by side at one moment, with their names, the time and the
 * first metrics; and the interface of formats. */
#ifndef DS_FILM_FILM_FRAME_H
#define DS_FILM_FILM_FRAME_H

#include "episode/episode.h"

typedef struct ds_film ds_film;

/* Properties of a planned film. */
typedef struct ds_film_plan {
    int width, height; /* pixels; both even, as video requires, unless a size was requested */
    uint64_t frames;   /* at least 1 */
    double fps;
    uint32_t background; /* 0x00RRGGBB */
} ds_film_plan;

/* Plans a film of the episodes, which must outlive it. DS_EXIT_MEMORY, or DS_EXIT_USAGE for a size that is
 * too small. */
int ds_film_open(ds_film **out, ds_film_plan *plan, const char *path, const ds_view_episodes *episodes,
                 ds_error *e);

/* Draws frame i into pixels of the film's size (0x00RRGGBB, row by row from the top). The order of calls does
 * not matter. */
int ds_film_draw(ds_film *f, uint64_t i, uint32_t *pixels, ds_error *e);

/* `f` may be NULL. */
void ds_film_close(ds_film *f);

/* ---- formats ---- */

/* A format. `self` is its zeroed state of `size` bytes. begin() is called once, frame() for each frame in
 * order, and end() always, with the status so far: it leaves a complete file if `status` is 0, else none, and
 * returns the final status. */
typedef struct ds_film_format {
    size_t size;
    int (*begin)(void *self, const char *path, const ds_film_plan *plan, ds_error *e);
    int (*frame)(void *self, uint64_t i, const uint32_t *pixels, ds_error *e);
    int (*end)(void *self, int status, ds_error *e);
} ds_film_format;

/* Seconds that the last frame is shown in animations that repeat. */
#define DS_FILM_REST_S 1.0

int ds_film_write(const char *path, const ds_view_episodes *episodes, const ds_film_format *format,
                  ds_error *e);

#endif
