/* SPDX-License-Identifier: Apache-2.0 */
/* constants.c - constants of a cloth of springs as decision variables (see constants.h). */
#include "engines/physics/cloth/env/constants.h"

#include <math.h>

/* Masses of the mesh. */
static double masses(const cloth_mesh *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->vertices; i++) {
        sum += m->present[i] != 0;
    }
    return sum;
}

/* Brings mass and damping to the vertices and springs. */
static void distribute(const cloth_constants *k, cloth *c)
{
    const cloth_mesh *m = &c->mesh;
    c->mass = k->mass / masses(m);
    for (size_t i = 0; i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        for (size_t s = 0; s < b->count; s++) {
            m->c[b->at + s] = cloth_mesh_has(m, b, s) ? k->damping : 0;
        }
    }
}

static double number_of(const cloth_constant *q, double x)
{
    return q->log ? pow(10, x) : x;
}

void cloth_constants_set(const cloth_constants *k, cloth *c, const double *x)
{
    for (size_t i = 0; i < k->count; i++) {
        *k->item[i].at = k->item[i].scale * number_of(&k->item[i], x[i]);
    }
    if (k->count > 0) {
        distribute(k, c);
    }
}

/* With log through the variable, as in an episode, so that an episode at the truth has the same bits. */
void cloth_constants_build(const cloth_constants *k, cloth *c, cloth_constants_case at)
{
    double x[CLOTH_MOST_CONSTANTS];
    for (size_t i = 0; i < k->count; i++) {
        const cloth_constant *q = &k->item[i];
        const double number = at == CLOTH_AT_START ? q->start : at == CLOTH_AT_TRUTH ? q->truth : q->worst;
        x[i] = q->log ? log10(number) : number;
    }
    cloth_constants_set(k, c, x);
}

void cloth_constants_bar(cloth_constants *k, const cloth *c, const double *x, double *grad)
{
    const cloth_mesh *m = &c->mesh;
    if (k->count == 0) {
        return;
    }
    k->mass_bar = c->mass_bar / masses(m);
    k->damping_bar = 0;
    for (size_t i = 0; i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        for (size_t s = 0; s < b->count; s++) {
            k->damping_bar += cloth_mesh_has(m, b, s) ? c->damping_bar[b->at + s] : 0;
        }
    }
    for (size_t i = 0; i < k->count; i++) {
        const cloth_constant *q = &k->item[i];
        const double slope = q->log ? log(10.0) * number_of(q, x[i]) : 1;
        grad[i] = *q->bar * q->scale * slope;
    }
}

void cloth_constants_range(const cloth_constants *k, size_t i, double *lower, double *upper, double *start)
{
    const cloth_constant *q = &k->item[i];
    *lower = q->log ? log10(q->lower) : q->lower;
    *upper = q->log ? log10(q->upper) : q->upper;
    *start = q->log ? log10(q->start) : q->start;
}

void cloth_constants_variable(const cloth_constants *k, size_t i, ds_env_variable *out)
{
    const cloth_constant *q = &k->item[i];
    ds_env_variable_put(out->name, "%s", q->name);
    ds_env_variable_put(out->unit, q->log ? q->unit[0] != '\0' ? "log10 %s" : "log10" : "%s", q->unit);
}
