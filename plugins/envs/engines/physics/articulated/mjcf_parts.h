/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf_parts.h - what the readers of MuJoCo's XML format share: attributes with their defaults, poses, and
 * the readers of single elements. `n` is the element, errors go to f->in. */
#ifndef DS_ENGINES_ARTICULATED_MJCF_PARTS_H
#define DS_ENGINES_ARTICULATED_MJCF_PARTS_H

#include "engines/physics/articulated/robot_parts.h"

typedef struct mjcf {
    robot_reader *in;
    const robot_node *root;
    double angle; /* radians per unit of the file */
    char sequence[4];
    const char *mesh_folder;
    int auto_limits;
    int exact_meshes; /* their masses are exact where their assets name nothing else */
    int from_geoms;   /* masses: 0 = given ones, 1 = of the geoms, 2 = of the geoms where none is given */
    int need_mass;    /* of the geoms of the present body */
    double groups[2]; /* of geoms that have mass: the first and the last one */
    int no_contact;
    double total, least_mass, least_inertia; /* total: -1, or the mass of all bodies */
} mjcf;

/* ---- mjcf_attributes.c ---- */

/* The value of an attribute of the element or of its default class; NULL: there is none. */
const char *mjcf_value(mjcf *f, const robot_node *n, const char *attribute);
/* Reads `least` to `most` numbers and returns how many; 0: the attribute is missing. */
int mjcf_numbers(mjcf *f, const robot_node *n, const char *attribute, int least, int most, double *out);
/* true, false or auto; `unset` where the attribute is missing. */
int mjcf_choice(mjcf *f, const robot_node *n, const char *attribute, int unset);
/* Refuses attributes that change the motion unless they have the value that does not. */
void mjcf_refuse(mjcf *f, const robot_node *n, const char *const *attributes, double harmless);
/* Copies the name of an element that has one. */
void mjcf_name(mjcf *f, const robot_node *n, char to[TREE_NAME]);
/* The pose of an element in its body, through the <frame>s around it. */
void mjcf_frame(mjcf *f, const robot_node *n, double at[3], double R[9]);
/* Turns a pose in the innermost <frame> around an element into one in its body. */
void mjcf_leave_frames(mjcf *f, const robot_node *n, double at[3], double R[9]);
/* The element of a body after n, or its first one for NULL, also inside <frame>. */
const robot_node *mjcf_element_after(const robot_node *body, const robot_node *n);

/* ---- mjcf_geom.c ---- */

/* Reads a geom of `link`, whose frame is at `joint` in the body. Adds its mass to `sum`. */
void mjcf_geom(mjcf *f, const robot_node *n, int link, const double joint[3], robot_mass *sum);

/* ---- mjcf_actuator.c ---- */

/* Each reads one element, after all bodies. */
void mjcf_actuator(mjcf *f, const robot_node *n);
void mjcf_tendon(mjcf *f, const robot_node *n);
void mjcf_equality(mjcf *f, const robot_node *n);
void mjcf_exclusion(mjcf *f, const robot_node *n);
void mjcf_key(mjcf *f, const robot_node *n);

#endif
