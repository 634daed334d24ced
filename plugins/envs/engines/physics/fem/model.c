/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - building and checking a model (see model.h). */
#include "model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PARTICLES = 0, SPRINGS, TRIANGLES, EDGES, TETS };

/* Keeps the first failure. */
__attribute__((format(printf, 3, 4))) static void fail(fem_model *m, ds_status status, const char *format,
                                                       ...)
{
    if (m->status != DS_OK) {
        return;
    }
    va_list values;
    va_start(values, format);
    vsnprintf(m->problem, sizeof m->problem, format, values);
    va_end(values);
    m->status = status;
}

void fem_model_open(fem_model *m)
{
    *m = (fem_model){.gravity = {0, -9.8, 0}, .ground.offset = 0.01, .sheets = 1};
}

/* The arrays of each kind: the offset of their pointer in the model, and the bytes of an element. */
typedef struct column {
    size_t place, size;
} column;

enum { KINDS = 5, MOST_COLUMNS = 6 };

static const column columns[KINDS][MOST_COLUMNS] = {
    [PARTICLES] = {{offsetof(fem_model, q), 3 * sizeof(double)},
                   {offsetof(fem_model, u), 3 * sizeof(double)},
                   {offsetof(fem_model, mass), sizeof(double)},
                   {offsetof(fem_model, fixed), 1}},
    [SPRINGS] = {{offsetof(fem_model, spring), 2 * sizeof(uint32_t)},
                 {offsetof(fem_model, spring_ke), sizeof(double)},
                 {offsetof(fem_model, spring_kd), sizeof(double)},
                 {offsetof(fem_model, spring_rest), sizeof(double)}},
    [TRIANGLES] = {{offsetof(fem_model, triangle), 3 * sizeof(uint32_t)},
                   {offsetof(fem_model, triangle_inverse), 4 * sizeof(double)},
                   {offsetof(fem_model, triangle_area), sizeof(double)},
                   {offsetof(fem_model, triangle_factor), sizeof(double)},
                   {offsetof(fem_model, triangle_act), sizeof(double)},
                   {offsetof(fem_model, triangle_sheet), 1}},
    [EDGES] = {{offsetof(fem_model, edge), 4 * sizeof(uint32_t)},
               {offsetof(fem_model, edge_rest), sizeof(double)},
               {offsetof(fem_model, edge_length), sizeof(double)},
               {offsetof(fem_model, edge_factor), sizeof(double)},
               {offsetof(fem_model, edge_act), sizeof(double)},
               {offsetof(fem_model, edge_sheet), 1}},
    [TETS] = {{offsetof(fem_model, tet), 4 * sizeof(uint32_t)},
              {offsetof(fem_model, tet_inverse), 9 * sizeof(double)},
              {offsetof(fem_model, tet_volume), sizeof(double)},
              {offsetof(fem_model, tet_act), sizeof(double)},
              {offsetof(fem_model, solid), sizeof(fem_solid)}},
};

/* Replaces the array of a column by one with `room` elements and keeps the old ones; 0: releases it. */
static int resize(fem_model *m, const column *c, size_t have, size_t room)
{
    char *array;
    memcpy(&array, (char *)m + c->place, sizeof array);
    char *larger = room ? realloc(array, room * c->size) : NULL;
    if (room && !larger) {
        return 0;
    }
    if (room) {
        memset(larger + have * c->size, 0, (room - have) * c->size);
    } else {
        free(array);
    }
    memcpy((char *)m + c->place, &larger, sizeof larger);
    return 1;
}

void fem_model_close(fem_model *m)
{
    for (int i = 0; i < KINDS * MOST_COLUMNS; i++) {
        const column *c = &columns[i / MOST_COLUMNS][i % MOST_COLUMNS];
        if (c->size > 0) {
            resize(m, c, 0, 0);
        }
    }
    *m = (fem_model){0};
}

/* Adds one element of zeros to a kind; returns 0 after a failure. */
static int grow(fem_model *m, int kind, size_t have, size_t most, const char *what)
{
    if (m->status == DS_OK && have >= most) {
        fail(m, DS_E_PARAM, "more than %zu %s", most, what);
    }
    if (m->status != DS_OK || have < m->room[kind]) {
        return m->status == DS_OK;
    }
    const size_t room = have ? 2 * have : 64;
    for (int i = 0; i < MOST_COLUMNS && columns[kind][i].size > 0; i++) {
        if (!resize(m, &columns[kind][i], have, room)) {
            fail(m, DS_E_NOMEM, "no memory for %zu %s", room, what);
            return 0;
        }
    }
    m->room[kind] = room;
    return 1;
}

uint32_t fem_add_particle(fem_model *m, const double q[3], const double u[3], double mass)
{
    if (!grow(m, PARTICLES, m->particles, FEM_MOST_POINTS, "particles")) {
        return UINT32_MAX;
    }
    size_t i = m->particles++;
    memcpy(m->q + 3 * i, q, 3 * sizeof *q);
    memcpy(m->u + 3 * i, u, 3 * sizeof *u);
    m->mass[i] = mass;
    return (uint32_t)i;
}

/* Returns whether the vertices of a new element exist and differ. */
static int vertices_are_good(fem_model *m, const char *kind, size_t at, const uint32_t *v, int n)
{
    for (int i = 0; i < n && m->status == DS_OK; i++) {
        if (v[i] >= m->particles) {
            fail(m, DS_E_PARAM, "%s %zu: particle %u of %zu", kind, at, v[i], m->particles);
        }
        for (int j = 0; j < i && m->status == DS_OK; j++) {
            if (v[i] == v[j]) {
                fail(m, DS_E_PARAM, "%s %zu has particle %u twice", kind, at, v[i]);
            }
        }
    }
    return m->status == DS_OK;
}

static const double *position(const fem_model *m, uint32_t i)
{
    return m->q + 3 * (size_t)i;
}

void fem_add_spring(fem_model *m, uint32_t i, uint32_t j, double ke, double kd, double rest)
{
    const uint32_t v[2] = {i, j};
    const size_t s = m->springs;
    if (!vertices_are_good(m, "spring", s, v, 2) || !grow(m, SPRINGS, s, FEM_MOST_ELEMENTS, "springs")) {
        return;
    }
    double d[3];
    for (int k = 0; k < 3; k++) {
        d[k] = position(m, i)[k] - position(m, j)[k];
    }
    memcpy(m->spring + 2 * s, v, sizeof v);
    m->spring_ke[s] = ke;
    m->spring_kd[s] = kd;
    m->spring_rest[s] = rest >= 0 ? rest : sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    m->springs++;
}

void fem_add_triangle(fem_model *m, uint32_t i, uint32_t j, uint32_t k)
{
    const uint32_t v[3] = {i, j, k};
    const size_t t = m->triangles;
    if (!vertices_are_good(m, "triangle", t, v, 3) ||
        !grow(m, TRIANGLES, t, FEM_MOST_ELEMENTS, "triangles")) {
        return;
    }
    memcpy(m->triangle + 3 * t, v, sizeof v);
    m->triangle_area[t] =
        fem_rest_triangle(position(m, i), position(m, j), position(m, k), m->triangle_inverse + 4 * t);
    if (!(m->triangle_area[t] > 0)) {
        fail(m, DS_E_PARAM, "triangle %zu (particles %u, %u, %u) has no area", t, i, j, k);
        return;
    }
    m->triangle_factor[t] = 1;
    m->triangles++;
}

/* Adds a bending edge; present positions are at rest. */
static void fem_add_edge(fem_model *m, const uint32_t v[4])
{
    const size_t e = m->edges;
    if (!vertices_are_good(m, "edge", e, v, 4) || !grow(m, EDGES, e, FEM_MOST_ELEMENTS, "bending edges")) {
        return;
    }
    memcpy(m->edge + 4 * e, v, 4 * sizeof *v);
    m->edge_length[e] = fem_rest_edge(position(m, v[0]), position(m, v[1]), position(m, v[2]),
                                      position(m, v[3]), &m->edge_rest[e]);
    if (!(m->edge_length[e] > 0)) {
        fail(m, DS_E_PARAM, "edge %zu (particles %u, %u; %u, %u) has no length or a side without area", e,
             v[0], v[1], v[2], v[3]);
        return;
    }
    m->edge_factor[e] = 1;
    m->edges++;
}

void fem_add_tet(fem_model *m, const uint32_t tet[4], fem_solid law)
{
    const size_t t = m->tets;
    if (!vertices_are_good(m, "tetrahedron", t, tet, 4) ||
        !grow(m, TETS, t, FEM_MOST_ELEMENTS, "tetrahedra")) {
        return;
    }
    uint32_t v[4] = {tet[0], tet[1], tet[2], tet[3]};
    if (fem_tet_volume(position(m, v[0]), position(m, v[1]), position(m, v[2]), position(m, v[3])) < 0) {
        v[2] = tet[3];
        v[3] = tet[2];
    }
    memcpy(m->tet + 4 * t, v, sizeof v);
    m->solid[t] = law;
    m->tet_volume[t] = fem_rest_tet(position(m, v[0]), position(m, v[1]), position(m, v[2]),
                                    position(m, v[3]), m->tet_inverse + 9 * t);
    if (!(m->tet_volume[t] > 0)) {
        fail(m, DS_E_PARAM, "tetrahedron %zu (particles %u, %u, %u, %u) has no volume", t, v[0], v[1], v[2],
             v[3]);
        return;
    }
    m->tets++;
}

void fem_add_obstacle(fem_model *m, const fem_obstacle *o)
{
    if (m->obstacles == FEM_MOST_OBSTACLES) {
        fail(m, DS_E_PARAM, "more than %d obstacles", FEM_MOST_OBSTACLES);
        return;
    }
    m->obstacle[m->obstacles++] = *o;
}

/* ---- whole meshes ---- */

static void rotate(const fem_placing *w, const double p[3], double out[3])
{
    double size = sqrt(w->axis[0] * w->axis[0] + w->axis[1] * w->axis[1] + w->axis[2] * w->axis[2]);
    double c = size > 0 ? cos(w->angle) : 1, s = size > 0 ? sin(w->angle) : 0, n[3], along = 0;
    for (int i = 0; i < 3; i++) {
        n[i] = size > 0 ? w->axis[i] / size : 0;
        along += n[i] * p[i];
    }
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = c * p[i] + s * (n[j] * p[k] - n[k] * p[j]) + (1 - c) * along * n[i];
    }
}

static uint32_t add_points(fem_model *m, const fem_mesh *mesh, const fem_placing *w, double mass)
{
    const size_t first = m->particles;
    for (size_t i = 0; i < mesh->points; i++) {
        double p[3];
        rotate(w, mesh->point + 3 * i, p);
        for (int k = 0; k < 3; k++) {
            p[k] += w->position[k];
        }
        fem_add_particle(m, p, w->velocity, mass);
    }
    return m->status == DS_OK ? (uint32_t)first : UINT32_MAX;
}

static void add_edges(fem_model *m, const fem_mesh *mesh, uint32_t first)
{
    uint32_t *edge;
    size_t edges, bad = 0;
    ds_status status = fem_mesh_edges(mesh, &edge, &edges, &bad);
    if (status != DS_OK) {
        fail(m, status,
             status == DS_E_NOMEM
                 ? "no memory for bending edges"
                 : "triangle %zu shares an edge with two others, or turns against its neighbour",
             bad);
        return;
    }
    for (size_t e = 0; e < edges; e++) {
        const uint32_t *v = edge + 4 * e;
        fem_add_edge(m, (const uint32_t[4]){first + v[0], first + v[1], first + v[2], first + v[3]});
    }
    free(edge);
}

uint32_t fem_add_cloth(fem_model *m, const fem_mesh *mesh, const fem_placing *where, double mass,
                       double density, int bend)
{
    const uint32_t first = add_points(m, mesh, where, mass);
    const size_t from = m->triangles;
    for (size_t t = 0; t < mesh->triangles && m->status == DS_OK; t++) {
        const uint32_t *v = mesh->triangle + 3 * t;
        fem_add_triangle(m, first + v[0], first + v[1], first + v[2]);
    }
    for (size_t t = from; t < m->triangles && m->status == DS_OK; t++) {
        for (int k = 0; k < 3; k++) {
            m->mass[m->triangle[3 * t + (size_t)k]] += density * m->triangle_area[t] / 3;
        }
    }
    if (bend && m->status == DS_OK) {
        add_edges(m, mesh, first);
    }
    return first;
}

uint32_t fem_add_soft(fem_model *m, const fem_mesh *mesh, const fem_placing *where, double density,
                      fem_solid law)
{
    const uint32_t first = add_points(m, mesh, where, 0);
    const size_t from = m->tets;
    for (size_t t = 0; t < mesh->tets && m->status == DS_OK; t++) {
        const uint32_t *v = mesh->tet + 4 * t;
        fem_add_tet(m, (const uint32_t[4]){first + v[0], first + v[1], first + v[2], first + v[3]}, law);
    }
    for (size_t t = from; t < m->tets && m->status == DS_OK; t++) {
        for (int k = 0; k < 4; k++) {
            m->mass[m->tet[4 * t + (size_t)k]] += density * m->tet_volume[t] / 4;
        }
    }
    return first;
}

/* ---- final checks ---- */

static void check_finite(fem_model *m, const char *what, const double *x, size_t n, size_t per)
{
    for (size_t i = 0; i < n * per; i++) {
        if (!isfinite(x[i])) {
            fail(m, DS_E_PARAM, "%s of %zu is not finite", what, i / per);
        }
    }
}

/* Checks constants that must not be negative, because energies would have no lower bound. */
static void check_constant(fem_model *m, const char *what, double v)
{
    if (!(isfinite(v) && v >= 0)) {
        fail(m, DS_E_PARAM, "%s = %g must be finite and at least 0", what, v);
    }
}

static void check_particles(fem_model *m)
{
    if (m->particles == 0) {
        fail(m, DS_E_PARAM, "the model has no particles; add some");
    }
    check_finite(m, "position", m->q, m->particles, 3);
    check_finite(m, "velocity", m->u, m->particles, 3);
    check_finite(m, "gravity", m->gravity, 1, 3);
    check_finite(m, "wind", m->wind, 1, 3);
    for (size_t i = 0; i < m->particles; i++) {
        if (!m->fixed[i] && !(isfinite(m->mass[i]) && m->mass[i] > 0)) {
            fail(m, DS_E_PARAM,
                 "particle %zu has the mass %g, which must be positive (does an element use it?)", i,
                 m->mass[i]);
        }
    }
}

/* The law is at rest at F = 1 if lambda is positive: a = 1 + 3 mu / (4 lambda). */
static void check_laws(fem_model *m)
{
    for (size_t i = 0; i < m->sheets; i++) {
        check_constant(m, "mu of the triangles", m->membrane[i].mu);
        check_constant(m, "lambda of the triangles", m->membrane[i].lambda);
        check_constant(m, "kd of the triangles", m->membrane[i].kd);
        check_constant(m, "drag", m->membrane[i].drag);
        check_constant(m, "lift", m->membrane[i].lift);
        check_constant(m, "ke of the edges", m->bending[i].ke);
        check_constant(m, "kd of the edges", m->bending[i].kd);
    }
    check_constant(m, "ke of the ground", m->ground.ke);
    check_constant(m, "kd of the ground", m->ground.kd);
    check_constant(m, "kf of the ground", m->ground.kf);
    check_constant(m, "mu of the ground", m->ground.mu);
    for (size_t t = 0; t < m->tets; t++) {
        check_constant(m, "mu of a tetrahedron", m->solid[t].mu);
        check_constant(m, "lambda of a tetrahedron", m->solid[t].lambda);
        check_constant(m, "kd of a tetrahedron", m->solid[t].kd);
    }
    for (size_t s = 0; s < m->springs; s++) {
        check_constant(m, "ke of a spring", m->spring_ke[s]);
        check_constant(m, "kd of a spring", m->spring_kd[s]);
        check_constant(m, "rest length of a spring", m->spring_rest[s]);
    }
    for (size_t i = 0; i < m->obstacles; i++) {
        check_constant(m, "ke of an obstacle", m->obstacle[i].ke);
        check_constant(m, "kd of an obstacle", m->obstacle[i].kd);
        check_constant(m, "kf of an obstacle", m->obstacle[i].kf);
        check_constant(m, "mu of an obstacle", m->obstacle[i].mu);
    }
    check_constant(m, "ke of the contact", m->contact.law.ke);
    check_constant(m, "kd of the contact", m->contact.law.kd);
    check_constant(m, "kf of the contact", m->contact.law.kf);
    check_constant(m, "mu of the contact", m->contact.law.mu);
    if (m->ground.friction < FEM_FRICTION_BOX || m->ground.friction > FEM_FRICTION_COULOMB) {
        fail(m, DS_E_PARAM, "friction = %d is not a FEM_FRICTION_* value", m->ground.friction);
    }
}

ds_status fem_model_finish(fem_model *m)
{
    check_particles(m);
    check_laws(m);
    return m->status;
}

void fem_centre(const fem_model *m, const double *x, double centre[3])
{
    double mass = 0, sum[3] = {0};
    for (size_t i = 0; i < m->particles; i++) {
        mass += m->mass[i];
        for (int k = 0; k < 3; k++) {
            sum[k] += m->mass[i] * x[3 * i + (size_t)k];
        }
    }
    for (int k = 0; k < 3; k++) {
        centre[k] = sum[k] / mass;
    }
}
