/* SPDX-License-Identifier: Apache-2.0 */
/* setup_tools.h - tools of a scene file. */
#ifndef MPM_SETUP_TOOLS_H
#define MPM_SETUP_TOOLS_H

#include "engines/physics/mpm/env/setup_values.h"

/* A number of a tool that makes its sizes numbers, not variables. */
enum { MPM_NOT_A_TOOL = UINT32_MAX };

/* Words of MPM_SPHERE to MPM_MESH. */
extern const char *const mpm_setup_tool_shapes[];

void mpm_setup_tool(mpm_setup_reader *r, const scene_section *s);
/* Reads the sizes of a tool, or of a region, whose shape is known. of: the number of the tool, or
 * MPM_NOT_A_TOOL. */
void mpm_setup_tool_size(mpm_setup_reader *r, const scene_section *s, uint32_t of, mpm_tool *tool);
/* Refuses tools that begin deep inside a body, and warns of bodies that overlap. Looks at some of the
 * particles. */
void mpm_setup_check_places(mpm_setup_reader *r);
/* The number of the tool with a name; n_tools if there is none. */
uint32_t mpm_setup_tool_number(const mpm_task *task, const char *name);

#endif
