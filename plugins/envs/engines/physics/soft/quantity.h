/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.h - what can be unknown of a deformable body: quantities of the model as decision variables, the
 * same for all environments. An environment lists those it offers; its user picks some by name. */
#ifndef DS_ENGINES_SOFT_QUANTITY_H
#define DS_ENGINES_SOFT_QUANTITY_H

#include "engines/physics/control/control.h"
#include "engines/physics/fem/episode.h"
#include "engines/kit/identified.h"

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/memory.h>

/* What a quantity stands for in the model. */
typedef enum quantity_kind {
    QUANTITY_POSITION,   /* 3: the start of all particles is moved by it */
    QUANTITY_TURN,       /* 3 angles, about the axes x, y, z in this order, through the middle */
    QUANTITY_VELOCITY,   /* 3, the start of all free particles */
    QUANTITY_VELOCITIES, /* 3 of each free particle */
    QUANTITY_DENSITY,    /* all masses in proportion */
    QUANTITY_MASSES,     /* a factor for the mass of each free particle */
    QUANTITY_GRAVITY,    /* downward */
    QUANTITY_SOLID_MU,
    QUANTITY_SOLID_LAMBDA,
    QUANTITY_SOLID_KD, /* of all tetrahedra */
    QUANTITY_STRETCH,
    QUANTITY_AREA,
    QUANTITY_AREA_KD,
    QUANTITY_LIFT,
    QUANTITY_DRAG, /* of the membrane */
    QUANTITY_BEND,
    QUANTITY_BEND_KD, /* of its edges */
    QUANTITY_SPRING_KE,
    QUANTITY_SPRING_KD,
    QUANTITY_SPRING_REST, /* of each spring */
    QUANTITY_GROUND_KE,
    QUANTITY_GROUND_KD,
    QUANTITY_GROUND_KF,
    QUANTITY_GROUND_MU,
    QUANTITY_WEIGHTS /* of the controller */
} quantity_kind;

/* A quantity that an environment offers. With `log` the variable is log10 of it (of the factor,
 * for masses). */
typedef struct quantity {
    const char *name, *unit; /* of the quantity itself, "Pa" */
    quantity_kind kind;
    int log;
    /* of each variable; those of axis d are lower[d], upper[d] of `axes` where it is there */
    double lower, upper;
    double start, random; /* a variable starts at start + start_spread random U, with U uniform in (0, 1) */
    const struct quantity_axes *axes;
} quantity;

typedef struct quantity_axes {
    double lower[3], upper[3], start[3];
} quantity_axes;

#define QUANTITY(name_, unit_, kind_, lower_, upper_, start_)                                                \
    {                                                                                                        \
        .name = name_, .unit = unit_, .kind = kind_, .lower = lower_, .upper = upper_, .start = start_       \
    }
#define QUANTITY_RANDOM(name_, unit_, kind_, lower_, upper_, start_, random_)                                \
    {                                                                                                        \
        .name = name_, .unit = unit_, .kind = kind_, .lower = lower_, .upper = upper_, .start = start_,      \
        .random = random_                                                                                    \
    }
#define QUANTITY_LOG(name_, unit_, kind_, lower_, upper_, start_)                                            \
    {                                                                                                        \
        .name = name_, .unit = unit_, .kind = kind_, .log = 1, .lower = lower_, .upper = upper_,             \
        .start = start_                                                                                      \
    }

enum { QUANTITIES = 16 };

/* Where factors of masses start: at `start` of the quantity, or near those of the target. Names for
 * a parameter. */
typedef enum quantity_near {
    QUANTITY_ANYWHERE,
    QUANTITY_NEAR_INVERSE, /* at 1 / (1/m + U(0, 0.1) + U(0, 0.1)), kg, where the mass in the target is m */
    QUANTITY_NEAR_FACTOR   /* at m 2^U(-1, 1) */
} quantity_near;
extern const char *const quantity_nears[];

/* The picked ones, in the order they were named. */
typedef struct quantity_set {
    fem_model *model;    /* these four are set by the environment before quantity_pick() */
    double density;      /* that the masses were made with: kg/m^3, kg/m^2, or kg of a particle */
    control *control;    /* that QUANTITY_WEIGHTS are of; may be NULL */
    uint64_t seed;       /* of what the variables start at */
    double start_spread; /* factor of the random part of that; soft_read() sets 1 */
    quantity_near near;  /* of QUANTITY_MASSES; set before quantity_pick() as well */
    uint64_t object; /* 0: the target is the model as it was built; else the number of a draw, see `drawn` */
    uint64_t count, n; /* quantities, variables */
    const quantity *item[QUANTITIES];
    uint64_t at[QUANTITIES + 1]; /* variables of item i are at[i] .. at[i + 1] - 1 */
    fem_variation truth;         /* the numbers of the model as it was built */
    double middle[3];            /* mean place of the particles in it */
    double *drawn;               /* [n]: the variables of the target, where `object` is not 0; else NULL */
    const double *weights_dot;   /* of a direction, see quantity_spread() */
} quantity_set;

/* Picks by the words of parameter `variables`; `offered` ends with a NULL name. The model has been built. */
void quantity_pick(quantity_set *set, ds_param_reader *in, const quantity *offered);

/* Remembers the numbers of the model as the truth; look at room->failed. */
void quantity_keep(quantity_set *set, ds_memory *room);
/* Draws the variables of the target where it is to be another object: uniformly between their bounds, a tenth
 * of the width away from each; look at room->failed. */
void quantity_draw(quantity_set *set, ds_memory *room);

/* Is none of the variables a place or velocity, which could move a body out of the plane that it lies in? */
int quantity_stays_in_plane(const quantity_set *set);

/* The model, and the weights of the controller, get the values of x[n]; NULL: the truth, and no weights. */
void quantity_apply(const quantity_set *set, const double *x);
/* grad[n] = the derivatives by x of what has the derivatives `bar` by the model; x has been applied. */
void quantity_gather(const quantity_set *set, const double *x, const fem_variation *bar, double *grad);
/* dot = the change of the model along v[n], from zeros; v stays for set->weights_dot. */
void quantity_spread(quantity_set *set, const double *x, const double *v, fem_variation *dot);

/* Names of the quantities, for what quantity_error() says of them. */
void quantity_identify(const quantity_set *set, identified *out);
/* How far the variables are from those of the target, mean of each quantity: in proportion with `log`, else
 * in their unit; NaN where there is no truth, as of weights. */
void quantity_error(const quantity_set *set, const double *x, identified *out);

/* Entries of an ds_env_table. */
void quantity_range(const quantity_set *set, uint64_t i, double *lower, double *upper, double *start);
void quantity_name(const quantity_set *set, uint64_t i, ds_env_variable *out);

#endif
