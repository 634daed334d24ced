/* SPDX-License-Identifier: Apache-2.0 */
/* energy.c - the elastic energy of a model. */
#include "model.h"

#include "engines/physics/fem/laws/law.h"

#include <string.h>

static void corners(const double *q, const uint32_t *vertex, int n, vec3 *out)
{
    for (int i = 0; i < n; i++) {
        out[i] = v3(q + 3 * (size_t)vertex[i]);
    }
}

static double of_springs(const fem_model *m, const double *q)
{
    double sum = 0;
    vec3 x[2];
    for (size_t i = 0; i < m->springs; i++) {
        corners(q, m->spring + 2 * i, 2, x);
        const double longer = v3_length(v3_minus(x[0], x[1])) - m->spring_rest[i];
        sum += m->spring_ke[i] / 2 * longer * longer;
    }
    return sum;
}

static double of_triangles(const fem_model *m, const double *q)
{
    double sum = 0;
    vec3 x[3];
    for (size_t i = 0; i < m->triangles; i++) {
        fem_triangle_rest r = {.area = m->triangle_area[i]};
        const fem_triangle_law law = {m->membrane.mu, m->membrane.lambda, 0, m->triangle_act[i]};
        memcpy(r.inverse, m->triangle_inverse + 4 * i, sizeof r.inverse);
        corners(q, m->triangle + 3 * i, 3, x);
        sum += fem_triangle_energy(&r, &law, x);
    }
    return sum;
}

static double of_edges(const fem_model *m, const double *q)
{
    double sum = 0;
    vec3 x[4];
    for (size_t i = 0; i < m->edges; i++) {
        corners(q, m->edge + 4 * i, 4, x);
        const double turn = fem_edge_angle(x) - m->edge_rest[i] - m->edge_act[i];
        sum += m->bending.ke * m->edge_length[i] * turn * turn / 2;
    }
    return sum;
}

static double of_tets(const fem_model *m, const double *q)
{
    double sum = 0;
    vec3 x[4];
    for (size_t i = 0; i < m->tets; i++) {
        fem_tet_rest r = {.volume = m->tet_volume[i]};
        const fem_tet_law law = {m->solid[i].mu, m->solid[i].lambda, 0, m->tet_act[i]};
        memcpy(r.inverse, m->tet_inverse + 9 * i, sizeof r.inverse);
        corners(q, m->tet + 4 * i, 4, x);
        sum += fem_tet_energy(&r, &law, x);
    }
    return sum;
}

double fem_elastic_energy(const fem_model *m, const double *q)
{
    return of_springs(m, q) + of_triangles(m, q) + of_edges(m, q) + of_tets(m, q);
}
