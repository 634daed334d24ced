/* SPDX-License-Identifier: Apache-2.0 */
/* variation.c - derivatives by all numbers of a model (see variation.h). */
#include "engines/physics/fem/variation.h"

#include <string.h>

void fem_variation_open(fem_variation *v, ds_memory *room, const fem_model *m)
{
    *v = (fem_variation){0};
    ds_memory_each(room, 3 * m->particles, (double **const[]){&v->q, &v->u, NULL});
    v->mass = ds_memory_doubles(room, m->particles);
    ds_memory_each(room, m->springs + 1,
                   (double **const[]){&v->spring_ke, &v->spring_kd, &v->spring_rest, NULL});
    v->triangle_act = ds_memory_doubles(room, m->triangles + 1);
    ds_memory_each(room, m->edges + 1, (double **const[]){&v->edge_act, &v->edge_rest, NULL});
    v->tet_act = ds_memory_doubles(room, m->tets + 1);
    v->solid = ds_memory_take(room, m->tets + 1, sizeof *v->solid);
    v->rest = ds_memory_doubles(room, 3 * m->particles);
    v->triangle_factor = ds_memory_doubles(room, m->triangles + 1);
    v->edge_factor = ds_memory_doubles(room, m->edges + 1);
}

static void clear(double *x, size_t n)
{
    memset(x, 0, n * sizeof *x);
}

void fem_variation_clear(fem_variation *v, const fem_model *m)
{
    clear(v->q, 3 * m->particles);
    clear(v->u, 3 * m->particles);
    clear(v->mass, m->particles);
    clear(v->spring_ke, m->springs);
    clear(v->spring_kd, m->springs);
    clear(v->spring_rest, m->springs);
    clear(v->triangle_act, m->triangles);
    clear(v->edge_act, m->edges);
    clear(v->edge_rest, m->edges);
    clear(v->tet_act, m->tets);
    for (size_t t = 0; t < m->tets; t++) {
        v->solid[t] = (fem_solid){0};
    }
    memset(v->membrane, 0, sizeof v->membrane);
    memset(v->bending, 0, sizeof v->bending);
    v->ke = v->kd = v->kf = v->mu = v->offset = 0;
    clear(v->gravity, 3);
    clear(v->wind, 3);
    memset(v->obstacle, 0, sizeof v->obstacle);
    v->contact = (fem_contact_law){0};
    clear(v->rest, 3 * m->particles);
    clear(v->triangle_factor, m->triangles);
    clear(v->edge_factor, m->edges);
}
