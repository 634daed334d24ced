/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.c - quantities of a deformable body as decision variables: from variables to the model,
 * and derivatives. */
#include "engines/physics/soft/quantity_internal.h"

#include <math.h>
#include <string.h>

static const double ln10 = 2.302585092994045684;

/* ---- which numbers ---- */

quantity_slot quantity_of_model(fem_model *m, quantity_kind kind)
{
    const size_t solid = sizeof(fem_solid) / sizeof(double);
    switch (kind) {
    case QUANTITY_POSITION:
    case QUANTITY_TURN:
        return (quantity_slot){m->q, 3 * m->particles, 1};
    case QUANTITY_VELOCITY:
    case QUANTITY_VELOCITIES:
        return (quantity_slot){m->u, 3 * m->particles, 1};
    case QUANTITY_DENSITY:
    case QUANTITY_MASSES:
        return (quantity_slot){m->mass, m->particles, 1};
    case QUANTITY_GRAVITY:
        return (quantity_slot){&m->gravity[1], 1, 1};
    case QUANTITY_SOLID_MU:
        return (quantity_slot){&m->solid->mu, m->tets, solid};
    case QUANTITY_SOLID_LAMBDA:
        return (quantity_slot){&m->solid->lambda, m->tets, solid};
    case QUANTITY_SOLID_KD:
        return (quantity_slot){&m->solid->kd, m->tets, solid};
    case QUANTITY_STRETCH:
        return (quantity_slot){&m->membrane.mu, 1, 1};
    case QUANTITY_AREA:
        return (quantity_slot){&m->membrane.lambda, 1, 1};
    case QUANTITY_AREA_KD:
        return (quantity_slot){&m->membrane.kd, 1, 1};
    case QUANTITY_LIFT:
        return (quantity_slot){&m->membrane.lift, 1, 1};
    case QUANTITY_DRAG:
        return (quantity_slot){&m->membrane.drag, 1, 1};
    case QUANTITY_BEND:
        return (quantity_slot){&m->bending.ke, 1, 1};
    case QUANTITY_BEND_KD:
        return (quantity_slot){&m->bending.kd, 1, 1};
    case QUANTITY_SPRING_KE:
        return (quantity_slot){m->spring_ke, m->springs, 1};
    case QUANTITY_SPRING_KD:
        return (quantity_slot){m->spring_kd, m->springs, 1};
    case QUANTITY_SPRING_REST:
        return (quantity_slot){m->spring_rest, m->springs, 1};
    case QUANTITY_GROUND_KE:
        return (quantity_slot){&m->ground.ke, 1, 1};
    case QUANTITY_GROUND_KD:
        return (quantity_slot){&m->ground.kd, 1, 1};
    case QUANTITY_GROUND_KF:
        return (quantity_slot){&m->ground.kf, 1, 1};
    case QUANTITY_GROUND_MU:
        return (quantity_slot){&m->ground.mu, 1, 1};
    case QUANTITY_WEIGHTS:
        break;
    }
    return (quantity_slot){NULL, 0, 1};
}

double *quantity_of_variation(const fem_variation *v, quantity_kind kind)
{
    fem_variation *w = (fem_variation *)(uintptr_t)v; /* const is that of the caller */
    switch (kind) {
    case QUANTITY_POSITION:
    case QUANTITY_TURN:
        return w->q;
    case QUANTITY_VELOCITY:
    case QUANTITY_VELOCITIES:
        return w->u;
    case QUANTITY_DENSITY:
    case QUANTITY_MASSES:
        return w->mass;
    case QUANTITY_GRAVITY:
        return &w->gravity[1];
    case QUANTITY_SOLID_MU:
        return &w->solid->mu;
    case QUANTITY_SOLID_LAMBDA:
        return &w->solid->lambda;
    case QUANTITY_SOLID_KD:
        return &w->solid->kd;
    case QUANTITY_STRETCH:
        return &w->membrane.mu;
    case QUANTITY_AREA:
        return &w->membrane.lambda;
    case QUANTITY_AREA_KD:
        return &w->membrane.kd;
    case QUANTITY_LIFT:
        return &w->membrane.lift;
    case QUANTITY_DRAG:
        return &w->membrane.drag;
    case QUANTITY_BEND:
        return &w->bending.ke;
    case QUANTITY_BEND_KD:
        return &w->bending.kd;
    case QUANTITY_SPRING_KE:
        return w->spring_ke;
    case QUANTITY_SPRING_KD:
        return w->spring_kd;
    case QUANTITY_SPRING_REST:
        return w->spring_rest;
    case QUANTITY_GROUND_KE:
        return &w->ke;
    case QUANTITY_GROUND_KD:
        return &w->kd;
    case QUANTITY_GROUND_KF:
        return &w->kf;
    case QUANTITY_GROUND_MU:
        return &w->mu;
    case QUANTITY_WEIGHTS:
        break;
    }
    return NULL;
}

int quantity_moves(const fem_model *m, quantity_kind kind, size_t j)
{
    switch (kind) {
    case QUANTITY_VELOCITY:
    case QUANTITY_VELOCITIES:
        return !m->fixed[j / 3];
    case QUANTITY_DENSITY:
    case QUANTITY_MASSES:
        return !m->fixed[j];
    default:
        return 1;
    }
}

int quantity_stays_in_plane(const quantity_set *set)
{
    uint64_t i = 0;
    while (i < set->count && !quantity_is_vector(set->item[i]->kind) &&
           set->item[i]->kind != QUANTITY_VELOCITIES) {
        i++;
    }
    return i == set->count;
}

/* Variable of number j; *next counts those of quantities with one for each number. */
static size_t variable(quantity_kind kind, size_t j, size_t *next)
{
    return quantity_is_each(kind) ? (*next)++ : kind == QUANTITY_VELOCITY ? j % 3 : 0;
}

void quantity_keep(quantity_set *set, ds_memory *room)
{
    const fem_model *m = set->model;
    fem_variation_open(&set->truth, room, m);
    for (size_t i = 0; i < 3 * m->particles; i++) {
        set->middle[i % 3] += m->q[i] / (double)m->particles;
    }
    for (uint64_t i = 0; !room->failed && i < set->count; i++) {
        const quantity_slot numbers = quantity_of_model(set->model, set->item[i]->kind);
        double *truth = quantity_of_variation(&set->truth, set->item[i]->kind);
        for (size_t j = 0; j < numbers.count; j++) {
            truth[j * numbers.stride] = numbers.first[j * numbers.stride];
        }
    }
}

/* ---- from variables to the model ---- */

static void set_numbers(const quantity_set *set, const quantity *q, const double *x)
{
    const quantity_slot numbers = quantity_of_model(set->model, q->kind);
    const double *truth = quantity_of_variation(&set->truth, q->kind);
    size_t next = 0;
    for (size_t j = 0; j < numbers.count; j++) {
        const size_t at = j * numbers.stride;
        if (quantity_moves(set->model, q->kind, j)) {
            const double v = x[variable(q->kind, j, &next)];
            numbers.first[at] =
                q->log ? truth[at] * pow(10, v) / quantity_base(set, q, truth) : quantity_sign(q->kind) * v;
        }
    }
}

static void set_truth(const quantity_set *set, const quantity *q)
{
    const quantity_slot numbers = quantity_of_model(set->model, q->kind);
    const double *truth = quantity_of_variation(&set->truth, q->kind);
    for (size_t j = 0; j < numbers.count; j++) {
        numbers.first[j * numbers.stride] = truth[j * numbers.stride];
    }
}

void quantity_apply(const quantity_set *set, const double *x)
{
    for (uint64_t i = 0; i < set->count; i++) {
        const quantity *q = set->item[i];
        if (q->kind == QUANTITY_WEIGHTS) {
            control_set(set->control, x != NULL ? x + set->at[i] : NULL);
        } else if (x == NULL) {
            set_truth(set, q);
        } else if (!quantity_is_pose(q->kind)) {
            set_numbers(set, q, x + set->at[i]);
        }
    }
    if (x != NULL) {
        quantity_place(set, x);
    }
}

/* ---- derivatives ---- */

/* How number j changes with its variable. */
static double slope(const quantity *q, const quantity_slot *numbers, size_t j)
{
    return q->log ? ln10 * numbers->first[j * numbers->stride] : quantity_sign(q->kind);
}

static void gather_numbers(const quantity_set *set, const quantity *q, const fem_variation *bar, double *grad)
{
    const quantity_slot numbers = quantity_of_model(set->model, q->kind);
    const double *from = quantity_of_variation(bar, q->kind);
    size_t next = 0;
    for (size_t j = 0; j < numbers.count; j++) {
        if (quantity_moves(set->model, q->kind, j)) {
            grad[variable(q->kind, j, &next)] += slope(q, &numbers, j) * from[j * numbers.stride];
        }
    }
}

void quantity_gather(const quantity_set *set, const double *x, const fem_variation *bar, double *grad)
{
    memset(grad, 0, set->n * sizeof *grad);
    for (uint64_t i = 0; i < set->count; i++) {
        const quantity *q = set->item[i];
        double *out = grad + set->at[i];
        if (q->kind == QUANTITY_WEIGHTS) {
            control_gradient(set->control, out);
        } else if (quantity_is_pose(q->kind)) {
            quantity_place_gather(set, i, x, bar->q, out);
        } else {
            gather_numbers(set, q, bar, out);
        }
    }
}

static void spread_numbers(const quantity_set *set, const quantity *q, const double *v, fem_variation *dot)
{
    const quantity_slot numbers = quantity_of_model(set->model, q->kind);
    double *to = quantity_of_variation(dot, q->kind);
    size_t next = 0;
    for (size_t j = 0; j < numbers.count; j++) {
        if (quantity_moves(set->model, q->kind, j)) {
            to[j * numbers.stride] += slope(q, &numbers, j) * v[variable(q->kind, j, &next)];
        }
    }
}

void quantity_spread(quantity_set *set, const double *x, const double *v, fem_variation *dot)
{
    for (uint64_t i = 0; i < set->count; i++) {
        const quantity *q = set->item[i];
        const double *along = v + set->at[i];
        if (q->kind == QUANTITY_WEIGHTS) {
            set->weights_dot = along;
        } else if (quantity_is_pose(q->kind)) {
            quantity_place_spread(set, i, x, along, dot->q);
        } else {
            spread_numbers(set, q, along, dot);
        }
    }
}
