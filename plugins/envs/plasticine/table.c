/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - bend a leg of a plasticine table outwards with a ball: PlasticineLab's Table task (Huang et al.
 * 2021) with a few intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

/* The built-in targets: the ball goes to a leg, pushes it, and comes back. */
static const double moves[MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][3] = {
    {{0.12, 0.0, -0.12}, {0.06, 0.0, -0.1}, {-0.1, 0.0, 0.1}, {-0.1, 0.0, 0.1}, {0.0, 0.0, 0.0}},
    {{-0.12, 0.0, 0.12}, {-0.08, 0.0, 0.08}, {0.1, 0.0, -0.1}, {0.1, 0.0, -0.1}, {0.0, 0.0, 0.0}},
    {{0.12, 0.0, 0.12}, {0.04, 0.0, 0.04}, {-0.1, 0.0, -0.1}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}},
    {{0.12, 0.0, 0.12}, {0.1, 0.0, 0.04}, {-0.1, 0.0, -0.1}, {-0.1, 0.0, 0.0}, {0.0, 0.0, 0.0}},
    {{-0.13, 0.0, 0.13}, {-0.08, 0.0, 0.1}, {0.1, 0.0, -0.1}, {0.1, 0.0, -0.1}, {0.0, 0.0, 0.0}}};

#define LEG(x_, z_)                                                                                          \
    {                                                                                                        \
        .shape = MPM_BODY_BOX, .count = 2000, .center = {x_, 0.1, z_}, .size = { 0.04, 0.1, 0.04 }           \
    }

static const mpm_task table = {
    .scene =
        {
            .n_bodies = 5,
            .bodies = {LEG(0.425, 0.425),
                       LEG(0.425, 0.575),
                       LEG(0.575, 0.425),
                       LEG(0.575, 0.575),
                       {.shape = MPM_BODY_BOX,
                        .count = 2000,
                        .center = {0.5, 0.18, 0.5},
                        .size = {0.2, 0.05, 0.2}}},
            .n_tools = 1,
            .tools = {{.shape = MPM_SPHERE,
                       .size = {0.04},
                       .friction = 0.9,
                       MPM_ANYWHERE,
                       .action_dim = 3,
                       .scale = {0.03, 0.0, 0.03}, /* the action along y has no effect */
                       .start = {.position = {0.5, 0.06, 0.5}, .rotation = MPM_UPRIGHT}}},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.05,
            .yield_stress = 50.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 0.3,
        },
    .moves = &moves[0][0][0],
    .target_file = "data/table.targets",
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("table"),
    .summary = "Bend a leg of a plasticine table with a ball (PlasticineLab Table)",
    .description = "A table of 10000 elastoplastic particles falls the last bit to a smooth floor; a rigid "
                   "ball between its legs is moved in x and z to push one of them outwards. Variables: the "
                   "ball's displacement per step, in units of 0.03, one triple per segment; the one along y "
                   "has no effect, as in PlasticineLab.\nThe loss sums, over the chosen steps, the "
                   "difference of mass density to the target, the distance of the mass to the target, and "
                   "how far the ball is from the material." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(table, desc)
