/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.c - meshes: memory, measures, surfaces, inner edges, elements at rest (see mesh.h). */
#include "mesh.h"

#include "engines/physics/fem/laws/law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

ds_status fem_mesh_open(fem_mesh *m, size_t points, size_t triangles, size_t tets)
{
    *m = (fem_mesh){0};
    if (points == 0 || points > FEM_MOST_POINTS || triangles > FEM_MOST_ELEMENTS ||
        tets > FEM_MOST_ELEMENTS) {
        return DS_E_PARAM;
    }
    m->point = calloc(3 * points, sizeof *m->point);
    m->triangle = calloc(3 * triangles + 1, sizeof *m->triangle);
    m->tet = calloc(4 * tets + 1, sizeof *m->tet);
    if (!m->point || !m->triangle || !m->tet) {
        fem_mesh_free(m);
        return DS_E_NOMEM;
    }
    m->points = points;
    m->triangles = triangles;
    m->tets = tets;
    return DS_OK;
}

void fem_mesh_free(fem_mesh *m)
{
    free(m->point);
    free(m->triangle);
    free(m->tet);
    free(m->group);
    free(m->triangle_group);
    free(m->named);
    *m = (fem_mesh){0};
}

static void edge_vector(const double *from, const double *to, double out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = to[i] - from[i];
    }
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[j] * b[k] - a[k] * b[j];
    }
}

double fem_tet_volume(const double *a, const double *b, const double *c, const double *d)
{
    double ab[3], ac[3], ad[3], n[3];
    edge_vector(a, b, ab);
    edge_vector(a, c, ac);
    edge_vector(a, d, ad);
    cross(ac, ad, n);
    return (ab[0] * n[0] + ab[1] * n[1] + ab[2] * n[2]) / 6;
}

static double tet_volume(const fem_mesh *m, size_t t)
{
    const uint32_t *v = m->tet + 4 * t;
    return fem_tet_volume(m->point + 3 * (size_t)v[0], m->point + 3 * (size_t)v[1],
                          m->point + 3 * (size_t)v[2], m->point + 3 * (size_t)v[3]);
}

double fem_mesh_volume(const fem_mesh *m)
{
    double sum = 0;
    for (size_t t = 0; t < m->tets; t++) {
        sum += tet_volume(m, t);
    }
    return sum;
}

double fem_mesh_area(const fem_mesh *m)
{
    double sum = 0;
    for (size_t t = 0; t < m->triangles; t++) {
        const uint32_t *v = m->triangle + 3 * t;
        double a[3], b[3], n[3];
        edge_vector(m->point + 3 * (size_t)v[0], m->point + 3 * (size_t)v[1], a);
        edge_vector(m->point + 3 * (size_t)v[0], m->point + 3 * (size_t)v[2], b);
        cross(a, b, n);
        sum += sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 2;
    }
    return sum;
}

size_t fem_mesh_orient(fem_mesh *m)
{
    size_t turned = 0;
    for (size_t t = 0; t < m->tets; t++) {
        if (tet_volume(m, t) < 0) {
            uint32_t *v = m->tet + 4 * t, last = v[3];
            v[3] = v[2];
            v[2] = last;
            turned++;
        }
    }
    return turned;
}

/* A face or an edge: its sorted vertices and its owner. */
typedef struct part {
    uint32_t vertex[3];
    uint32_t owner;
} part;

static int compare_parts(const void *left, const void *right)
{
    const part *a = left, *b = right;
    for (int i = 0; i < 3; i++) {
        if (a->vertex[i] != b->vertex[i]) {
            return a->vertex[i] < b->vertex[i] ? -1 : 1;
        }
    }
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static int same_vertices(const part *a, const part *b)
{
    return memcmp(a->vertex, b->vertex, sizeof a->vertex) == 0;
}

/* Sorts the parts; partner[owner] becomes the other owner of the same vertices, or the owner itself.
 * DS_E_PARAM with *third: a part has three owners. */
static ds_status pair_parts(part *p, size_t n, uint32_t *partner, size_t *third)
{
    qsort(p, n, sizeof *p, compare_parts);
    for (size_t i = 0; i < n; i++) {
        partner[p[i].owner] = p[i].owner;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (!same_vertices(&p[i], &p[i + 1])) {
            continue;
        }
        if (i + 2 < n && same_vertices(&p[i], &p[i + 2])) {
            *third = p[i + 2].owner;
            return DS_E_PARAM;
        }
        partner[p[i].owner] = p[i + 1].owner;
        partner[p[i + 1].owner] = p[i].owner;
        i++;
    }
    return DS_OK;
}

static void swap_down(uint32_t *a, uint32_t *b)
{
    if (*a > *b) {
        uint32_t high = *a;
        *a = *b;
        *b = high;
    }
}

static part sorted_part(uint32_t a, uint32_t b, uint32_t c, size_t owner)
{
    swap_down(&a, &b);
    swap_down(&b, &c);
    swap_down(&a, &b);
    return (part){{a, b, c}, (uint32_t)owner};
}

/* The faces of a tetrahedron of positive volume, seen counter-clockwise from outside. */
static const uint8_t face_of[4][3] = {{0, 2, 1}, {1, 2, 3}, {0, 1, 3}, {0, 3, 2}};

static void collect_faces(const fem_mesh *m, part *faces)
{
    for (size_t i = 0; i < 4 * m->tets; i++) {
        const uint32_t *v = m->tet + i / 4 * 4;
        const uint8_t *f = face_of[i % 4];
        faces[i] = sorted_part(v[f[0]], v[f[1]], v[f[2]], i);
    }
}

static ds_status write_surface(fem_mesh *m, const uint32_t *partner)
{
    size_t count = 0;
    for (size_t i = 0; i < 4 * m->tets; i++) {
        count += partner[i] == i;
    }
    uint32_t *triangle = calloc(3 * count + 1, sizeof *triangle), *to = triangle;
    if (!triangle) {
        return DS_E_NOMEM;
    }
    for (size_t i = 0; i < 4 * m->tets; i++) {
        for (int k = 0; partner[i] == i && k < 3; k++) {
            *to++ = m->tet[i / 4 * 4 + face_of[i % 4][k]];
        }
    }
    free(m->triangle);
    m->triangle = triangle;
    m->triangles = count;
    return DS_OK;
}

ds_status fem_mesh_surface(fem_mesh *m, size_t *bad)
{
    const size_t n = 4 * m->tets;
    size_t third = 0;
    part *faces = calloc(n + 1, sizeof *faces);
    uint32_t *partner = calloc(n + 1, sizeof *partner);
    ds_status status = faces && partner ? DS_OK : DS_E_NOMEM;
    if (status == DS_OK) {
        collect_faces(m, faces);
        status = pair_parts(faces, n, partner, &third);
    }
    status = status != DS_OK ? status : write_surface(m, partner);
    free(faces);
    free(partner);
    if (bad && status == DS_E_PARAM) {
        *bad = third / 4;
    }
    return status;
}

/* Half-edge h = 3 t + i runs from vertex i of triangle t to the next. */
static uint32_t half_edge(const fem_mesh *m, size_t h, size_t vertex)
{
    return m->triangle[h / 3 * 3 + (h % 3 + vertex) % 3];
}

static ds_status write_edges(const fem_mesh *m, const uint32_t *partner, uint32_t *edge, size_t *edges,
                             size_t *bad)
{
    for (size_t h = 0; h < 3 * m->triangles; h++) {
        size_t other = partner[h];
        if (other <= h) {
            continue;
        }
        uint32_t k = half_edge(m, h, 0), l = half_edge(m, h, 1);
        if (half_edge(m, other, 0) != l) {
            *bad = other;
            return DS_E_PARAM;
        }
        uint32_t *to = edge + 4 * (*edges)++;
        to[0] = half_edge(m, h, 2);
        to[1] = half_edge(m, other, 2);
        to[2] = k;
        to[3] = l;
    }
    return DS_OK;
}

ds_status fem_mesh_edges(const fem_mesh *m, uint32_t **edge, size_t *edges, size_t *bad)
{
    const size_t n = 3 * m->triangles;
    size_t wrong = 0;
    part *sides = calloc(n + 1, sizeof *sides);
    uint32_t *partner = calloc(n + 1, sizeof *partner);
    *edges = 0;
    *edge = calloc(2 * n + 1, sizeof **edge); /* at most n/2 edges of four vertices */
    ds_status status = sides && partner && *edge ? DS_OK : DS_E_NOMEM;
    if (status == DS_OK) {
        for (size_t h = 0; h < n; h++) {
            sides[h] = sorted_part(0, half_edge(m, h, 0) + 1, half_edge(m, h, 1) + 1, h);
        }
        status = pair_parts(sides, n, partner, &wrong);
    }
    status = status != DS_OK ? status : write_edges(m, partner, *edge, edges, &wrong);
    free(sides);
    free(partner);
    if (status != DS_OK || *edges == 0) {
        free(*edge);
        *edge = NULL;
        *edges = 0;
    }
    if (bad && status == DS_E_PARAM) {
        *bad = wrong / 3;
    }
    return status;
}

/* ---- normalised size ---- */

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

/* ---- elements at rest ---- */

/* Sizes relative to the edges below which rounding decides. */
static const double flat = 1e-12;

double fem_rest_triangle(const double *q0, const double *q1, const double *q2, double inverse[4])
{
    const vec3 a = v3_minus(v3(q1), v3(q0)), b = v3_minus(v3(q2), v3(q0)), n = v3_cross(a, b);
    const double twice = v3_length(n), along = v3_length(a);
    if (!(twice > flat * along * v3_length(b)) || !isfinite(twice)) {
        return 0;
    }
    /* in the basis e1 along a, e2 = n x e1: a = (along, 0), b = (b.e1, twice / along) */
    const double bx = v3_dot(a, b) / along, by = twice / along;
    inverse[0] = 1 / along;
    inverse[1] = -bx / (along * by);
    inverse[2] = 0;
    inverse[3] = 1 / by;
    return twice / 2;
}

double fem_rest_tet(const double *q0, const double *q1, const double *q2, const double *q3, double inverse[9])
{
    const vec3 a = v3_minus(v3(q1), v3(q0)), b = v3_minus(v3(q2), v3(q0)), c = v3_minus(v3(q3), v3(q0));
    const vec3 row[3] = {v3_cross(b, c), v3_cross(c, a), v3_cross(a, b)};
    const double six = v3_dot(a, row[0]);
    if (!(six > flat * v3_length(a) * v3_length(b) * v3_length(c)) || !isfinite(six)) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        inverse[3 * i] = row[i].x / six;
        inverse[3 * i + 1] = row[i].y / six;
        inverse[3 * i + 2] = row[i].z / six;
    }
    return six / 6;
}

double fem_rest_edge(const double *p1, const double *p2, const double *p3, const double *p4, double *angle)
{
    const vec3 x1 = v3(p1), x2 = v3(p2), x3 = v3(p3), x4 = v3(p4), e = v3_minus(x4, x3);
    const vec3 a = v3_minus(x3, x1), b = v3_minus(x4, x1), c = v3_minus(x4, x2), d = v3_minus(x3, x2);
    const vec3 n1 = v3_cross(a, b), n2 = v3_cross(c, d);
    const double length = v3_length(e);
    if (!(v3_length(n1) > flat * v3_length(a) * v3_length(b) &&
          v3_length(n2) > flat * v3_length(c) * v3_length(d) && length > 0 && isfinite(length))) {
        return 0;
    }
    *angle = atan2(v3_dot(v3_cross(n2, n1), e) / length, v3_dot(n1, n2));
    return length;
}
