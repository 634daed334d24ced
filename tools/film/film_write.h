/* SPDX-License-Identifier: Apache-2.0 */
/* film_write.h - the loop over the frames of a film that all its formats share. */
#ifndef DS_FILM_FILM_WRITE_H
#define DS_FILM_FILM_WRITE_H

#include "film/film_frame.h"

/* A format. `self` is its state, zeroed, of `size` bytes. begin() is called once, frame() for each frame in
 * turn, and end() in any case, with what has happened so far: it leaves a complete file where `status` is 0,
 * and none else, and returns the status of the whole. */
typedef struct ds_film_format {
    size_t size;
    int (*begin)(void *self, const char *path, const ds_film_plan *plan, ds_error *e);
    int (*frame)(void *self, uint64_t i, const uint32_t *pixels, ds_error *e);
    int (*end)(void *self, int status, ds_error *e);
} ds_film_format;

/* How long the last frame is shown in what plays again and again, seconds. */
#define DS_FILM_REST_S 1.0

int ds_film_write(const char *path, const ds_view_episodes *episodes, const ds_film_format *format,
                  ds_error *e);

#endif
