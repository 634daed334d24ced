/* SPDX-License-Identifier: Apache-2.0 */
/* setup_numbers.h - what the readers of a scene file share: their state, and numbers that may be variables.
 * Mistakes are kept in the file (scene_failed()). */
#ifndef DS_ENGINES_SOFT_SETUP_NUMBERS_H
#define DS_ENGINES_SOFT_SETUP_NUMBERS_H

#include "engines/physics/soft/scene/soft_scene.h"

enum { OBSERVE_IMAGE, OBSERVE_POINTS, OBSERVE_CENTRE }; /* soft.observe */

/* m; Pa */
static const double setup_most_size = 1e3, setup_most_stiffness = 1e12;

typedef struct material {
    const scene_section *section;
    int membrane, engineering; /* engineering: by youngs_modulus and poisson_ratio */
    int bends;                 /* a membrane with bending edges */
    uint8_t sheet;             /* index of a membrane in the model */
    fem_solid law;
    double density, mass;                 /* kg/m^3, or of a membrane kg/m^2 and kg per particle */
    body_material *constants, *by_vertex; /* by_vertex: the mass of a membrane */
} material;

/* What the numbers of a shape are: a factor of all points; lengths along x, y, z or along x and z; sides of
 * the cells of a grid. */
typedef enum setup_mode_kind {
    SETUP_MODES_SCALE,
    SETUP_MODES_AXES,
    SETUP_MODES_PLANE,
    SETUP_MODES_SIDES
} setup_mode_kind;

typedef struct body {
    const scene_section *section;
    material *of;
    double center[3];
    int turned;        /* has a rotation */
    body_shape *shape; /* numbers of its shape, with modes of the points of its mesh (setup_shape.c) */
    setup_mode_kind modes;
    size_t row;                                                 /* cells of a grid along its first side */
    size_t particle, particles, tet, tets, triangle, triangles; /* its part of the model */
    size_t face, faces;                                         /* of the drawn mesh */
    fem_mesh file; /* of a file: groups and their names, and its triangles with their vertices in the body */
} body;

/* Where a quantity that is a variable stands, to refuse it once the target is known. */
typedef struct place {
    const scene_section *section;
    const char *key;
    int has_truth;
} place;

typedef struct setup_reader {
    soft_setup *setup;
    soft *soft;
    scene_file *f;
    const ds_host *host;
    body bodies[SETUP_BODIES];
    size_t n_bodies;
    material materials[SETUP_MATERIALS];
    size_t n_materials;
    uint8_t *owner; /* [tets], index of the material */
    int divided;    /* a region has another density than its body */
    /* [triangles] density at rest; whether it is that of a region, not that of a material */
    double *sheet_density;
    uint8_t **sheet_own; /* NULL, or the marks of its region */
    int sheet_divided;
    place variable[BODY_VARIABLES_MAX];
    size_t variables;
} setup_reader;

/* A new variable for key `key`; NULL where there are too many. */
body_variable *setup_variable(setup_reader *r, const scene_section *s, const char *key, int has_truth);
/* A number that may be a variable; returns its value in the model as built. *made (may be NULL): the variable
 * or NULL. */
double setup_quantity(setup_reader *r, const scene_section *s, const char *key, const char *unit,
                      body_variable_kind kind, double low, double high, double otherwise,
                      body_variable **made);
/* The same for a number of the model (and of a variation) that is `scale` times that of the key. */
double setup_number(setup_reader *r, const scene_section *s, const char *key, const char *unit,
                    body_place place, double low, double high, double otherwise);
/* Three numbers that may be variables together, with bounds for each axis; returns whether they are. */
int setup_vector(setup_reader *r, const scene_section *s, const char *key, const char *unit, double low,
                 double most, double out[3], body_variable **made);
/* The same for n numbers, at most SCENE_MOST_QUANTITIES. */
int setup_components(setup_reader *r, const scene_section *s, const char *key, size_t n, const char *unit,
                     double low, double most, double *out, body_variable **made);
/* Numbers of the shape of a body, from `first` on, with bounds. */
void setup_shape_numbers(setup_reader *r, const scene_section *s, body *b, const char *key, const char *unit,
                         size_t first, size_t n, double low, double most);
/* The rotation by key `rotation`, or `axis` and `angle`, after the modes are set. */
void setup_rotation(setup_reader *r, const scene_section *s, body *b, int by_axis, fem_placing *where);
/* Refuses a rotation that is not four numbers. */
void setup_check_rotation(setup_reader *r, const scene_section *s);
/* The modes of its points, if the shape has variables. */
void setup_modes(setup_reader *r, body *b, const fem_mesh *mesh);
void setup_refuse_random(setup_reader *r, const scene_section *s, const char *key, const body_variable *v);
/* The same for adjacent numbers of the model, three unless `place` has a count. */
void setup_numbers(setup_reader *r, const scene_section *s, const char *key, const char *unit,
                   body_place place, double low, double most, double *out);
/* The place of the key `center` or `corner` of a body, which may be a variable. */
body_variable *setup_center(setup_reader *r, const scene_section *s, const char *key, double out[3]);

#endif
