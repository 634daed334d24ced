/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c - the numbers of the model that each kind of variable sets (see slots.h). */
#include "engines/physics/soft/slots.h"

body_slot body_slot_of(fem_model *m, const body_variable *q)
{
    const size_t solid = sizeof(fem_solid) / sizeof(double);
    const size_t sheet = sizeof(fem_membrane) / sizeof(double), bend = sizeof(fem_bending) / sizeof(double);
    switch (q->kind) {
    case BODY_VARIABLE_POSITION:
    case BODY_VARIABLE_TURN:
    case BODY_VARIABLE_CENTER:
    case BODY_VARIABLE_SHAPE:
        return (body_slot){m->q, 3 * m->particles, 1};
    case BODY_VARIABLE_VELOCITY:
    case BODY_VARIABLE_VELOCITIES:
        return (body_slot){m->u, 3 * m->particles, 1};
    case BODY_VARIABLE_DENSITY:
    case BODY_VARIABLE_MASSES:
    case BODY_VARIABLE_MATERIAL_DENSITY:
        return (body_slot){m->mass, m->particles, 1};
    case BODY_VARIABLE_GRAVITY:
        return (body_slot){&m->gravity[1], 1, 1};
    case BODY_VARIABLE_SOLID_MU:
        return (body_slot){&m->solid->mu, m->tets, solid};
    case BODY_VARIABLE_SOLID_LAMBDA:
        return (body_slot){&m->solid->lambda, m->tets, solid};
    case BODY_VARIABLE_SOLID_KD:
        return (body_slot){&m->solid->kd, m->tets, solid};
    case BODY_VARIABLE_STRETCH:
        return (body_slot){&m->membrane->mu, m->sheets, sheet};
    case BODY_VARIABLE_AREA:
        return (body_slot){&m->membrane->lambda, m->sheets, sheet};
    case BODY_VARIABLE_AREA_KD:
        return (body_slot){&m->membrane->kd, m->sheets, sheet};
    case BODY_VARIABLE_LIFT:
        return (body_slot){&m->membrane->lift, m->sheets, sheet};
    case BODY_VARIABLE_DRAG:
        return (body_slot){&m->membrane->drag, m->sheets, sheet};
    case BODY_VARIABLE_BEND:
        return (body_slot){&m->bending->ke, m->sheets, bend};
    case BODY_VARIABLE_BEND_KD:
        return (body_slot){&m->bending->kd, m->sheets, bend};
    case BODY_VARIABLE_REST_AREA:
    case BODY_VARIABLE_REST_AREAS:
        return (body_slot){m->triangle_act, m->triangles, 1};
    case BODY_VARIABLE_REST_ANGLE:
    case BODY_VARIABLE_REST_ANGLES:
        return (body_slot){m->edge_rest, m->edges, 1};
    case BODY_VARIABLE_SPRING_KE:
        return (body_slot){m->spring_ke, m->springs, 1};
    case BODY_VARIABLE_SPRING_KD:
        return (body_slot){m->spring_kd, m->springs, 1};
    case BODY_VARIABLE_SPRING_REST:
        return (body_slot){m->spring_rest, m->springs, 1};
    case BODY_VARIABLE_GROUND_KE:
        return (body_slot){&m->ground.ke, 1, 1};
    case BODY_VARIABLE_GROUND_KD:
        return (body_slot){&m->ground.kd, 1, 1};
    case BODY_VARIABLE_GROUND_KF:
        return (body_slot){&m->ground.kf, 1, 1};
    case BODY_VARIABLE_GROUND_MU:
        return (body_slot){&m->ground.mu, 1, 1};
    case BODY_VARIABLE_NUMBERS:
        return (body_slot){(double *)(void *)((char *)m + q->place.in_model), q->place.count, 1};
    case BODY_VARIABLE_WEIGHTS:
    case BODY_VARIABLE_YOUNGS:
    case BODY_VARIABLE_POISSON:
    case BODY_VARIABLE_LOAD:
    case BODY_VARIABLE_CONTROL:
    case BODY_VARIABLE_FACTOR:
        break;
    }
    return (body_slot){NULL, 0, 1};
}

double *body_slot_of_variation(const fem_variation *v, const body_variable *q)
{
    fem_variation *w = (fem_variation *)(uintptr_t)v; /* const for the caller only */
    switch (q->kind) {
    case BODY_VARIABLE_POSITION:
    case BODY_VARIABLE_TURN:
    case BODY_VARIABLE_CENTER:
    case BODY_VARIABLE_SHAPE:
        return w->q;
    case BODY_VARIABLE_VELOCITY:
    case BODY_VARIABLE_VELOCITIES:
        return w->u;
    case BODY_VARIABLE_DENSITY:
    case BODY_VARIABLE_MASSES:
    case BODY_VARIABLE_MATERIAL_DENSITY:
        return w->mass;
    case BODY_VARIABLE_GRAVITY:
        return &w->gravity[1];
    case BODY_VARIABLE_SOLID_MU:
        return &w->solid->mu;
    case BODY_VARIABLE_SOLID_LAMBDA:
        return &w->solid->lambda;
    case BODY_VARIABLE_SOLID_KD:
        return &w->solid->kd;
    case BODY_VARIABLE_STRETCH:
        return &w->membrane->mu;
    case BODY_VARIABLE_AREA:
        return &w->membrane->lambda;
    case BODY_VARIABLE_AREA_KD:
        return &w->membrane->kd;
    case BODY_VARIABLE_LIFT:
        return &w->membrane->lift;
    case BODY_VARIABLE_DRAG:
        return &w->membrane->drag;
    case BODY_VARIABLE_BEND:
        return &w->bending->ke;
    case BODY_VARIABLE_BEND_KD:
        return &w->bending->kd;
    case BODY_VARIABLE_REST_AREA:
    case BODY_VARIABLE_REST_AREAS:
        return w->triangle_act;
    case BODY_VARIABLE_REST_ANGLE:
    case BODY_VARIABLE_REST_ANGLES:
        return w->edge_rest;
    case BODY_VARIABLE_SPRING_KE:
        return w->spring_ke;
    case BODY_VARIABLE_SPRING_KD:
        return w->spring_kd;
    case BODY_VARIABLE_SPRING_REST:
        return w->spring_rest;
    case BODY_VARIABLE_GROUND_KE:
        return &w->ke;
    case BODY_VARIABLE_GROUND_KD:
        return &w->kd;
    case BODY_VARIABLE_GROUND_KF:
        return &w->kf;
    case BODY_VARIABLE_GROUND_MU:
        return &w->mu;
    case BODY_VARIABLE_NUMBERS:
        return (double *)(void *)((char *)w + q->place.in_variation);
    case BODY_VARIABLE_WEIGHTS:
    case BODY_VARIABLE_YOUNGS:
    case BODY_VARIABLE_POISSON:
    case BODY_VARIABLE_LOAD:
    case BODY_VARIABLE_CONTROL:
    case BODY_VARIABLE_FACTOR:
        break;
    }
    return NULL;
}
