/* SPDX-License-Identifier: Apache-2.0 */
/* surface.c - checks of closed surfaces, parity of rays, sampled distances.
 *
 * A ray crosses a triangle if the y-z shadow of the triangle contains its point by the crossing rule of
 * polygons. The rule computes each edge from its ends in the order of their numbers, so both faces of an edge
 * compute the same bits and no ray slips between them. */
#include "engines/data/surface.h"

#include "engines/physics/fem/read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double *corner(const surface *s, size_t triangle, int k)
{
    return s->mesh.point + 3 * (size_t)s->mesh.triangle[3 * triangle + (size_t)k];
}

/* ---- checks ---- */

/* A directed edge of a triangle, as the ends in the order of their numbers. */
typedef struct edge {
    uint32_t low, high, face;
    int32_t direction; /* +1: from low to high */
} edge;

static int by_ends(const void *a, const void *b)
{
    const edge *p = a, *q = b;
    if (p->low != q->low) {
        return p->low < q->low ? -1 : 1;
    }
    if (p->high != q->high) {
        return p->high < q->high ? -1 : 1;
    }
    return p->face < q->face ? -1 : p->face > q->face;
}

static int check_edges(const surface *s, const char *name, char error[SURFACE_ERROR])
{
    const size_t n = 3 * s->mesh.triangles;
    edge *edges = malloc((n + 1) * sizeof *edges);
    if (!edges) {
        snprintf(error, SURFACE_ERROR, "%.200s: no memory", name);
        return 2;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t *v = s->mesh.triangle + i / 3 * 3, a = v[i % 3], b = v[(i + 1) % 3];
        edges[i] = (edge){a < b ? a : b, a < b ? b : a, (uint32_t)(i / 3), a < b ? 1 : -1};
    }
    qsort(edges, n, sizeof *edges, by_ends);
    int bad = 0;
    for (size_t i = 0, end; i < n && !bad; i = end) {
        int32_t balance = 0;
        for (end = i; end < n && edges[end].low == edges[i].low && edges[end].high == edges[i].high; end++) {
            balance += edges[end].direction;
        }
        if (balance == 0) {
            continue;
        }
        bad = 1;
        if (end - i == 1) {
            snprintf(
                error, SURFACE_ERROR,
                "%.200s: the surface has a hole: only face %u has the edge of points %u and %u; close it, "
                "or join points that lie on each other",
                name, edges[i].face + 1, edges[i].low + 1, edges[i].high + 1);
        } else {
            snprintf(error, SURFACE_ERROR,
                     "%.200s: faces %u and %u disagree about inside and outside at the edge of points %u and "
                     "%u: turn one over (its normal is flipped)",
                     name, edges[i].face + 1, edges[i + 1].face + 1, edges[i].low + 1, edges[i].high + 1);
        }
    }
    free(edges);
    return bad;
}

static void measure(surface *s)
{
    for (int d = 0; d < 3; d++) {
        s->low[d] = INFINITY;
        s->high[d] = -INFINITY;
    }
    s->volume = 0.0;
    for (size_t t = 0; t < s->mesh.triangles; t++) {
        const double *a = corner(s, t, 0), *b = corner(s, t, 1), *c = corner(s, t, 2);
        for (int d = 0; d < 3; d++) {
            s->low[d] = fmin(s->low[d], fmin(a[d], fmin(b[d], c[d])));
            s->high[d] = fmax(s->high[d], fmax(a[d], fmax(b[d], c[d])));
        }
        s->volume += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                      a[2] * (b[0] * c[1] - b[1] * c[0])) /
                     6.0;
    }
}

static int check_volume(const surface *s, const char *name, char error[SURFACE_ERROR])
{
    double box = 1.0;
    for (int d = 0; d < 3; d++) {
        box *= s->high[d] - s->low[d];
    }
    if (!(fabs(s->volume) > 1e-9 * box) || !(box > 0.0)) {
        snprintf(error, SURFACE_ERROR, "%.200s: the surface encloses no volume: is it flat?", name);
        return 1;
    }
    if (s->volume < 0.0) {
        snprintf(error, SURFACE_ERROR,
                 "%.200s: the surface is inside out (volume %.4g): turn all faces over (flip the normals)",
                 name, s->volume);
        return 1;
    }
    return 0;
}

/* ---- cells of rays ---- */

static int cell_of(const surface *s, int axis, double x)
{
    const double at = (x - s->low[1 + axis]) / s->cell[axis];
    return at < 0.0 ? 0 : at >= s->cells[axis] ? s->cells[axis] - 1 : (int)at;
}

/* The cells that the box of a triangle touches, inclusive. */
static void cells_of(const surface *s, size_t t, int from[2], int to[2])
{
    const double *a = corner(s, t, 0), *b = corner(s, t, 1), *c = corner(s, t, 2);
    for (int k = 0; k < 2; k++) {
        from[k] = cell_of(s, k, fmin(a[1 + k], fmin(b[1 + k], c[1 + k])));
        to[k] = cell_of(s, k, fmax(a[1 + k], fmax(b[1 + k], c[1 + k])));
    }
}

static int make_cells(surface *s, const char *name, char error[SURFACE_ERROR])
{
    const int side = (int)fmin(256.0, 1.0 + sqrt((double)s->mesh.triangles));
    const size_t all = (size_t)side * (size_t)side;
    for (int k = 0; k < 2; k++) {
        s->cells[k] = side;
        s->cell[k] = (s->high[1 + k] - s->low[1 + k]) / side;
    }
    s->start = calloc(all + 2, sizeof *s->start);
    for (int pass = 0; s->start && pass < 2; pass++) {
        for (size_t t = 0; t < s->mesh.triangles; t++) {
            int from[2], to[2];
            cells_of(s, t, from, to);
            for (int i = from[0]; i <= to[0]; i++) {
                for (int j = from[1]; j <= to[1]; j++) {
                    const size_t c = (size_t)i * (size_t)side + (size_t)j;
                    if (pass == 0) {
                        s->start[c + 2]++;
                    } else {
                        s->item[s->start[c + 1]++] = (uint32_t)t;
                    }
                }
            }
        }
        for (size_t c = 0; pass == 0 && c < all; c++) {
            s->start[c + 2] += s->start[c + 1];
        }
        if (pass == 0 && !(s->item = malloc((s->start[all + 1] + (size_t)1) * sizeof *s->item))) {
            break;
        }
    }
    if (!s->start || !s->item) {
        snprintf(error, SURFACE_ERROR, "%.200s: no memory", name);
        return 2;
    }
    return 0;
}

/* Does the shadow of the edge from a to b, in the order of their numbers, lie beyond the point in y where it
 * crosses its z? */
static bool crosses(const double *a, const double *b, const double x[3])
{
    if ((a[2] > x[2]) == (b[2] > x[2])) {
        return false;
    }
    return x[1] < a[1] + (x[2] - a[2]) / (b[2] - a[2]) * (b[1] - a[1]);
}

bool surface_inside(const surface *s, const double x[3])
{
    for (int d = 0; d < 3; d++) {
        if (!(x[d] >= s->low[d] && x[d] <= s->high[d])) {
            return false;
        }
    }
    const size_t c = (size_t)cell_of(s, 0, x[1]) * (size_t)s->cells[1] + (size_t)cell_of(s, 1, x[2]);
    bool inside = false;
    for (uint32_t i = s->start[c]; i < s->start[c + 1]; i++) {
        const uint32_t *v = s->mesh.triangle + 3 * (size_t)s->item[i];
        bool shadow = false;
        for (int k = 0; k < 3; k++) {
            const uint32_t a = v[k], b = v[(k + 1) % 3];
            shadow ^= crosses(s->mesh.point + 3 * (size_t)(a < b ? a : b),
                              s->mesh.point + 3 * (size_t)(a < b ? b : a), x);
        }
        if (!shadow) {
            continue;
        }
        const double *p = corner(s, s->item[i], 0), *q = corner(s, s->item[i], 1),
                     *r = corner(s, s->item[i], 2);
        const double u[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]},
                     w[3] = {r[0] - p[0], r[1] - p[1], r[2] - p[2]};
        const double nx = u[1] * w[2] - u[2] * w[1], ny = u[2] * w[0] - u[0] * w[2],
                     nz = u[0] * w[1] - u[1] * w[0];
        const double ahead = p[0] - (ny * (x[1] - p[1]) + nz * (x[2] - p[2])) / nx;
        inside ^= ahead > x[0];
    }
    return inside;
}

/* ---- distances ---- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Squared distance of x to a triangle (C. Ericson, Real-Time Collision Detection, 2005, section 5.1.5). */
static double squared_distance(const double *a, const double *b, const double *c, const double x[3])
{
    double ab[3], ac[3], ap[3], bp[3], cp[3], v, w;
    for (int d = 0; d < 3; d++) {
        ab[d] = b[d] - a[d];
        ac[d] = c[d] - a[d];
        ap[d] = x[d] - a[d];
        bp[d] = x[d] - b[d];
        cp[d] = x[d] - c[d];
    }
    const double d1 = dot(ab, ap), d2 = dot(ac, ap), d3 = dot(ab, bp), d4 = dot(ac, bp), d5 = dot(ab, cp),
                 d6 = dot(ac, cp);
    const double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    if (d1 <= 0.0 && d2 <= 0.0) {
        v = w = 0.0;
    } else if (d3 >= 0.0 && d4 <= d3) {
        v = 1.0;
        w = 0.0;
    } else if (d6 >= 0.0 && d5 <= d6) {
        v = 0.0;
        w = 1.0;
    } else if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) {
        v = d1 / (d1 - d3);
        w = 0.0;
    } else if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
        v = 0.0;
        w = d2 / (d2 - d6);
    } else if (va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0) {
        w = (d4 - d3) / (d4 - d3 + d5 - d6);
        v = 1.0 - w;
    } else {
        v = vb / (va + vb + vc);
        w = vc / (va + vb + vc);
    }
    double sum = 0.0;
    for (int d = 0; d < 3; d++) {
        const double gap = ap[d] - v * ab[d] - w * ac[d];
        sum += gap * gap;
    }
    return sum;
}

typedef struct sweep {
    const surface *s;
    distance_grid *g;
    uint32_t *nearest; /* triangle of each sample; UINT32_MAX: none yet */
} sweep;

static size_t sample(const distance_grid *g, const int i[3])
{
    return ((size_t)i[0] * (size_t)g->n[1] + (size_t)i[1]) * (size_t)g->n[2] + (size_t)i[2];
}

static void try_triangle(const sweep *w, const int i[3], uint32_t t)
{
    const distance_grid *g = w->g;
    const size_t at = sample(g, i);
    if (t == UINT32_MAX || t == w->nearest[at]) {
        return;
    }
    const double x[3] = {g->origin[0] + i[0] * g->spacing, g->origin[1] + i[1] * g->spacing,
                         g->origin[2] + i[2] * g->spacing};
    const double d = squared_distance(corner(w->s, t, 0), corner(w->s, t, 1), corner(w->s, t, 2), x);
    if (d < g->value[at]) {
        g->value[at] = d;
        w->nearest[at] = t;
    }
}

/* Samples near a triangle get it at once; `value` holds squares. */
static void seed(const sweep *w, uint32_t t)
{
    const distance_grid *g = w->g;
    int from[3], to[3], i[3];
    for (int d = 0; d < 3; d++) {
        const double a = corner(w->s, t, 0)[d], b = corner(w->s, t, 1)[d], c = corner(w->s, t, 2)[d];
        from[d] = (int)floor((fmin(a, fmin(b, c)) - g->origin[d]) / g->spacing) - 1;
        to[d] = (int)ceil((fmax(a, fmax(b, c)) - g->origin[d]) / g->spacing) + 1;
        from[d] = from[d] < 0 ? 0 : from[d];
        to[d] = to[d] >= g->n[d] ? g->n[d] - 1 : to[d];
    }
    for (i[0] = from[0]; i[0] <= to[0]; i[0]++) {
        for (i[1] = from[1]; i[1] <= to[1]; i[1]++) {
            for (i[2] = from[2]; i[2] <= to[2]; i[2]++) {
                try_triangle(w, i, t);
            }
        }
    }
}

/* Each sample tries the triangles of its neighbours behind it, in one of eight orders. */
static void pass(const sweep *w, const int step[3])
{
    const int *n = w->g->n;
    int i[3];
    for (i[0] = step[0] > 0 ? 0 : n[0] - 1; i[0] >= 0 && i[0] < n[0]; i[0] += step[0]) {
        for (i[1] = step[1] > 0 ? 0 : n[1] - 1; i[1] >= 0 && i[1] < n[1]; i[1] += step[1]) {
            for (i[2] = step[2] > 0 ? 0 : n[2] - 1; i[2] >= 0 && i[2] < n[2]; i[2] += step[2]) {
                for (int from = 1; from < 8; from++) {
                    const int j[3] = {i[0] - (from & 1 ? step[0] : 0), i[1] - (from & 2 ? step[1] : 0),
                                      i[2] - (from & 4 ? step[2] : 0)};
                    if (j[0] >= 0 && j[0] < n[0] && j[1] >= 0 && j[1] < n[1] && j[2] >= 0 && j[2] < n[2]) {
                        try_triangle(w, i, w->nearest[sample(w->g, j)]);
                    }
                }
            }
        }
    }
}

bool surface_distances(const surface *s, int cells, distance_grid *out)
{
    enum { MARGIN = 4 };
    double longest = 0.0;
    for (int d = 0; d < 3; d++) {
        longest = fmax(longest, s->high[d] - s->low[d]);
    }
    out->spacing = longest / cells;
    size_t all = 1;
    for (int d = 0; d < 3; d++) {
        out->origin[d] = s->low[d] - MARGIN * out->spacing;
        out->n[d] = (int)ceil((s->high[d] - s->low[d]) / out->spacing) + 2 * MARGIN + 1;
        all *= (size_t)out->n[d];
    }
    out->value = malloc(all * sizeof *out->value);
    sweep w = {s, out, malloc(all * sizeof *w.nearest)};
    if (!out->value || !w.nearest) {
        free(out->value);
        free(w.nearest);
        out->value = NULL;
        return false;
    }
    for (size_t i = 0; i < all; i++) {
        out->value[i] = INFINITY;
        w.nearest[i] = UINT32_MAX;
    }
    for (uint32_t t = 0; t < s->mesh.triangles; t++) {
        seed(&w, t);
    }
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 8; k++) {
            const int step[3] = {k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1};
            pass(&w, step);
        }
    }
    for (size_t at = 0; at < all; at++) {
        const size_t rest = at / (size_t)out->n[2];
        const double x[3] = {out->origin[0] + (double)(rest / (size_t)out->n[1]) * out->spacing,
                             out->origin[1] + (double)(rest % (size_t)out->n[1]) * out->spacing,
                             out->origin[2] + (double)(at % (size_t)out->n[2]) * out->spacing};
        const double d = sqrt(out->value[at]);
        out->value[at] = surface_inside(s, x) ? -d : d;
    }
    free(w.nearest);
    return true;
}

/* ---- surfaces ---- */

int surface_open(surface *s, fem_mesh *mesh, const char *name, char error[SURFACE_ERROR])
{
    int status = 0;
    *s = (surface){.mesh = *mesh};
    *mesh = (fem_mesh){0};
    error[0] = '\0';
    if (s->mesh.triangles > SURFACE_MOST_FACES) {
        snprintf(error, SURFACE_ERROR, "%.200s: %zu faces, at most %d: simplify the mesh", name,
                 s->mesh.triangles, SURFACE_MOST_FACES);
        status = 1;
    }
    status = status != 0 ? status : check_edges(s, name, error);
    if (status == 0) {
        measure(s);
        status = check_volume(s, name, error);
    }
    status = status != 0 ? status : make_cells(s, name, error);
    if (status != 0) {
        surface_free(s);
    }
    return status;
}

int surface_read(surface *s, const char *path, double scale, char error[SURFACE_ERROR])
{
    fem_mesh mesh;
    char text[FEM_READ_ERROR];
    *s = (surface){0};
    int status = fem_read_mesh(&mesh, path, text);
    if (status != 0) {
        snprintf(error, SURFACE_ERROR, "%s", text);
        return status;
    }
    if (mesh.tets > 0) {
        size_t bad = 0;
        free(mesh.triangle);
        mesh.triangle = NULL;
        mesh.triangles = 0;
        if (fem_mesh_surface(&mesh, &bad) != DS_OK) {
            fem_mesh_free(&mesh);
            snprintf(error, SURFACE_ERROR, "%.200s: no memory", path);
            return 2;
        }
    }
    for (size_t i = 0; i < 3 * mesh.points; i++) {
        mesh.point[i] *= scale;
    }
    return surface_open(s, &mesh, path, error);
}

void surface_free(surface *s)
{
    fem_mesh_free(&s->mesh);
    free(s->start);
    free(s->item);
    *s = (surface){0};
}
