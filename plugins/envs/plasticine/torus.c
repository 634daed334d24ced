/* SPDX-License-Identifier: Apache-2.0 */
/* torus.c - press a ring into a slab of plasticine: PlasticineLab's Torus task (Huang et al. 2021) with a few
 * intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

/* The built-in targets: the ring first moves sideways over the slab, then down until its centre is at y =
 * 0.05, at full speed or slower. */
static const double moves[MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][3] = {
    {{-1.0, 0.0, 0.5}, {0.0, -1.0, 0.0}, {0.0, -1.0, 0.0}, {0.0, -1.0, 0.0}, {0.0, -1.0, 0.0}},
    {{1.0, 0.0, 1.0}, {0.0, -0.9, 0.0}, {0.0, -0.9, 0.0}, {0.0, -0.9, 0.0}, {0.0, -0.9, 0.0}},
    {{0.5, 0.0, -1.0}, {0.0, -0.8, 0.0}, {0.0, -0.8, 0.0}, {0.0, -0.8, 0.0}, {0.0, -0.8, 0.0}},
    {{-0.5, 0.0, -0.5}, {0.0, -0.85, 0.0}, {0.0, -0.85, 0.0}, {0.0, -0.85, 0.0}, {0.0, -0.85, 0.0}},
    {{0.0, 0.0, 1.0}, {0.0, -0.95, 0.0}, {0.0, -0.95, 0.0}, {0.0, -0.95, 0.0}, {0.0, -0.95, 0.0}}};

static const mpm_task torus = {
    .scene =
        {
            .n_bodies = 1,
            .bodies = {{.shape = MPM_BODY_BOX,
                        .count = 10000,
                        .center = {0.5, 0.05, 0.5},
                        .size = {0.3, 0.1, 0.3}}},
            .n_tools = 1,
            .tools = {{.shape = MPM_TORUS,
                       .size = {0.05, 0.03},
                       .friction = 0.9,
                       .lower = {0.0, 0.05, 0.0},
                       .upper = {1.0, 1.0, 1.0},
                       .action_dim = 3,
                       .scale = {0.004, 0.004, 0.004},
                       .start = {.position = {0.5, 0.2, 0.5}, .rotation = {0.0, 0.0, 0.0, 1.0}}}},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 50.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 100.0,
        },
    .moves = &moves[0][0][0],
    .target_file = "data/torus.targets",
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("torus"),
    .summary = "Press a ring into a slab of plasticine (PlasticineLab Torus)",
    .description =
        "A slab of 10000 elastoplastic particles lies on a sticky floor; a rigid ring above it is moved "
        "in x, y and z so that the slab takes the shape of the target. Variables: the ring's displacement "
        "per step, in units of 0.004, one triple per segment.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far the ring is from the material. The gradient is the exact "
        "adjoint of the whole episode; the loss has jumps where a grid node enters the reach of the "
        "ring." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(torus, desc)
