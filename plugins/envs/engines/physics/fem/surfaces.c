/* SPDX-License-Identifier: Apache-2.0 */
/* surfaces.c - search for vertices near the surface of another body (see surfaces.h).
 *
 * For each two bodies with overlapping boxes: the triangles near the box of the other body are sorted along
 * its longest side, and each vertex there visits those that its reach overlaps. Of equally near triangles the
 * first one counts. A vertex is outside where it lies on the outer side of the pseudonormal at the nearest
 * place (J. A. Baerentzen, H. Aanaes, IEEE TVCG 11(3), 2005). */
#include "engines/physics/fem/surfaces.h"

#include "engines/physics/fem/laws/law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct box {
    double low[3], high[3];
} box;

/* A triangle in a search: its extent along the axis. */
typedef struct entry {
    double low;
    uint32_t triangle;
} entry;

struct fem_surfaces {
    size_t triangles, bodies, vertices;
    uint32_t *triangle;             /* [triangles][3] */
    uint32_t *vertex;               /* [vertices]: particles of the surfaces, by body */
    uint32_t *first, *first_vertex; /* [bodies + 1]: the triangles and vertices of a body */
    uint32_t *begin, *incident;     /* triangles at particle i: incident[begin[i]] .. [begin[i + 1] - 1] */
    box *boxes;                     /* [bodies] */
    entry *entries;                 /* [triangles] */
    fem_near_pair *pair;            /* [vertices (bodies - 1)] */
};

/* ---- topology ---- */

static size_t particles_of(const uint32_t *triangle, size_t triangles)
{
    size_t n = 0;
    for (size_t i = 0; i < 3 * triangles; i++) {
        n = triangle[i] >= n ? (size_t)triangle[i] + 1 : n;
    }
    return n;
}

/* Counting sort: triangles at a particle in ascending order. */
static void list_incident(fem_surfaces *s, size_t particles)
{
    for (size_t i = 0; i < 3 * s->triangles; i++) {
        s->begin[s->triangle[i] + 1]++;
    }
    for (size_t i = 0; i < particles; i++) {
        s->begin[i + 1] += s->begin[i];
    }
    for (size_t i = 0; i < 3 * s->triangles; i++) {
        s->incident[s->begin[s->triangle[i]]++] = (uint32_t)(i / 3);
    }
    memmove(s->begin + 1, s->begin, particles * sizeof *s->begin);
    s->begin[0] = 0;
}

static void list_bodies(fem_surfaces *s, const uint32_t *body, size_t particles)
{
    for (size_t t = 0; t < s->triangles; t++) {
        s->first[body[t] + 1] = (uint32_t)t + 1;
    }
    for (size_t b = 0; b < s->bodies; b++) {
        s->first[b + 1] = s->first[b + 1] > s->first[b] ? s->first[b + 1] : s->first[b];
    }
    for (size_t b = 0; b < s->bodies; b++) {
        s->first_vertex[b] = (uint32_t)s->vertices;
        for (size_t i = 0; i < particles; i++) {
            if (s->begin[i + 1] > s->begin[i] && body[s->incident[s->begin[i]]] == b) {
                s->vertex[s->vertices++] = (uint32_t)i;
            }
        }
    }
    s->first_vertex[s->bodies] = (uint32_t)s->vertices;
}

fem_surfaces *fem_surfaces_open(ds_memory *room, const uint32_t *triangle, const uint32_t *body,
                                size_t triangles, size_t bodies)
{
    const size_t particles = particles_of(triangle, triangles);
    fem_surfaces *s = ds_memory_take(room, 1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->triangles = triangles;
    s->bodies = bodies;
    s->triangle = ds_memory_take(room, 3 * triangles + 1, sizeof *s->triangle);
    s->vertex = ds_memory_take(room, particles + 1, sizeof *s->vertex);
    s->first = ds_memory_take(room, bodies + 1, sizeof *s->first);
    s->first_vertex = ds_memory_take(room, bodies + 1, sizeof *s->first_vertex);
    s->begin = ds_memory_take(room, particles + 2, sizeof *s->begin);
    s->incident = ds_memory_take(room, 3 * triangles + 1, sizeof *s->incident);
    s->boxes = ds_memory_take(room, bodies + 1, sizeof *s->boxes);
    s->entries = ds_memory_take(room, triangles + 1, sizeof *s->entries);
    if (room->failed) {
        return NULL;
    }
    memcpy(s->triangle, triangle, 3 * triangles * sizeof *triangle);
    list_incident(s, particles);
    list_bodies(s, body, particles);
    s->pair = ds_memory_take(room, s->vertices * bodies + 1, sizeof *s->pair);
    return room->failed ? NULL : s;
}

double fem_surfaces_edge(const fem_surfaces *s, const double *q)
{
    double sum = 0;
    for (size_t i = 0; i < 3 * s->triangles; i++) {
        const size_t a = s->triangle[i], b = s->triangle[i / 3 * 3 + (i + 1) % 3];
        sum += v3_length(v3_minus(v3(q + 3 * a), v3(q + 3 * b)));
    }
    return s->triangles > 0 ? sum / (3 * (double)s->triangles) : 0;
}

/* ---- the nearest place on a triangle ---- */

/* The place nearest to p on the edge from a to b, as its share from a on. */
static double along_edge(vec3 p, vec3 a, vec3 b)
{
    const vec3 e = v3_minus(b, a);
    const double square = v3_dot(e, e), t = square > 0 ? v3_dot(v3_minus(p, a), e) / square : 0;
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

/* Sets feature and corners of the pair; returns the squared distance. */
static double nearest_place(const uint32_t v[3], const vec3 x[3], vec3 p, fem_near_pair *out)
{
    const vec3 n = v3_cross(v3_minus(x[1], x[0]), v3_minus(x[2], x[0]));
    const double square = v3_dot(n, n);
    double best = HUGE_VAL;
    int inside = square > 0;
    for (int k = 0; k < 3 && inside; k++) {
        const vec3 e = v3_minus(x[(k + 1) % 3], x[k]);
        inside = v3_dot(v3_cross(e, v3_minus(p, x[k])), n) > 0;
    }
    if (inside) {
        const double height = v3_dot(v3_minus(p, x[0]), n);
        memcpy(out->corner, v, 3 * sizeof *v);
        out->feature = FEM_FACE;
        return height * height / square;
    }
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const double t = along_edge(p, x[k], x[i]);
        const vec3 off = v3_minus(p, v3_along(x[k], t, v3_minus(x[i], x[k])));
        if (v3_dot(off, off) < best) {
            best = v3_dot(off, off);
            out->feature = t > 0 && t < 1 ? FEM_EDGE : FEM_CORNER;
            out->corner[0] = t < 1 ? v[k] : v[i];
            out->corner[1] = t < 1 ? v[i] : v[j];
            out->corner[2] = t < 1 ? v[j] : v[k];
        }
    }
    return best;
}

/* ---- search ---- */

typedef struct search {
    fem_surfaces *s;
    const double *q;
    size_t width;
    double reach;
} search;

static vec3 at(const search *c, uint32_t i)
{
    return v3(c->q + c->width * i);
}

static const double *coordinates(const search *c, uint32_t i)
{
    return c->q + c->width * i;
}

static box box_of(const search *c, const uint32_t *vertex, size_t count)
{
    box b = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
    for (size_t i = 0; i < count; i++) {
        const double *x = coordinates(c, vertex[i]);
        for (int d = 0; d < 3; d++) {
            b.low[d] = x[d] < b.low[d] ? x[d] : b.low[d];
            b.high[d] = x[d] > b.high[d] ? x[d] : b.high[d];
        }
    }
    return b;
}

/* Is the gap between both boxes at most `reach` along each axis? */
static int boxes_meet(const box *a, const box *b, double reach)
{
    int d = 0;
    while (d < 3 && a->low[d] - reach <= b->high[d] && b->low[d] - reach <= a->high[d]) {
        d++;
    }
    return d == 3;
}

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low ? 1 : x->triangle < y->triangle ? -1 : 1;
}

static int longest(const box *b)
{
    int axis = 0;
    for (int d = 1; d < 3; d++) {
        axis = b->high[d] - b->low[d] > b->high[axis] - b->low[axis] ? d : axis;
    }
    return axis;
}

/* Sorts the triangles of body b near the box `with`; *extent: the largest along the axis. */
static size_t sort_triangles(const search *c, size_t b, const box *with, int axis, double *extent)
{
    const fem_surfaces *s = c->s;
    size_t n = 0;
    *extent = 0;
    for (uint32_t t = s->first[b]; t < s->first[b + 1]; t++) {
        const box own = box_of(c, s->triangle + 3 * (size_t)t, 3);
        if (boxes_meet(&own, with, c->reach)) {
            s->entries[n++] = (entry){own.low[axis], t};
            *extent = fmax(*extent, own.high[axis] - own.low[axis]);
        }
    }
    qsort(s->entries, n, sizeof *s->entries, compare);
    return n;
}

/* The first of the sorted triangles that begins at `low` or later. */
static size_t first_from(const fem_surfaces *s, size_t n, double low)
{
    size_t a = 0, b = n;
    while (a < b) {
        const size_t middle = (a + b) / 2;
        if (s->entries[middle].low < low) {
            a = middle + 1;
        } else {
            b = middle;
        }
    }
    return a;
}

/* Angle of triangle t at particle i. */
static double angle_at(const search *c, uint32_t t, uint32_t i)
{
    const uint32_t *v = c->s->triangle + 3 * (size_t)t;
    const int k = v[0] == i ? 0 : v[1] == i ? 1 : 2;
    const vec3 a = v3_minus(at(c, v[(k + 1) % 3]), at(c, i)), b = v3_minus(at(c, v[(k + 2) % 3]), at(c, i));
    return atan2(v3_length(v3_cross(a, b)), v3_dot(a, b));
}

static vec3 unit_normal(const search *c, uint32_t t)
{
    const uint32_t *v = c->s->triangle + 3 * (size_t)t;
    const vec3 a = at(c, v[0]), n = v3_cross(v3_minus(at(c, v[1]), a), v3_minus(at(c, v[2]), a));
    const double length = v3_length(n);
    return v3_times(length > 0 ? 1 / length : 0, n);
}

static int has_corner(const fem_surfaces *s, uint32_t t, uint32_t i)
{
    const uint32_t *v = s->triangle + 3 * (size_t)t;
    return v[0] == i || v[1] == i || v[2] == i;
}

/* 1 or -1, by the normals of the triangles at the nearest place. */
static double side_of(const search *c, const fem_near_pair *p, uint32_t triangle)
{
    const fem_surfaces *s = c->s;
    const uint32_t i = p->corner[0];
    vec3 n = {0, 0, 0};
    if (p->feature == FEM_FACE) {
        n = unit_normal(c, triangle);
    }
    for (uint32_t k = s->begin[i]; p->feature != FEM_FACE && k < s->begin[i + 1]; k++) {
        const uint32_t t = s->incident[k];
        if (p->feature == FEM_CORNER) {
            n = v3_along(n, angle_at(c, t, i), unit_normal(c, t));
        } else if (has_corner(s, t, p->corner[1])) {
            n = v3_plus(n, unit_normal(c, t));
        }
    }
    vec3 from = at(c, i);
    if (p->feature == FEM_EDGE) {
        const vec3 end = at(c, p->corner[1]);
        from = v3_along(from, along_edge(at(c, p->vertex), from, end), v3_minus(end, from));
    }
    return v3_dot(v3_minus(at(c, p->vertex), from), n) < 0 ? -1 : 1;
}

/* The nearest place for particle i among n sorted triangles of body b; returns whether it is within reach. */
static int nearest(const search *c, uint32_t i, size_t b, size_t n, int axis, double extent,
                   fem_near_pair *out)
{
    const fem_surfaces *s = c->s;
    const double *x = coordinates(c, i);
    double best = c->reach * c->reach;
    uint32_t found = UINT32_MAX;
    for (size_t k = first_from(s, n, x[axis] - c->reach - extent);
         k < n && s->entries[k].low <= x[axis] + c->reach; k++) {
        const uint32_t t = s->entries[k].triangle, *v = s->triangle + 3 * (size_t)t;
        fem_near_pair here = {.vertex = i, .body = (uint32_t)b};
        const double square =
            nearest_place(v, (const vec3[3]){at(c, v[0]), at(c, v[1]), at(c, v[2])}, v3(x), &here);
        if (square < best || (square <= best && t < found)) {
            best = square;
            found = t;
            *out = here;
        }
    }
    if (found != UINT32_MAX) {
        out->sign = side_of(c, out, found);
    }
    return found != UINT32_MAX;
}

/* Vertices of body a near body b. */
static size_t near_body(const search *c, size_t a, size_t b, fem_near_pair *out)
{
    const fem_surfaces *s = c->s;
    const int axis = longest(&s->boxes[a]);
    size_t found = 0;
    double extent;
    if (!boxes_meet(&s->boxes[a], &s->boxes[b], c->reach)) {
        return 0;
    }
    const size_t n = sort_triangles(c, b, &s->boxes[a], axis, &extent);
    for (uint32_t k = s->first_vertex[a]; n > 0 && k < s->first_vertex[a + 1]; k++) {
        const uint32_t i = s->vertex[k];
        const box own = box_of(c, &i, 1);
        if (boxes_meet(&own, &s->boxes[b], c->reach) && nearest(c, i, b, n, axis, extent, &out[found])) {
            found++;
        }
    }
    return found;
}

size_t fem_surfaces_near(fem_surfaces *s, const double *q, size_t width, double reach,
                         const fem_near_pair **pairs)
{
    const search c = {s, q, width, reach};
    size_t found = 0;
    for (size_t b = 0; b < s->bodies; b++) {
        s->boxes[b] = box_of(&c, s->vertex + s->first_vertex[b], s->first_vertex[b + 1] - s->first_vertex[b]);
    }
    for (size_t a = 0; a < s->bodies; a++) {
        for (size_t b = 0; b < s->bodies; b++) {
            found += a != b ? near_body(&c, a, b, s->pair + found) : 0;
        }
    }
    *pairs = s->pair;
    return found;
}
