/* SPDX-License-Identifier: Apache-2.0 */
/* film_frame.h - what a frame of a film shows: the episodes side by side at one moment, what they are, the
 * time, and the first metrics. */
#ifndef DS_FILM_FILM_FRAME_H
#define DS_FILM_FILM_FRAME_H

#include "episode/episode.h"

typedef struct ds_film ds_film;

/* What a film is, once it is planned. */
typedef struct ds_film_plan {
    int width, height; /* pixels; both even, as video wants it, where no size was told */
    uint64_t frames;   /* at least 1 */
    double fps;
    uint32_t background; /* 0x00RRGGBB */
} ds_film_plan;

/* Plans a film of the episodes, which have to stay. DS_EXIT_MEMORY, or DS_EXIT_USAGE for a size in which
 * nothing can be seen. */
int ds_film_open(ds_film **out, ds_film_plan *plan, const char *path, const ds_view_episodes *episodes,
                 ds_error *e);

/* Draws frame i into pixels of the film's size (0x00RRGGBB, row by row from the top). Any order gives
 * the same. */
int ds_film_draw(ds_film *f, uint64_t i, uint32_t *pixels, ds_error *e);

/* NULL is fine. */
void ds_film_close(ds_film *f);

#endif
