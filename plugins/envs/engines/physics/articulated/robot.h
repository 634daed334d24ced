/* SPDX-License-Identifier: Apache-2.0 */
/* robot.h - robots from files: URDF and the common part of MJCF.
 *
 * URDF: links with inertial, visual and collision elements of boxes, cylinders, spheres, capsules and
 * meshes; joints fixed, revolute, continuous, prismatic, floating at the root, planar (as three joints), with
 * damping, dry friction, limits and mimic.
 * MJCF: compiler, option, include, default classes, bodies, frames, joints, geoms with their mass or density,
 * sites, exclusions, the actuators motor, position, velocity and general (servos), keyframes, linear equality
 * constraints of joints. What changes the motion and is not supported is refused by name and line; drawing,
 * sensors, the settings of other contact laws and the force ranges of actuators are skipped. A mesh must
 * exist; its convex hull collides. */
#ifndef DS_ENGINES_ARTICULATED_ROBOT_H
#define DS_ENGINES_ARTICULATED_ROBOT_H

#include "engines/physics/articulated/robot_parts.h"

/* Reads a robot; memory from `m`. Returns 0, or with a line in `error`: 1 = the file is bad, 2 = no
 * memory. */
int robot_read(ds_memory *m, const char *path, const robot_options *options, robot *out,
               char error[ROBOT_ERROR]);
/* The same from memory; `name` is for messages and the folder of meshes. */
int robot_parse(ds_memory *m, const char *data, size_t size, const char *name, const robot_options *options,
                robot *out, char error[ROBOT_ERROR]);

#endif
