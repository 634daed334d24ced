/* SPDX-License-Identifier: Apache-2.0 */
/* tool.h - rigid tools: motion, surface (signed distance and normal), and contact with grid nodes, each with
 * its adjoint. Adjoint functions add to the *_bar arguments of their inputs; those of
 * a pose include the constants of its tool. */
#ifndef MPM_TOOL_H
#define MPM_TOOL_H

#include "engines/physics/mpm/sim/scene.h"

#include <stdbool.h>

/* Motion of a tool in one substep: displacement, rotation vector, closing of the gap. Not a velocity. */
typedef struct mpm_control {
    double value[MPM_MAX_ACTION];
} mpm_control;

/* ---- motion ---- */
void mpm_tool_move(const mpm_tool *tool, const mpm_pose *pose, const mpm_control *control, mpm_pose *next);
void mpm_tool_move_adjoint(const mpm_tool *tool, const mpm_pose *pose, const mpm_control *control,
                           const mpm_pose *next_bar, mpm_pose *pose_bar, mpm_control *control_bar);

/* ---- shape ----
 *
 * x is in world coordinates. The normal follows the formulas and has nearly unit length. x_bar may be NULL.
 */
double mpm_tool_distance(const mpm_tool *tool, const mpm_pose *pose, const double x[3]);
/* A lower bound of the distance, for searches. */
double mpm_tool_distance_bound(const mpm_tool *tool, const mpm_pose *pose, const double x[3]);
void mpm_tool_distance_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double x[3], double d_bar,
                               mpm_pose *pose_bar, double x_bar[3]);
void mpm_tool_normal(const mpm_tool *tool, const mpm_pose *pose, const double x[3], double n[3]);
void mpm_tool_normal_adjoint(const mpm_tool *tool, const mpm_pose *pose, const double x[3],
                             const double n_bar[3], mpm_pose *pose_bar);

/* ---- contact ----
 *
 * The tool moves from pose `now` to `next` within dt; `softness` k widens the contact zone to the distances
 * with exp(-k d) > 0.1 (k = 0: only inside). */
typedef struct mpm_contact {
    const mpm_tool *tool;
    const mpm_pose *now, *next;
    double softness;
    double dt;
} mpm_contact;

/* Changes the velocity u of the grid node at x. Returns whether the tool acted. */
bool mpm_contact_apply(const mpm_contact *contact, const double x[3], double u[3]);

/* u: the velocity before the contact. u_bar: adjoint of the velocity after it on entry, before
 * it on return. */
void mpm_contact_adjoint(const mpm_contact *contact, const double x[3], const double u[3], double u_bar[3],
                         mpm_pose *now_bar, mpm_pose *next_bar);

#endif
