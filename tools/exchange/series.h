/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - which frames of an episode are written, and the names of their files. */
#ifndef DS_EXCHANGE_SERIES_H
#define DS_EXCHANGE_SERIES_H

#include "episode/episode.h"
#include "exchange/present.h"
#include "exchange/surface.h"

typedef struct ds_series {
    const char *path;
    const ds_view_episode *episode;
    const ds_snapshot *scene; /* what is there of the episode's: that of `present` */
    ds_present present;
    uint64_t every, count; /* kept frames 0, every, 2 every, ..., and the last */
    uint64_t usable;       /* kept frames before the first one with a position that is not finite */
    ds_surface *surface;   /* of each body */
} ds_series;

/* Of the first episode. `every`: frames to go on by, 0 = each one. Warns where the episode is cut. To be
 * closed in any case. */
int ds_series_open(ds_series *s, const char *path, const ds_view_episodes *episodes, uint64_t every,
                   ds_error *e);
void ds_series_close(ds_series *s);

/* The kept frame that is written as number i < count. */
uint64_t ds_series_frame(const ds_series *s, uint64_t i);

/* The file of number i, which ends like the path, or with `ending` ("vtu") instead; to be freed, NULL
 * without memory. */
char *ds_series_name(const ds_series *s, uint64_t i, const char *ending);

/* Vertices and cells of all bodies together. */
uint64_t ds_series_vertices(const ds_series *s);
uint64_t ds_series_cells(const ds_series *s);

/* Positions of all vertices in a kept frame, body by body. */
void ds_series_place(const ds_series *s, uint64_t k, double *xyz);

/* Writes each file by `write`; where one fails, those before it are removed again, as by ds_series_remove()
 * of so many. */
typedef int ds_series_write(const ds_series *s, uint64_t k, const char *path, ds_error *e);
void ds_series_remove(const ds_series *s, const char *ending, uint64_t count);
int ds_series_files(const ds_series *s, const char *ending, ds_series_write *write, ds_error *e);

#endif
