/* SPDX-License-Identifier: Apache-2.0 */
/* realtosim.c - finds the properties of a cloth from a recorded lift. */
#include "engines/kit/bundled.h"
#include "engines/physics/cloth/env/lift_env.h"

static const ds_env_table env = {LIFT_ENV_TABLE, .size = sizeof(lift_env), .release = lift_env_release,
                                 .read = lift_env_read, .hook_points = lift_env_hooks};

static const ds_desc desc = {
    DS_ENV_KIT_DESC("realtosim", "4", "Apache-2.0", lift_env_params),
    .flags = DS_ENV_GRADIENT,
    .summary = "Find size, mass, friction and stiffness of a cloth from a recording of a lift.",
    .description =
        "Variables, each in [-1, 1]: width and length (0.5 to 1.5 times nominal), mass (0.01 to 0.1 kg or "
        "mass_range, logarithmic), friction (0 to 1), then the stiffness of 8 x 8 patches (10 to 200 N/m or "
        "stiffness_range, logarithmic). "
        "The cloth lies on a table; vertices near the gripper follow its path. Loss: mean distance of "
        "simulated corners to recorded ones.\nWith r2s_norm = sq the loss is a sum of squares and offers its "
        "residuals; products J v are computed by differences, J^T v by the adjoint.\nThe gripper holds every "
        "vertex within 2 cm, at least one: the loss jumps where the size changes which vertices these "
        "are.\nNo stepwise control: the variables are constants of an episode, not actions in it.\nThe "
        "recording: a file of ds-cloth-1, or columns of any table (parameter file) with their names, units "
        "and rate; samples after the compared ones are held out.\nMetrics: largest stretch of a spring, "
        "height of the gripper, x, y, z of the centre of mass, heights of the corners and their recorded "
        "heights, held_out, rmse: of the corners so far; from the first held-out sample on, of the held-out "
        "ones.",
    .citation = PAPER_ANTONOVA,
};

DS_ENV_KIT_DEFINE(env, desc)
