/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - draw strokes into a slab of plasticine with a pen: PlasticineLab's Writer task (Huang et al.
 * 2021) with a few intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

/* The built-in targets: the pen, which starts in the slab, goes deeper and along five straight strokes. */
static const double moves[MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][3] = {
    {{0.8, -0.2, 0.0}, {0.0, 0.0, 0.9}, {-0.9, 0.0, 0.0}, {-0.6, 0.0, -0.6}, {0.0, 0.0, -0.8}},
    {{-0.7, -0.1, -0.7}, {0.6, 0.0, 0.9}, {0.2, 0.0, -0.9}, {0.2, 0.0, 0.9}, {0.6, 0.0, -0.9}},
    {{0.9, -0.2, 0.9}, {-0.9, 0.3, -0.9}, {-0.9, -0.1, -0.9}, {0.9, 0.0, 0.9}, {0.0, 0.5, 0.0}},
    {{0.0, -0.2, 0.9}, {0.9, 0.0, -0.9}, {-0.9, 0.0, -0.9}, {-0.9, 0.0, 0.9}, {0.9, 0.0, 0.9}},
    {{-0.9, -0.2, 0.0}, {0.9, 0.0, 0.6}, {0.9, 0.0, -0.6}, {-0.9, 0.0, -0.6}, {-0.5, 0.0, 0.3}}};

static const mpm_task writer = {
    .scene =
        {
            .n_bodies = 1,
            .bodies = {{.shape = MPM_BODY_BOX,
                        .count = 10000,
                        .center = {0.5, 0.05, 0.5},
                        .size = {0.3, 0.1, 0.3}}},
            .n_tools = 1,
            .tools = {{.shape = MPM_CAPSULE,
                       .size = {0.03, 0.06},
                       .friction = 0.0,
                       .lower = {0.0, 0.05, 0.0},
                       .upper = {1.0, 1.0, 1.0},
                       .action_dim = 3,
                       .scale = {0.01, 0.01, 0.01},
                       .start = {.position = {0.5, 0.13, 0.5}, .rotation = {0.0, 0.0, 0.0, 1.0}}}},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 50.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 100.0,
        },
    .moves = &moves[0][0][0],
    .target_file = "data/writer.targets",
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("writer"),
    .summary = "Draw strokes into a slab of plasticine with a pen (PlasticineLab Writer)",
    .description =
        "A slab of 10000 elastoplastic particles lies on a sticky floor; the tip of a smooth upright pen, "
        "which starts a little inside it, is moved in x, y and z to draw the strokes of the target. "
        "Variables: the pen's displacement per step, in units of 0.01, one triple per segment.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far the pen is from the material." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(writer, desc)
