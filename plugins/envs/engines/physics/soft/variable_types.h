/* SPDX-License-Identifier: Apache-2.0 */
/* variable_types.h - the types of body_variables.h, for the files that compute kinds of variables. */
#ifndef DS_ENGINES_SOFT_VARIABLE_TYPES_H
#define DS_ENGINES_SOFT_VARIABLE_TYPES_H

#include "engines/physics/control/control.h"
#include "engines/physics/fem/episode.h"
#include "engines/physics/soft/loads.h"

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
    /* Shape at rest of the membrane: growth of the area of all triangles, or of each; angle of all edges, or
     * of each. */
    BODY_VARIABLE_REST_AREA,
    BODY_VARIABLE_REST_AREAS,
    BODY_VARIABLE_REST_ANGLE,
    BODY_VARIABLE_REST_ANGLES,
    BODY_VARIABLE_SPRING_KE,
    BODY_VARIABLE_SPRING_KD,
    BODY_VARIABLE_SPRING_REST, /* of each spring */
    BODY_VARIABLE_GROUND_KE,
    BODY_VARIABLE_GROUND_KD,
    BODY_VARIABLE_GROUND_KF,
    BODY_VARIABLE_GROUND_MU,
    BODY_VARIABLE_WEIGHTS, /* of the controller */
    BODY_VARIABLE_YOUNGS,
    BODY_VARIABLE_POISSON,
    BODY_VARIABLE_MATERIAL_DENSITY, /* of a body_material */
    BODY_VARIABLE_LOAD,             /* numbers of a body_load */
    BODY_VARIABLE_CENTER,           /* 3: moves the particles `of` from where axes->built has them */
    BODY_VARIABLE_NUMBERS,          /* those of body_variable.place */
    BODY_VARIABLE_SHAPE,            /* place.count numbers of a body_shape, from `first` on */
    BODY_VARIABLE_CONTROL,          /* place.count numbers of the controller, from `first` on */
    BODY_VARIABLE_FACTOR            /* of the stiffness of a part of a sheet, a body_material */
} body_variable_kind;

/* A material by its constants as built: of a solid for small strains; of a membrane the density alone. */
typedef struct body_material {
    double youngs_modulus, poisson_ratio, density; /* Pa, 1, kg/m^3 or kg/m^2 or kg of a particle */
    double factor;                                 /* of a part of a sheet: as built */
    /* [tets], [triangles], [edges], not 0: of this material; NULL: none */
    const uint8_t *tets, *triangles, *edges;
    /* [particles], m^3, m^2 or 1: how much of this material counts for a particle */
    double *share;
} body_material;

/* The shape of a body by numbers: the factors of its modes, then those of its rotation. */
enum { BODY_SHAPE_MODES = 6, BODY_SHAPE_TURN = 4, BODY_SHAPE_NUMBERS = BODY_SHAPE_MODES + BODY_SHAPE_TURN };
typedef struct body_shape {
    size_t particle, particles; /* its part of the model */
    size_t modes;
    const double *mode;               /* [modes][particles][3] */
    int by_axis;                      /* rotation by axis and angle, not by a quaternion w x y z */
    double built[BODY_SHAPE_NUMBERS]; /* [modes + 4] */
    double *arm;                      /* [particles][3]: rotated points as built; set by body_shapes_open() */
} body_shape;

/* One number of fem_model and of fem_variation, or three adjacent ones, by their bytes from the start; each
 * is `scale` times its variable. */
typedef struct body_place {
    size_t in_model, in_variation, count;
    double scale;
} body_place;

/* A variable that an environment offers. With `log` it is log10 of the number (for masses: of the factor). */
typedef struct body_variable {
    const char *name, *unit; /* unit of the number itself, "Pa" */
    body_variable_kind kind;
    int log;
    /* bounds of each variable; if `axes` is set, of axis d */
    double lower, upper;
    double start, random; /* a variable starts at start + start_spread random U, with U uniform in (0, 1) */
    const struct body_variable_axes *axes;
    /* A part of the numbers: of[tets] or of[particles], not 0 where they belong to it; NULL: all. `first` is
     * the first of them. */
    const uint8_t *of;
    size_t first;
    const body_material *material; /* of YOUNGS, POISSON, MATERIAL_DENSITY, FACTOR */
    body_shape *shape;             /* of SHAPE */
    body_load *load;               /* of LOAD */
    body_place place;              /* of NUMBERS */
} body_variable;

/* The axes of a variable of several numbers. */
enum { BODY_VARIABLE_AXES = 16 };
typedef struct body_variable_axes {
    double lower[BODY_VARIABLE_AXES], upper[BODY_VARIABLE_AXES], start[BODY_VARIABLE_AXES],
        built[BODY_VARIABLE_AXES];
    uint8_t fixed[BODY_VARIABLE_AXES]; /* not 0: this axis is not a variable */
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

enum { BODY_VARIABLES_MAX = 64 };

/* Where factors of masses start: at `start`, or near the target. Names for a parameter. */
typedef enum body_variable_near {
    BODY_VARIABLE_ANYWHERE,
    /* at 1 / (1/m + U(0, 0.1) + U(0, 0.1)), kg, where the mass in the target is m */
    BODY_VARIABLE_NEAR_INVERSE,
    BODY_VARIABLE_NEAR_FACTOR /* at m 2^U(-1, 1) */
} body_variable_near;

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
    double *drawn;                    /* [n]: the variables of the target if `object` is not 0, else NULL */
    const double *weights_dot;        /* along a direction, see body_variables_spread() */
    const double *numbers_dot;        /* of the controller, likewise */
    double *numbers, *numbers_change; /* of a tunable controller */
    /* If shapes at rest change: densities of the elements as built, set by the environment (NULL: no masses
     * by these elements); sizes as built, and [particles][3] for derivatives. */
    const double *tet_density, *triangle_density;
    double *tet_built, *triangle_built, *rest_work;
    /* The last weights of the controller may stay 0: `idle` of them, with room for all weights. */
    size_t idle;
    double *weights;
} body_variables;

#endif
