/* SPDX-License-Identifier: Apache-2.0 */
/* loads.h - what acts on some particles of a body from outside: a velocity that drives them, or a force that
 * they share. It is constant in each of several intervals of equal length, and may be variables. */
#ifndef DS_ENGINES_SOFT_LOADS_H
#define DS_ENGINES_SOFT_LOADS_H

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/memory.h>

typedef struct body_load {
    const uint32_t *particle; /* [particles] */
    size_t particles;
    double share;             /* each of them has the numbers times this */
    uint64_t segments, steps; /* intervals; steps of an episode */
    size_t axes, axis[3];     /* the coordinates that are variables; 0: none */
    double still[3];          /* m/s or N: of the other coordinates */
    double *value;            /* [segments][3] */
    double *bar, *dot;        /* likewise: derivatives of the loss, and a change along a direction */
    uint32_t *place;          /* set by body_loads_open(): of each particle in the list of all loads */
} body_load;

enum { BODY_LOADS_MOST = 16 };

/* All loads of one kind. */
typedef struct body_loads {
    body_load load[BODY_LOADS_MOST];
    size_t count;
    uint32_t *particle; /* [particles], of all loads, each once; what acts on one adds up */
    size_t particles;
} body_loads;

/* Takes arrays from `room` and sets `still`, after particle .. still of all loads are set; check
 * room->failed. `particles`: of the body. */
void body_loads_open(body_loads *all, size_t particles, ds_memory *room);

/* Variables: [segments][axes]. */
size_t body_load_numbers(const body_load *l);
/* Sets the variables; NULL: `still`. */
void body_load_put(body_load *l, const double *x);
/* grad[] += the derivatives by the variables. */
void body_load_gather(const body_load *l, double *grad);
/* Sets a direction of the variables. */
void body_load_spread(body_load *l, const double *v);
/* Names variable j. */
void body_load_name(const body_load *l, size_t j, const char *name, ds_env_variable *out);

/* A step, as the hands of fem_driver have it: value[particles][3]; derivatives by it, added up after
 * body_loads_clear(); its change along the direction. */
void body_loads_set(const body_loads *all, uint64_t step, double *value);
void body_loads_clear(body_loads *all);
void body_loads_bar(const body_loads *all, uint64_t step, const double *value_bar);
void body_loads_dot(const body_loads *all, uint64_t step, double *value_dot);

#endif
