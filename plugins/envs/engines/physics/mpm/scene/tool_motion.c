/* SPDX-License-Identifier: Apache-2.0 */
/* Kinematics of the rigid tools (PlasticineLab: primive_base.py, primitives.py): one substep forward,
 * and its adjoint. */
#include "tool.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"

/* How far a rolling pin rolls per radian: its radius, a constant in the original. */
static const double pin_radius = 0.03;

/* Displacement of a rolling pin for the control (roll, yaw, lift): along the floor at right angles
 * to its axis. */
static void pin_shift(const mpm_pose *pose, const mpm_control *control, double shift[3])
{
    static const double down[3] = {0.0, -1.0, 0.0}, up[3] = {0.0, 1.0, 0.0};
    double axis[3];
    quat_rotate(pose->rotation, down, axis);
    vec3_cross(up, axis, shift);
    for (int k = 0; k < 3; k++) {
        shift[k] *= control->value[0] * pin_radius;
    }
    shift[1] = control->value[2];
}

/* The two turns of a rolling pin: about its own axis, then about the vertical. */
static void pin_turns(const mpm_control *control, double spin[4], double yaw[4])
{
    const double about_axis[3] = {0.0, control->value[0], 0.0};
    const double about_up[3] = {0.0, -control->value[1], 0.0};
    quat_from_vector(about_axis, spin);
    quat_from_vector(about_up, yaw);
}

void mpm_tool_move(const mpm_tool *tool, const mpm_pose *pose, const mpm_control *control, mpm_pose *next)
{
    double shift[3], turn[4], yaw[4], spun[4];
    memcpy(shift, control->value, sizeof shift);
    next->gap = pose->gap;
    if (tool->shape == MPM_ROLLING_PIN) {
        pin_shift(pose, control, shift);
        pin_turns(control, turn, yaw);
        quat_multiply(pose->rotation, turn, spun);
        quat_multiply(yaw, spun, next->rotation);
    } else if (tool->shape == MPM_CHOPSTICKS) {
        quat_from_vector(control->value + 3, turn);
        quat_multiply(pose->rotation, turn, next->rotation); /* about body axes */
        double gap = pose->gap - control->value[6];
        next->gap = gap > tool->min_gap ? gap : tool->min_gap;
    } else {
        quat_from_vector(control->value + 3, turn);
        quat_multiply(turn, pose->rotation, next->rotation); /* about world axes */
    }
    for (int k = 0; k < 3; k++) {
        next->position[k] = clamp(pose->position[k] + shift[k], tool->lower[k], tool->upper[k]);
    }
}

static void pin_adjoint(const mpm_pose *pose, const mpm_control *control, const mpm_pose *next_bar,
                        const double shift_bar[3], mpm_pose *pose_bar, mpm_control *control_bar)
{
    static const double down[3] = {0.0, -1.0, 0.0}, up[3] = {0.0, 1.0, 0.0};
    double axis[3], roll[3], axis_bar[3], unused[3] = {0.0, 0.0, 0.0};
    quat_rotate(pose->rotation, down, axis);
    vec3_cross(up, axis, roll);
    const double roll_bar[3] = {shift_bar[0], 0.0, shift_bar[2]};
    control_bar->value[0] += pin_radius * vec3_dot(roll, roll_bar);
    control_bar->value[2] += shift_bar[1];
    vec3_cross(roll_bar, up, axis_bar);
    for (int k = 0; k < 3; k++) {
        axis_bar[k] *= control->value[0] * pin_radius;
    }
    quat_rotate_adjoint(pose->rotation, down, axis_bar, pose_bar->rotation, unused);

    double spin[4], yaw[4], spun[4];
    double spin_bar[4] = {0.0}, yaw_bar[4] = {0.0}, spun_bar[4] = {0.0};
    double spin_vec_bar[3] = {0.0}, yaw_vec_bar[3] = {0.0};
    pin_turns(control, spin, yaw);
    quat_multiply(pose->rotation, spin, spun);
    quat_multiply_adjoint(yaw, spun, next_bar->rotation, yaw_bar, spun_bar);
    quat_multiply_adjoint(pose->rotation, spin, spun_bar, pose_bar->rotation, spin_bar);
    const double about_axis[3] = {0.0, control->value[0], 0.0};
    const double about_up[3] = {0.0, -control->value[1], 0.0};
    quat_from_vector_adjoint(about_axis, spin_bar, spin_vec_bar);
    quat_from_vector_adjoint(about_up, yaw_bar, yaw_vec_bar);
    control_bar->value[0] += spin_vec_bar[1];
    control_bar->value[1] -= yaw_vec_bar[1];
}

void mpm_tool_move_adjoint(const mpm_tool *tool, const mpm_pose *pose, const mpm_control *control,
                           const mpm_pose *next_bar, mpm_pose *pose_bar, mpm_control *control_bar)
{
    double shift[3], shift_bar[3];
    memcpy(shift, control->value, sizeof shift);
    if (tool->shape == MPM_ROLLING_PIN) {
        pin_shift(pose, control, shift);
    }
    for (int k = 0; k < 3; k++) {
        double p = pose->position[k] + shift[k];
        shift_bar[k] = p > tool->lower[k] && p < tool->upper[k] ? next_bar->position[k] : 0.0;
        pose_bar->position[k] += shift_bar[k];
    }
    if (tool->shape == MPM_ROLLING_PIN) {
        pose_bar->gap += next_bar->gap;
        pin_adjoint(pose, control, next_bar, shift_bar, pose_bar, control_bar);
        return;
    }
    double turn[4], turn_bar[4] = {0.0};
    vec3_add_scaled(control_bar->value, 1.0, shift_bar);
    quat_from_vector(control->value + 3, turn);
    if (tool->shape == MPM_CHOPSTICKS) {
        quat_multiply_adjoint(pose->rotation, turn, next_bar->rotation, pose_bar->rotation, turn_bar);
        if (pose->gap - control->value[6] > tool->min_gap) {
            pose_bar->gap += next_bar->gap;
            control_bar->value[6] -= next_bar->gap;
        }
    } else {
        pose_bar->gap += next_bar->gap;
        quat_multiply_adjoint(turn, pose->rotation, next_bar->rotation, turn_bar, pose_bar->rotation);
    }
    quat_from_vector_adjoint(control->value + 3, turn_bar, control_bar->value + 3);
}
