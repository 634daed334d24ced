/* SPDX-License-Identifier: Apache-2.0 */
/* robot_parts.h - a robot, and what the readers of its files share: elements of a file, their numbers,
 * errors, rotations, mass properties. After the first failure every function does nothing and returns 0. */
#ifndef DS_ENGINES_ARTICULATED_ROBOT_PARTS_H
#define DS_ENGINES_ARTICULATED_ROBOT_PARTS_H

#include "engines/physics/articulated/tree/tree.h"

#include <diffsim/helper/fail.h>

typedef struct robot_actuator {
    char name[TREE_NAME];
    int link; /* whose joint it drives */
    double gear, gain,
        rate_gain;       /* force = gear u - gain q - rate_gain v, u a force; or gear = gain / ratio */
    int kind;            /* 0 motor, 1 position, 2 velocity */
    double lower, upper; /* of u; -INFINITY, INFINITY: none */
} robot_actuator;

typedef struct robot_key {
    char name[TREE_NAME];
    double *q, *v, *u; /* nq, nv, actuators; NULL: not given */
} robot_key;

typedef struct robot {
    tree *tree;
    robot_actuator *actuator;
    robot_key *key;
    int actuators, keys;
    double step; /* s; 0: not given */
} robot;

enum { ROBOT_ERROR = 400, ROBOT_PATH = 4096, ROBOT_MOST_NODES = 20000 };

typedef struct robot_options {
    int free_base;        /* URDF: the root moves freely instead of being fixed to the world */
    int skip_meshes;      /* meshes are neither looked for nor refused */
    int free_mimics;      /* URDF: joints that follow others move freely */
    const char *packages; /* folders of packages, separated by ':'; may be NULL */
} robot_options;

/* ---- elements of a file ---- */

typedef struct robot_node {
    const char *name, **attribute; /* name, value, name, value, ..., NULL */
    const char *file;
    char *text; /* between its tags, where the reader keeps it */
    int line;
    struct robot_node *parent, *first, *last, *next;
} robot_node;

typedef struct robot_reader {
    ds_memory *m;
    robot *out;
    const robot_options *options;
    const char *file;
    char *error;
    int failed;                /* 0, 1 = bad file, 2 = no memory */
    int keep_text;             /* for robot_node.text */
    struct robot_mesh *meshes; /* that have been read */
    int nodes;
    double *joint[TREE_JOINT_NUMBERS]; /* numbers of the joints, by velocity: the tree gets them at the end */
} robot_reader;

/* The first element of a file; NULL after a failure. Entities and more than 20 000 elements are refused. */
robot_node *robot_elements(robot_reader *in, const char *data, size_t size);
/* The same from a file. */
robot_node *robot_elements_of(robot_reader *in, const char *path);

/* Records the first failure: FILE:LINE: <element "name">: text. */
DS_PRINTF(3, 4)
void robot_fail(robot_reader *in, const robot_node *at, const char *format, ...);

/* Zeros of the memory of the robot; NULL after a failure. */
void *robot_take(robot_reader *in, size_t count, size_t size);

/* The value of an attribute, or NULL. */
const char *robot_text(const robot_node *n, const char *attribute);
/* The first child, or the next sibling, with this name; NULL. */
robot_node *robot_child(const robot_node *n, const char *name);
robot_node *robot_next(const robot_node *n, const char *name);

/* An element and the attributes that it may have, with spaces around each: " name class ". */
typedef struct robot_spelling {
    const char *element, *attributes;
} robot_spelling;

/* Refuses an attribute of n or of an element in it that is not in the list, which NULL ends, but near a name
 * in it: a misspelt one would change the robot silently. Unknown names that are near to none pass. */
void robot_check_spelling(robot_reader *in, const robot_node *n, const robot_spelling *list);

/* Reads `least` to `most` finite numbers from a text and returns how many. */
int robot_numbers(robot_reader *in, const robot_node *at, const char *attribute, const char *text, int least,
                  int most, double *out);
/* Reads `count` numbers of an attribute if it is there, and returns whether it is. */
int robot_values(robot_reader *in, const robot_node *n, const char *attribute, int count, double *out);

/* Copies a name; one that is too long is refused. */
void robot_name(robot_reader *in, const robot_node *at, const char *from, char to[TREE_NAME]);

/* The rotation about the axes `sequence` ("xyz": about the turned axes in this order, capital letters: about
 * fixed ones) by three angles in radians. */
void robot_euler(const double angle[3], const char *sequence, double R[9]);
/* The rotation of a quaternion w x y z or of an axis, of any length except 0. */
int robot_quaternion(const double q[4], double R[9]);
void robot_axis_angle(const double axis[3], double angle, double R[9]);
int robot_normalise(double v[3]);

/* A mass with inertia about its centre, in the axes of the link, for sums. */
typedef struct robot_mass {
    double mass, centre[3], inertia[9];
} robot_mass;

/* Of a uniform solid; returns its volume. */
double robot_solid(const tree_shape *s, double mass, robot_mass *out);
void robot_add_mass(robot_mass *sum, const robot_mass *part);
/* Sets the inertia of a link; refuses what no body can have. */
void robot_set_mass(robot_reader *in, const robot_node *at, int link, const robot_mass *m);

/* What the mass of a mesh is: the solid inside its surface or, where that has holes, its hull; or as MJCF
 * names it. */
typedef enum robot_mesh_inertia { ROBOT_SOLID, ROBOT_LEGACY, ROBOT_EXACT, ROBOT_CONVEX } robot_mesh_inertia;

/* Where a mesh is used, and its file or its points and triangles (3 numbers each). */
typedef struct robot_mesh_use {
    const char *file, *folder; /* folder: of relative names, may be NULL; file NULL: the points */
    const double *point;
    const uint32_t *triangle; /* NULL: those of the hull */
    int points, triangles;
    robot_mesh_inertia inertia;
    double scale[3], at[3], rotation[9];
    int link, collides, visible;
} robot_mesh_use;

/* Adds a mesh as a shape and returns its number; -1: meshes are skipped, a mesh that is only visible cannot
 * be read, or a failure. Formats OBJ, STL, PLY and COLLADA; the file must exist. `sum`, which may be NULL,
 * gets its mass, or its volume times `density` where `mass` is negative. */
int robot_mesh(robot_reader *in, const robot_node *at, const robot_mesh_use *use, double density, double mass,
               robot_mass *sum);

/* ---- formats ---- */

/* Each fills in->out, whose arrays have room, from the first element of the file: Unified Robot Description
 * Format, MuJoCo's XML format. */
void robot_from_urdf(robot_reader *in, const robot_node *root);
void robot_from_mjcf(robot_reader *in, const robot_node *root);
/* Puts the contents of the files that MJCF includes into its tree, and copies for <replicate>. */
void robot_expand(robot_reader *in, robot_node *root);

#endif
