/* SPDX-License-Identifier: Apache-2.0 */
/* robot.h - robots from files: URDF and the common part of MJCF.
 *
 * URDF: links with inertial, visual and collision elements of boxes, cylinders, spheres and capsules; joints
 * fixed, revolute, continuous, prismatic, floating at the root, planar (as three joints). MJCF: compiler,
 * option, default classes, bodies, joints, geoms with their mass or density, sites, exclusions, the actuators
 * motor, position and velocity, keyframes. What changes the motion and is not supported is refused by name and
 * line; drawing, sensors and the settings of other contact laws are skipped, and so are joint friction of URDF
 * and the force ranges of actuators. A visual mesh must exist; a mesh that collides is refused. */
#ifndef DS_ENGINES_ARTICULATED_ROBOT_H
#define DS_ENGINES_ARTICULATED_ROBOT_H

#include "engines/physics/articulated/tree.h"

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

enum { ROBOT_ERROR = 400, ROBOT_PATH = 4096 };

typedef struct robot_options {
    int free_base;        /* URDF: the root moves freely instead of being fixed to the world */
    int skip_meshes;      /* meshes are neither looked for nor refused */
    const char *packages; /* folders of packages, separated by ':'; may be NULL */
} robot_options;

/* Reads a robot; memory from `m`. Returns 0, or with a line in `error`: 1 = the file is bad, 2 = no memory. */
int robot_read(ds_memory *m, const char *path, const robot_options *options, robot *out,
               char error[ROBOT_ERROR]);
/* The same from memory; `name` is for messages and the folder of meshes. */
int robot_parse(ds_memory *m, const char *data, size_t size, const char *name, const robot_options *options,
                robot *out, char error[ROBOT_ERROR]);

#endif
