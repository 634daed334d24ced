/* SPDX-License-Identifier: Apache-2.0 */
/* setup_bodies.h - materials, bodies and their parts in a scene file, and quantities that may be variables;
 * for setup.c. Mistakes are kept in the file (scene_failed()). */
#ifndef DS_ENGINES_SOFT_SETUP_BODIES_H
#define DS_ENGINES_SOFT_SETUP_BODIES_H

#include "engines/physics/soft/scene/setup_numbers.h"

/* Points inside a box or a ball, or tetrahedra of a group; of everything without these keys. */
typedef struct part {
    body *of;
    int box, ball, group, surface;     /* surface: the group is one of triangles, which has vertices only */
    double low[3], high[3], center[4]; /* center and radius */
    int32_t number;
} part;

/* In this order: materials; each body; the owners of its tetrahedra; each region; what they own. */
void setup_materials(setup_reader *r);
void setup_body(setup_reader *r, const scene_section *s);
void setup_cloth(setup_reader *r, const scene_section *s);
void setup_anchor(setup_reader *r, const scene_section *s);
void setup_own_tets(setup_reader *r);
void setup_region(setup_reader *r, const scene_section *s);
void setup_end_materials(setup_reader *r);

/* Distance, size and triangles of an obstacle from the mesh of key `file`; position and rotation are set.
 * `scale`: its place in the model. */
void setup_surface(setup_reader *r, const scene_section *s, body_place scale, fem_obstacle *o);
/* The recorded vertices of key `file` as the target of a body; makes goals of all compared states where the
 * file has them. */
void setup_recorded(setup_reader *r, const scene_section *s, const body *b);
/* Sections [marker NAME], from `first` on, with the file of [target]: the compared points and their goals. */
void setup_markers(setup_reader *r, const scene_section *first);
/* [contact] between solid bodies; warns of those that overlap at the start. */
void setup_contact(setup_reader *r);
/* A region of a membrane. */
void setup_cloth_region(setup_reader *r, const scene_section *s, const part *p);

/* The material that key `material` names; without the key the only one. */
material *setup_material_of(setup_reader *r, const scene_section *s);
/* Adds a mesh to the model and to what is drawn, as the body b, whose material is set; v: variables of its
 * particles (velocity, center), or NULL. */
void setup_place(setup_reader *r, const scene_section *s, body *b, fem_mesh *mesh, const fem_placing *where,
                 body_variable *const v[2]);
/* The body of this name, that of the section; NULL: the one that key `body` names, or without it the only
 * one. */
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
