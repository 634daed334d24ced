/* SPDX-License-Identifier: Apache-2.0 */
/* surfaces.c - closed surfaces of solids: the box, and those of revolution about the y axis; meshes of
 * one size. */
#include "mesh.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

ds_status fem_mesh_box(fem_mesh *m, const double half[3])
{
    const ds_status status = fem_mesh_cube(m);
    for (size_t i = 0; i < 3 * m->points; i++) {
        m->point[i] = copysign(half[i % 3], m->point[i]);
    }
    return status;
}

/* ---- about the y axis ---- */

typedef struct ring {
    double radius, height; /* m */
} ring;

static void ring_points(double *to, size_t segments, ring r)
{
    for (size_t s = 0; s < segments; s++, to += 3) {
        const double angle = 2 * pi * (double)s / (double)segments;
        to[0] = r.radius * cos(angle);
        to[1] = r.height;
        to[2] = -r.radius * sin(angle);
    }
}

static uint32_t *add(uint32_t *to, size_t a, size_t b, size_t c)
{
    to[0] = (uint32_t)a;
    to[1] = (uint32_t)b;
    to[2] = (uint32_t)c;
    return to + 3;
}

/* A pole at the bottom, rings of as many points from below, a pole at the top, in this order. */
static ds_status revolve(fem_mesh *m, size_t segments, size_t rings, const ring *r, double bottom, double top)
{
    const size_t last = 1 + rings * segments, highest = last - segments;
    const ds_status status = fem_mesh_open(m, last + 1, 2 * rings * segments, 0);
    if (status != DS_OK) {
        return status;
    }
    m->point[1] = bottom;
    m->point[3 * last + 1] = top;
    uint32_t *to = m->triangle;
    for (size_t k = 0; k < rings; k++) {
        const size_t here = 1 + k * segments, above = here + segments;
        ring_points(m->point + 3 * here, segments, r[k]);
        for (size_t s = 0; s < segments; s++) {
            const size_t next = (s + 1) % segments;
            to = k == 0 ? add(to, 0, here + next, here + s) : to;
            to = k + 1 < rings ? add(to, here + s, here + next, above + next) : to;
            to = k + 1 < rings ? add(to, here + s, above + next, above + s) : to;
            to = k + 1 == rings ? add(to, last, highest + s, highest + next) : to;
        }
    }
    return DS_OK;
}

enum { ROUND = 32, CAPSULE_ROUND = 16, CAPSULE_CAP = 9, CAPSULE_SIDE = 19 };

ds_status fem_mesh_cone(fem_mesh *m)
{
    return revolve(m, ROUND, 1, &(ring){1, -1}, -1, 1);
}

ds_status fem_mesh_cylinder(fem_mesh *m)
{
    return revolve(m, ROUND, 2, (const ring[]){{1, -1}, {1, 1}}, -1, 1);
}

ds_status fem_mesh_capsule(fem_mesh *m)
{
    ring r[CAPSULE_CAP + CAPSULE_SIDE + CAPSULE_CAP];
    for (int k = 0; k < CAPSULE_CAP; k++) { /* up to the rim, which belongs to the cap */
        const double angle = pi / 2 * (k + 1) / CAPSULE_CAP;
        r[k] = (ring){sin(angle), -1 - cos(angle)};
        r[CAPSULE_CAP + CAPSULE_SIDE + CAPSULE_CAP - 1 - k] = (ring){sin(angle), 1 + cos(angle)};
    }
    for (int k = 0; k < CAPSULE_SIDE; k++) {
        r[CAPSULE_CAP + k] = (ring){1, -1 + 2 * (k + 1) / (CAPSULE_SIDE + 1.0)};
    }
    return revolve(m, CAPSULE_ROUND, CAPSULE_CAP + CAPSULE_SIDE + CAPSULE_CAP, r, -2, 2);
}

/* ---- size ---- */

int fem_mesh_normalise(fem_mesh *m)
{
    double mean[3] = {0, 0, 0}, largest = 0;
    for (size_t i = 0; i < 3 * m->points; i++) {
        mean[i % 3] += m->point[i] / (double)m->points;
    }
    for (size_t i = 0; i < m->points; i++) {
        double *p = m->point + 3 * i;
        for (int d = 0; d < 3; d++) {
            p[d] -= mean[d];
        }
        const double size = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        largest = isfinite(size) ? fmax(largest, size) : HUGE_VAL;
    }
    for (size_t i = 0; i < 3 * m->points; i++) {
        m->point[i] /= largest;
    }
    return largest > 0 && isfinite(largest);
}
