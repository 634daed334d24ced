/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf.h - robots in MuJoCo's XML format. */
#ifndef DS_ENGINES_ARTICULATED_MJCF_H
#define DS_ENGINES_ARTICULATED_MJCF_H

#include "engines/physics/articulated/robot_parts.h"

/* Fills in->out, whose arrays have room, from the first element of the file. */
void robot_from_mjcf(robot_reader *in, const robot_node *root);

#endif
