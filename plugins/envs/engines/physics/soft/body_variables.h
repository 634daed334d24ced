/* SPDX-License-Identifier: Apache-2.0 */
/* body_variables.h - numbers of a deformable body as decision variables: velocity, masses, stiffness and so
 * on. An environment lists the ones it offers; its user picks some by name (decision.h has the same for
 * scenes whose numbers are a plain table). */
#ifndef DS_ENGINES_SOFT_BODY_VARIABLES_H
#define DS_ENGINES_SOFT_BODY_VARIABLES_H

#include "engines/physics/control/control.h"
#include "engines/physics/fem/episode.h"
#include "engines/kit/decision.h"

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/memory.h>

/* The numbers of the model that a variable sets. */
typedef enum body_variable_kind {
    BODY_VARIABLE_POSITION,   /* 3: moves all particles at the start */
    BODY_VARIABLE_TURN,       /* 3 angles about x, then y, then z, through the mean position */
    BODY_VARIABLE_VELOCITY,   /* 3: initial velocity of all free particles */
    BODY_VARIABLE_VELOCITIES, /* 3 for each free particle */
    BODY_VARIABLE_DENSITY,    /* all masses in proportion */
    BODY_VARIABLE_MASSES,     /* a factor for the mass of each free particle */
    BODY_VARIABLE_GRAVITY,    /* downward */
    BODY_VARIABLE_SOLID_MU,
    BODY_VARIABLE_SOLID_LAMBDA,
    BODY_VARIABLE_SOLID_KD, /* of all tetrahedra */
    BODY_VARIABLE_STRETCH,
    BODY_VARIABLE_AREA,
    BODY_VARIABLE_AREA_KD,
    BODY_VARIABLE_LIFT,
    BODY_VARIABLE_DRAG, /* of the membrane */
    BODY_VARIABLE_BEND,
    BODY_VARIABLE_BEND_KD, /* of its edges */
    BODY_VARIABLE_SPRING_KE,
    BODY_VARIABLE_SPRING_KD,
    BODY_VARIABLE_SPRING_REST, /* of each spring */
    BODY_VARIABLE_GROUND_KE,
    BODY_VARIABLE_GROUND_KD,
    BODY_VARIABLE_GROUND_KF,
    BODY_VARIABLE_GROUND_MU,
    BODY_VARIABLE_WEIGHTS /* of the controller */
} body_variable_kind;

/* A variable that an environment offers. With `log` it is log10 of the number (for masses: of the factor). */
typedef struct body_variable {
    const char *name, *unit; /* unit of the number itself, "Pa" */
    body_variable_kind kind;
    int log;
    /* bounds of each variable; if `axes` is set, of axis d */
    double lower, upper;
    double start, random; /* a variable starts at start + start_spread random U, with U uniform in (0, 1) */
    const struct body_variable_axes *axes;
} body_variable;

typedef struct body_variable_axes {
    double lower[3], upper[3], start[3];
} body_variable_axes;

#define BODY_VARIABLE(name_, unit_, kind_, lower_, upper_, start_)                                           \
    {                                                                                                        \
        .name = name_, .unit = unit_, .kind = kind_, .lower = lower_, .upper = upper_, .start = start_       \
    }
#define BODY_VARIABLE_RANDOM(name_, unit_, kind_, lower_, upper_, start_, random_)                           \
    {                                                                                                        \
        .name = name_, .unit = unit_, .kind = kind_, .lower = lower_, .upper = upper_, .start = start_,      \
        .random = random_                                                                                    \
    }
#define BODY_VARIABLE_LOG(name_, unit_, kind_, lower_, upper_, start_)                                       \
    {                                                                                                        \
        .name = name_, .unit = unit_, .kind = kind_, .log = 1, .lower = lower_, .upper = upper_,             \
        .start = start_                                                                                      \
    }

enum { BODY_VARIABLES_MAX = 16 };

/* Where factors of masses start: at `start`, or near the target. Names for a parameter. */
typedef enum body_variable_near {
    BODY_VARIABLE_ANYWHERE,
    /* at 1 / (1/m + U(0, 0.1) + U(0, 0.1)), kg, where the mass in the target is m */
    BODY_VARIABLE_NEAR_INVERSE,
    BODY_VARIABLE_NEAR_FACTOR /* at m 2^U(-1, 1) */
} body_variable_near;
extern const char *const body_variables_nears[];

/* The picked variables, in the order they were named. */
typedef struct body_variables {
    fem_model *model;        /* the environment sets these four before body_variables_pick() */
    double density;          /* of the masses: kg/m^3, kg/m^2, or kg per particle */
    control *control;        /* has the BODY_VARIABLE_WEIGHTS; may be NULL */
    uint64_t seed;           /* of the start of the variables */
    double start_spread;     /* factor of its random part; soft_read() sets 1 */
    body_variable_near near; /* of BODY_VARIABLE_MASSES; set before body_variables_pick() */
    uint64_t object;         /* 0: the target is the model as built; else the key of a draw, see `drawn` */
    uint64_t count, n;       /* picked names, variables */
    const body_variable *item[BODY_VARIABLES_MAX];
    uint64_t at[BODY_VARIABLES_MAX + 1]; /* variables of item i are at[i] .. at[i + 1] - 1 */
    fem_variation truth;                 /* the numbers of the model as built */
    double middle[3];                    /* mean position of the particles in it */
    double *drawn;             /* [n]: the variables of the target if `object` is not 0, else NULL */
    const double *weights_dot; /* along a direction, see body_variables_spread() */
} body_variables;

/* Picks the words of parameter `variables` after the model is built; `offered` ends with a NULL name. */
void body_variables_pick(body_variables *set, ds_param_reader *in, const body_variable *offered);

/* Stores the numbers of the model as the truth. Check room->failed afterwards. */
void body_variables_keep(body_variables *set, ds_memory *room);
/* If `object` is not 0, draws the variables of the target with decision_draw(). Check room->failed. */
void body_variables_draw(body_variables *set, ds_memory *room);

/* Do all variables keep a flat body in its plane? A position or velocity may not. */
int body_variables_stays_in_plane(const body_variables *set);

/* Sets the model and the weights of the controller from x[n]; x NULL: the truth and no weights. */
void body_variables_apply(const body_variables *set, const double *x);
/* grad[n] from the derivatives `bar` by the numbers of the model, after body_variables_apply(x). */
void body_variables_gather(const body_variables *set, const double *x, const fem_variation *bar,
                           double *grad);
/* dot, zeros before = the change of the model along v[n]. set->weights_dot points into v. */
void body_variables_spread(body_variables *set, const double *x, const double *v, fem_variation *dot);

/* Names the picked variables in `out`. */
void body_variables_identify(const body_variables *set, identified *out);
/* Mean distance of the variables from the target for each picked name: relative with `log`, else in their
 * unit; NaN for weights, which have no truth. */
void body_variables_error(const body_variables *set, const double *x, identified *out);

/* Entries of a ds_env_table. */
void body_variables_range(const body_variables *set, uint64_t i, double *lower, double *upper, double *start);
void body_variables_name(const body_variables *set, uint64_t i, ds_env_variable *out);

#endif
