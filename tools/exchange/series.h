/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - the episode to write: surfaces of its bodies, without missing elements, its frames and their
 * files. */
#ifndef DS_EXCHANGE_SERIES_H
#define DS_EXCHANGE_SERIES_H

#include "episode/episode.h"
#include "snapshot/snapshot.h"

/* ---- surfaces: a body as moving vertices and fixed cells (points, segments or triangles) ---- */

typedef struct ds_surface {
    const ds_snapshot_body *body;
    uint64_t vertices, cells;
    uint32_t corners; /* of a cell: 1, 2 or 3 */
    uint32_t *index;  /* cells x corners vertices, counter-clockwise from outside if there is an outside */
    /* Rigid shapes: the vertices of one element in its own axes, m. */
    double *model;
    uint64_t model_vertices;
} ds_surface;

/* DS_EXIT_MEMORY on failure; *out must be cleared in any case. `body` must outlive it. */
int ds_surface_make(const ds_snapshot_body *body, ds_surface *out, ds_error *e);
void ds_surface_clear(ds_surface *s);

/* Positions of all vertices, x y z each, from the body's data in one frame. */
void ds_surface_place(const ds_surface *s, const double *data, double *xyz);

/* The element (particle, vertex, rigid copy) to which a vertex belongs. */
uint64_t ds_surface_element(const ds_surface *s, uint64_t vertex);

/* ---- scenes without missing elements ---- */

/* Missing are particles, vertices and rigid copies whose data in the first kept frame are not finite, and
 * cells that need them. */

typedef struct ds_present {
    /* the remaining bodies; unchanged data are shared with the original scene */
    ds_snapshot scene;
    uint32_t **element; /* per body: the original numbers of its elements; NULL = unchanged */
    uint64_t missing;   /* number of elements left out */
    const ds_snapshot *from;
    double **data; /* per body: data that are not shared; NULL = shared */
    uint32_t **index;
} ds_present;

typedef struct ds_series {
    const char *path;
    const ds_view_episode *episode;
    const ds_snapshot *scene; /* the scene of `present` */
    ds_present present;
    uint64_t every, count; /* kept frames 0, every, 2 every, ..., and the last one */
    uint64_t usable;       /* kept frames before the first one with a position that is not finite */
    ds_surface *surface;   /* per body */
} ds_series;

/* Opens the first episode. `every`: step between frames, 0 = every frame. Warns if the episode is cut. Must
 * be closed in any case. */
int ds_series_open(ds_series *s, const char *path, const ds_view_episodes *episodes, uint64_t every,
                   ds_error *e);
void ds_series_close(ds_series *s);

/* The kept frame that is written as number i < count. */
uint64_t ds_series_frame(const ds_series *s, uint64_t i);

/* Name of file number i, with the path's ending or `ending` ("vtu"). To be freed; NULL without memory. */
char *ds_series_name(const ds_series *s, uint64_t i, const char *ending);

/* Vertices and cells of all bodies. */
uint64_t ds_series_vertices(const ds_series *s);
uint64_t ds_series_cells(const ds_series *s);

/* Positions of all vertices in a kept frame, body by body. */
void ds_series_place(const ds_series *s, uint64_t k, double *xyz);

/* Writes each file with `write`. If one fails, the earlier ones are removed, as by ds_series_remove(). */
typedef int ds_series_write(const ds_series *s, uint64_t k, const char *path, ds_error *e);
void ds_series_remove(const ds_series *s, const char *ending, uint64_t count);
int ds_series_files(const ds_series *s, const char *ending, ds_series_write *write, ds_error *e);

#endif
