/* SPDX-License-Identifier: Apache-2.0 */
/* surface.h - a body of a scene as vertices that move and cells that do not: points, segments
 * or triangles. */
#ifndef DS_EXCHANGE_SURFACE_H
#define DS_EXCHANGE_SURFACE_H

#include "snapshot/snapshot.h"

typedef struct ds_surface {
    const ds_snapshot_body *body;
    uint64_t vertices, cells;
    uint32_t corners; /* of a cell: 1, 2 or 3 */
    uint32_t *index;  /* cells x corners vertices, counter-clockwise from outside where there is an outside */
    /* Rigid shapes: the vertices of one element in its own axes, m. */
    double *model;
    uint64_t model_vertices;
} ds_surface;

/* DS_EXIT_MEMORY on failure; *out is to be cleared in any case. `body` has to stay. */
int ds_surface_make(const ds_snapshot_body *body, ds_surface *out, ds_error *e);
void ds_surface_clear(ds_surface *s);

/* One surface for each body of a scene, DS_EXIT_MEMORY on failure; free with ds_surfaces_free() in
 * any case. */
int ds_surfaces_make(const ds_snapshot *scene, ds_surface **out, ds_error *e);
void ds_surfaces_free(const ds_snapshot *scene, ds_surface *s);

/* Positions of all vertices, x y z each, from the numbers of the body in one frame. */
void ds_surface_place(const ds_surface *s, const double *data, double *xyz);

/* The element (particle, vertex, rigid copy) to which a vertex belongs. */
uint64_t ds_surface_element(const ds_surface *s, uint64_t vertex);

#endif
