/* SPDX-License-Identifier: Apache-2.0 */
/* tree_distance.c - signed distances of points from solids (tree_distance.h). */
#include "engines/physics/articulated/tree/tree_distance.h"

#include "engines/kit/algebra/mat3.h"

void tree_distance_bend(const tree_bend *b, const double z[3], double out[3])
{
    double along = vec3_dot(b->g, z), across = vec3_dot(b->t, z);
    for (int k = 0; k < 3; k++) {
        out[k] = isinf(b->length) ? 0 : (z[k] - across * b->t[k] - along * b->g[k]) / b->length;
        out[k] += b->curve * across * b->t[k];
    }
}

/* The gradient across a plane. */
static void flat(tree_bend *b, int axis, double side)
{
    *b = (tree_bend){.length = INFINITY};
    b->g[axis] = side;
}

/* Distance along e from the nearest point; around a line if t is set. */
static double from_point(tree_bend *b, const double e[3])
{
    double norm = sqrt(vec3_dot(e, e));
    for (int k = 0; k < 3; k++) {
        b->g[k] = norm > 0 ? e[k] / norm : k == 2;
    }
    b->length = norm > 0 ? norm : (double)INFINITY;
    return norm;
}

static double from_capsule(double half, const double y[3], tree_bend *b)
{
    int cap = fabs(y[2]) > half;
    const double e[3] = {y[0], y[1], cap ? y[2] - copysign(half, y[2]) : 0};
    *b = (tree_bend){.t = {0, 0, !cap}};
    return from_point(b, e);
}

static double from_box(const double size[3], const double y[3], tree_bend *b)
{
    double e[3];
    int face = 0, outside = 0, along = 0;
    for (int k = 0; k < 3; k++) {
        double over = fabs(y[k]) - size[k];
        e[k] = over > 0 ? copysign(over, y[k]) : 0;
        outside += over > 0;
        along = over > 0 ? along : k;
        face = over > fabs(y[face]) - size[face] ? k : face;
    }
    if (outside < 2) {
        flat(b, face, copysign(1, y[face]));
        return fabs(y[face]) - size[face];
    }
    *b = (tree_bend){.length = INFINITY};
    b->t[along] = outside == 2;
    return from_point(b, e);
}

static double from_cylinder(double radius, double half, const double y[3], tree_bend *b)
{
    double rho = sqrt(y[0] * y[0] + y[1] * y[1]), out = rho - radius, over = fabs(y[2]) - half, d;
    if (over > 0 ? out <= 0 : over >= out) {
        flat(b, 2, copysign(1, y[2]));
        return over;
    }
    const double x = rho > 0 ? y[0] / rho : 1, z = rho > 0 ? y[1] / rho : 0;
    *b = (tree_bend){.length = INFINITY, .g = {x, z, 0}, .t = {-z, x, 0}};
    d = out;
    if (over > 0) {
        const double e[3] = {out * x, out * z, copysign(over, y[2])};
        d = from_point(b, e);
    }
    b->curve = rho > 0 ? (b->g[0] * x + b->g[1] * z) / rho : 0;
    return d;
}

/* ---- triangles ---- */

/* Unit normal of a triangle, and the height of y above its plane. */
static double above(const double *a, const double *b, const double *c, const double y[3], double n[3])
{
    const double u[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]},
                 v[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
    const double r[3] = {y[0] - a[0], y[1] - a[1], y[2] - a[2]};
    vec3_cross(u, v, n);
    double norm = sqrt(vec3_dot(n, n));
    for (int k = 0; k < 3; k++) {
        n[k] = norm > 0 ? n[k] / norm : 0;
    }
    return vec3_dot(n, r);
}

/* The nearest point of the segment from a to b, against y; `ends`: it is an end. */
static double from_segment(const double *a, const double *b, const double y[3], double e[3], double t[3],
                           int *ends)
{
    double length = 0, along = 0;
    for (int k = 0; k < 3; k++) {
        t[k] = b[k] - a[k];
        length += t[k] * t[k];
        along += t[k] * (y[k] - a[k]);
    }
    double s = length > 0 ? clamp(along / length, 0, 1) : 0;
    *ends = s <= 0 || s >= 1;
    for (int k = 0; k < 3; k++) {
        e[k] = y[k] - a[k] - s * t[k];
        t[k] = *ends ? 0 : t[k] / sqrt(length);
    }
    return vec3_dot(e, e);
}

/* Lowers *nearest to the distance of y from a triangle, if that is less; y is above its plane by `height`. */
static void nearer(const double *const corner[3], const double n[3], double height, const double y[3],
                   double *nearest, tree_bend *out)
{
    int inside = 1;
    for (int k = 0; k < 3; k++) {
        const double *a = corner[k], *b = corner[(k + 1) % 3];
        const double u[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]},
                     r[3] = {y[0] - a[0], y[1] - a[1], y[2] - a[2]};
        double side[3];
        vec3_cross(n, u, side);
        inside = inside && vec3_dot(side, r) >= 0;
    }
    if (inside) {
        if (height < *nearest) {
            *nearest = height;
            *out = (tree_bend){.g = {n[0], n[1], n[2]}, .length = INFINITY};
        }
        return;
    }
    for (int k = 0; k < 3; k++) {
        double e[3], t[3];
        int ends;
        double square = from_segment(corner[k], corner[(k + 1) % 3], y, e, t, &ends);
        if (square < *nearest * *nearest) {
            *out = (tree_bend){.t = {t[0], t[1], t[2]}};
            *nearest = from_point(out, e);
        }
    }
}

static double from_hull(const tree_mesh *h, const double y[3], double reach, tree_bend *out)
{
    double most = -HUGE_VAL, nearest = HUGE_VAL, n[3];
    for (int k = 0; k < h->triangles; k++) {
        const uint32_t *v = h->triangle + 3 * k;
        double height = above(h->point + 3 * v[0], h->point + 3 * v[1], h->point + 3 * v[2], y, n);
        if (height > most) {
            most = height;
            *out = (tree_bend){.g = {n[0], n[1], n[2]}, .length = INFINITY};
        }
    }
    if (!(most > 0) || most > reach) {
        return most > reach ? HUGE_VAL : most;
    }
    for (int k = 0; k < h->triangles; k++) {
        const uint32_t *v = h->triangle + 3 * k;
        const double *const corner[3] = {h->point + 3 * v[0], h->point + 3 * v[1], h->point + 3 * v[2]};
        double height = above(corner[0], corner[1], corner[2], y, n);
        if (height > 0 && height < nearest) {
            nearer(corner, n, height, y, &nearest, out);
        }
    }
    return nearest;
}

/* ---- terrain ---- */

/* Corners of triangle `which` (0, 1) of a cell, counter-clockwise from above. */
static void corners_of(const tree_terrain *f, int column, int row, int which, double corner[3][3])
{
    static const int steps[2][3][2] = {{{0, 0}, {1, 0}, {1, 1}}, {{0, 0}, {1, 1}, {0, 1}}};
    for (int k = 0; k < 3; k++) {
        tree_terrain_point(f, column + steps[which][k][0], row + steps[which][k][1], corner[k]);
    }
}

static int cell_of(double place, int count)
{
    return (int)clamp(floor(place), 0, count - 2);
}

static double from_terrain(const tree_terrain *f, const double y[3], double reach, tree_bend *out)
{
    double u = y[0] / f->cell[0] + 0.5 * (f->columns - 1), v = y[1] / f->cell[1] + 0.5 * (f->rows - 1);
    double corner[3][3], n[3], nearest = HUGE_VAL;
    if (!(u >= 0 && v >= 0 && u <= f->columns - 1 && v <= f->rows - 1)) {
        return HUGE_VAL;
    }
    int column = cell_of(u, f->columns), row = cell_of(v, f->rows);
    corners_of(f, column, row, u - column < v - row, corner);
    double height = above(corner[0], corner[1], corner[2], y, n);
    if (!(height > 0) || !(reach > 0)) {
        *out = (tree_bend){.g = {n[0], n[1], n[2]}, .length = INFINITY};
        return height;
    }
    int last_column = cell_of(u + reach / f->cell[0], f->columns),
        last_row = cell_of(v + reach / f->cell[1], f->rows);
    for (int j = cell_of(v - reach / f->cell[1], f->rows); j <= last_row; j++) {
        for (int i = cell_of(u - reach / f->cell[0], f->columns); i <= last_column; i++) {
            for (int which = 0; which < 2; which++) {
                corners_of(f, i, j, which, corner);
                double over = above(corner[0], corner[1], corner[2], y, n);
                if (over > 0 && over < nearest) {
                    nearer((const double *const[]){corner[0], corner[1], corner[2]}, n, over, y, &nearest,
                           out);
                }
            }
        }
    }
    return nearest < reach ? nearest : HUGE_VAL;
}

double tree_distance(const tree_shape *s, const double y[3], double reach, tree_bend *out)
{
    switch (s->form) {
    case TREE_SPHERE:
        *out = (tree_bend){0};
        return from_point(out, y) - s->size[0];
    case TREE_CAPSULE:
        return from_capsule(s->size[1], y, out) - s->size[0];
    case TREE_BOX:
        return from_box(s->size, y, out);
    case TREE_CYLINDER:
        return from_cylinder(s->size[0], s->size[1], y, out);
    case TREE_MESH:
        return from_hull(s->hull, y, reach, out);
    case TREE_TERRAIN:
        return from_terrain(s->terrain, y, reach, out);
    case TREE_PLANE:
        break;
    }
    flat(out, 2, 1);
    return y[2];
}
