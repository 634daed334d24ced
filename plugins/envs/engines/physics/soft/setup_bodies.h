/* SPDX-License-Identifier: Apache-2.0 */
/* setup_bodies.h - materials, bodies and their parts in a scene file, and quantities that may be variables;
 * for setup.c. Mistakes are kept in the file (scene_failed()). */
#ifndef DS_ENGINES_SOFT_SETUP_BODIES_H
#define DS_ENGINES_SOFT_SETUP_BODIES_H

#include "engines/physics/soft/soft_scene.h"

enum { OBSERVE_IMAGE, OBSERVE_POINTS, OBSERVE_CENTRE }; /* soft.observe */
enum { SETUP_BODIES = 8 };

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
    uint8_t *tets;
    double *share;
} material;

typedef struct body {
    const scene_section *section;
    material *of;
    double center[3];
    int turned;                                                 /* has a rotation */
    size_t particle, particles, tet, tets, triangle, triangles; /* its part of the model */
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
    /* [triangles] area and density at rest; a density of its own, not that of a material */
    double *sheet_area, *sheet_density;
    uint8_t *sheet_own;
    int sheet_divided;
    place variable[BODY_VARIABLES_MAX];
    size_t variables;
} setup_reader;

/* Points inside a box or a ball, or tetrahedra of a group; of everything without these keys. */
typedef struct part {
    body *of;
    int box, ball, group, surface;     /* surface: the group is one of triangles, which has vertices only */
    double low[3], high[3], center[4]; /* center and radius */
    int32_t number;
} part;

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
/* The same for three adjacent numbers of the model. */
void setup_numbers(setup_reader *r, const scene_section *s, const char *key, const char *unit,
                   body_place place, double low, double most, double out[3]);
/* The place of the key `center` or `corner` of a body, which may be a variable. */
body_variable *setup_center(setup_reader *r, const scene_section *s, const char *key, double out[3]);

/* In this order: materials; each body; the owners of its tetrahedra; each region; what they own. */
void setup_materials(setup_reader *r);
void setup_body(setup_reader *r, const scene_section *s);
void setup_cloth(setup_reader *r, const scene_section *s);
void setup_anchor(setup_reader *r, const scene_section *s);
void setup_own_tets(setup_reader *r);
void setup_region(setup_reader *r, const scene_section *s);
void setup_end_materials(setup_reader *r);

/* Distance, size and triangles of an obstacle from the mesh of key `file`; position and rotation are set. */
void setup_surface(setup_reader *r, const scene_section *s, fem_obstacle *o);
/* The recorded vertices of key `file` as the target of a body; makes goals of all compared states where the
 * file has them. */
void setup_recorded(setup_reader *r, const scene_section *s, const body *b);
/* Sections [marker NAME], from `first` on, with the file of [target]: the compared points and their goals. */
void setup_markers(setup_reader *r, const scene_section *first);
/* A region of a membrane. */
void setup_cloth_region(setup_reader *r, const scene_section *s, const part *p);

/* The material that key `material` names; without the key the only one. */
material *setup_material_of(setup_reader *r, const scene_section *s);
/* Adds a mesh to the model and to what is drawn, as the body b, whose material is set; v: variables of its
 * particles (velocity, center), or NULL. */
void setup_place(setup_reader *r, const scene_section *s, body *b, fem_mesh *mesh, const fem_placing *where,
                 body_variable *const v[2]);
/* The body of this name; NULL: the one that key `body` names, or without it the only one. */
body *setup_body_of(setup_reader *r, const scene_section *s, const char *name);
/* The part of a body that a section describes. Elements belong to it by their middle. */
part setup_part(setup_reader *r, const scene_section *s);
int setup_inside(const part *p, const double x[3]);
int setup_holds_tet(const setup_reader *r, const part *p, size_t t);
int setup_holds_triangle(const setup_reader *r, const part *p, size_t t);
/* Marks the particles of a part, mark[particles]; returns how many. Those of a group are the vertices of its
 * tetrahedra. A part without particles is a mistake of the section. */
size_t setup_mark(setup_reader *r, const scene_section *s, const part *p, uint8_t *mark);

#endif
