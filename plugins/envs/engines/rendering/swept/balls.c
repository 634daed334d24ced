/* SPDX-License-Identifier: Apache-2.0 */
/* balls.c - spheres whose centres move in the plane z = 0. */
#include "engines/rendering/swept/balls.h"

#include "engines/physics/fem/mesh.h"

#include <string.h>

const double balls_red[3] = {1, 0, 0}, balls_blue[3] = {0, 0, 1};

static void copy(balls *b, const fem_mesh *one, double radius, const double *const *color)
{
    for (size_t i = 0; i < 3 * one->points * b->count; i++) {
        b->shape[i] = radius * one->point[i % (3 * one->points)];
    }
    for (size_t i = 0; i < 3 * one->triangles * b->count; i++) {
        const size_t ball = i / (3 * one->triangles);
        b->face[i] = one->triangle[i % (3 * one->triangles)] + (uint32_t)(ball * one->points);
        b->color[i] = color[ball][i % 3];
    }
}

ds_status balls_open(balls *b, ds_memory *m, uint32_t count, double radius, const double *const *color,
                     film_subject *subject)
{
    fem_mesh one;
    const ds_status status = fem_mesh_sphere(&one);
    if (status != DS_OK) {
        return status;
    }
    b->count = count;
    b->points = one.points;
    b->shape = ds_memory_doubles(m, 3 * one.points * count);
    b->face = ds_memory_take(m, 3 * one.triangles * count, sizeof *b->face);
    b->color = ds_memory_doubles(m, 3 * one.triangles * count);
    if (!m->failed) {
        copy(b, &one, radius, color);
    }
    const uint32_t faces = (uint32_t)one.triangles, points = (uint32_t)one.points;
    *subject = (film_subject){.mesh = {count * points, count * faces, b->face},
                              .color = b->color,
                              .rest = b->shape,
                              .groups = count};
    for (uint32_t i = 0; i < count; i++) {
        subject->group[i] = (film_group){i * faces, faces};
    }
    fem_mesh_free(&one);
    return m->failed ? DS_E_NOMEM : DS_OK;
}

void balls_place(const balls *b, const double *centre, double *points)
{
    balls_place_tangent(b, centre, points);
    for (size_t i = 0; i < 3 * b->points * b->count; i++) {
        points[i] += b->shape[i];
    }
}

void balls_place_adjoint(const balls *b, const double *points_bar, double *centre_bar)
{
    memset(centre_bar, 0, 2 * b->count * sizeof *centre_bar);
    for (size_t i = 0; i < b->points * b->count; i++) {
        centre_bar[2 * (i / b->points)] += points_bar[3 * i];
        centre_bar[2 * (i / b->points) + 1] += points_bar[3 * i + 1];
    }
}

void balls_place_tangent(const balls *b, const double *centre_dot, double *points_dot)
{
    for (size_t i = 0; i < b->points * b->count; i++) {
        points_dot[3 * i] = centre_dot[2 * (i / b->points)];
        points_dot[3 * i + 1] = centre_dot[2 * (i / b->points) + 1];
        points_dot[3 * i + 2] = 0;
    }
}
