/* SPDX-License-Identifier: Apache-2.0 */
/* pinch.c - press dents into a block of plasticine with a ball: PlasticineLab's Pinch task (Huang et al.
 * 2021) with a few intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

/* The built-in targets: up to three presses, with the ball lifted and moved between them. */
static const double moves[MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][3] = {
    {{-0.2, -0.85, 0.0}, {0.2, 0.6, 0.1}, {0.2, -0.6, 0.1}, {-0.1, 0.6, -0.3}, {-0.1, -0.6, -0.2}},
    {{0.0, -0.9, 0.2}, {0.15, 0.7, -0.2}, {0.15, -0.7, -0.2}, {-0.25, 0.7, 0.0}, {-0.25, -0.7, 0.0}},
    {{0.2, -0.8, 0.2}, {-0.2, 0.6, -0.2}, {-0.2, -0.7, -0.2}, {0.0, 0.5, 0.0}, {0.0, 0.5, 0.0}},
    {{0.25, -0.85, -0.2}, {-0.25, 0.6, 0.0}, {-0.25, -0.6, 0.0}, {0.15, 0.6, 0.2}, {0.1, -0.6, 0.2}},
    {{-0.2, -0.9, -0.2}, {0.0, 0.7, 0.2}, {0.0, -0.7, 0.2}, {0.25, 0.7, -0.1}, {0.15, -0.7, -0.1}}};

static const mpm_task pinch = {
    .scene =
        {
            .n_bodies = 1,
            .bodies =
                {{.shape = MPM_BODY_BOX, .count = 6000, .center = {0.5, 0.1, 0.5}, .size = {0.2, 0.2, 0.2}}},
            .n_tools = 1,
            .tools = {{.shape = MPM_SPHERE,
                       .size = {0.04},
                       .friction = 0.9,
                       .lower = {0.1, 0.1, 0.1},
                       .upper = {0.9, 0.9, 0.9},
                       .action_dim = 3,
                       .scale = {0.02, 0.02, 0.02},
                       .start = {.position = {0.5, 0.35, 0.5}, .rotation = MPM_UPRIGHT}}},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 50.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 100.0,
        },
    .moves = &moves[0][0][0],
    .target_file = "data/pinch.targets",
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("pinch"),
    .summary = "Press dents into a block of plasticine with a ball (PlasticineLab Pinch)",
    .description =
        "A block of 6000 elastoplastic particles stands on a sticky floor; a rigid ball above it is moved "
        "in x, y and z to press the dents of the target. Variables: the ball's displacement per step, in "
        "units of 0.02, one triple per segment.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far the ball is from the material. (PlasticineLab's own "
        "targets hold 10000 particles: with them the density loss cannot fall below "
        "0.244.)" MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(pinch, desc)
