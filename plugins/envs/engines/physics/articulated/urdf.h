/* SPDX-License-Identifier: Apache-2.0 */
/* urdf.h - robots in the Unified Robot Description Format. */
#ifndef DS_ENGINES_ARTICULATED_URDF_H
#define DS_ENGINES_ARTICULATED_URDF_H

#include "engines/physics/articulated/robot_parts.h"

/* Fills in->out, whose arrays have room, from the first element of the file. */
void robot_from_urdf(robot_reader *in, const robot_node *root);

#endif
