/* SPDX-License-Identifier: Apache-2.0 */
/* setup_surface.c - obstacles from closed meshes: the signed distance on a grid, triangles to draw. */
#include "engines/physics/soft/scene/setup_bodies.h"

#include "engines/data/surface.h"

#include <math.h>
#include <string.h>

static double distance(const void *grid, const double x[3], double gradient[3], double hessian[9])
{
    return distance_grid_at(grid, x, gradient, hessian);
}

static void *keep(setup_reader *r, const void *from, size_t count, size_t size)
{
    void *to = ds_memory_take(&r->setup->memory, count + 1, size);
    if (to != NULL) {
        memcpy(to, from, count * size);
    }
    return to;
}

/* The triangles in the frame of the body. */
static void draw(setup_reader *r, const surface *solid, fem_obstacle *o)
{
    o->index = keep(r, solid->mesh.triangle, 3 * solid->mesh.triangles, sizeof *o->index);
    o->indices = 3 * solid->mesh.triangles;
    o->points = solid->mesh.points;
    o->point = keep(r, solid->mesh.point, 3 * solid->mesh.points, sizeof *o->point);
}

void setup_surface(setup_reader *r, const scene_section *s, body_place where, fem_obstacle *o)
{
    char error[SURFACE_ERROR];
    surface solid;
    distance_grid grid;
    const double built = setup_number(r, s, "scale", "", where, 1e-6, 1e6, 1);
    const int varies = scene_varies(r->f, s, "scale");
    const double scale = varies ? 1 : built; /* a variable scales what the grid has */
    o->scale = varies ? built : 1;
    const int cells = (int)scene_whole(r->f, s, "cells", 8, 128, 32);
    if (!scene_needs(r->f, s, "file") || scene_failed(r->f)) {
        return;
    }
    if (surface_read(&solid, scene_path(r->f, s, "file"), scale, error) != 0) {
        scene_fail(r->f, s, "file", "%s", error);
        return;
    }
    distance_grid *own = ds_memory_take(&r->setup->memory, 1, sizeof *own);
    if (own != NULL && surface_distances(&solid, cells, &grid)) {
        const size_t samples = (size_t)grid.n[0] * (size_t)grid.n[1] * (size_t)grid.n[2];
        double *value = grid.value;
        grid.value = keep(r, value, samples, sizeof *value);
        free(value);
        *own = grid;
        o->body = own;
        o->distance = distance;
        draw(r, &solid, o);
    } else {
        r->setup->memory.failed = 1;
    }
    for (int d = 0; d < 3; d++) {
        o->size[d] = fmax(fabs(solid.low[d]), fabs(solid.high[d]));
        if (o->size[d] > setup_most_size) {
            scene_fail(r->f, s, "file", "the mesh reaches %.3g m, more than %g: set scale", o->size[d],
                       setup_most_size);
        }
    }
    surface_free(&solid);
}
