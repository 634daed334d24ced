/* SPDX-License-Identifier: Apache-2.0 */
/* chopsticks.c - lift and turn a rope of plasticine with chopsticks: PlasticineLab's Chopsticks task (Huang
 * et al. 2021) with a few intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

/* The built-in targets: the sticks, which hold the rope from the start, wait, then lift, carry and turn it.
 */
static const double moves[MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][7] = {
    {{0}, {0, 0.2, 0, 0, 0.3}, {0, 0.2, 0, 0, 0.3}, {0.1, 0.1, 0.1, 0, 0.3}, {0.1, 0.1, 0.1, 0, 0.3}},
    {{0}, {0, 0.2, 0.2}, {0, 0.2, 0.2}, {0, 0.1, 0.3}, {0, 0.1, 0.3}},
    {{0}, {0, 0.2, 0, 0, -0.5}, {0, 0.2, 0, 0, -0.5}, {0.2, 0.1, 0, 0, -0.3}, {0.2, 0.1, 0, 0, -0.3}},
    {{0},
     {-0.1, 0.2, 0.2, 0, -0.3},
     {-0.1, 0.2, 0.2, 0, -0.3},
     {-0.1, 0.1, 0.2, 0, -0.3},
     {-0.1, 0.1, 0.2, 0, -0.3}},
    {{0},
     {-0.2, 0.2, 0, 0, 0.4},
     {-0.2, 0.2, 0, 0, 0.4},
     {-0.2, 0.1, 0.2, 0, 0.2},
     {-0.2, 0.1, 0.2, 0, 0.2}}};

static const mpm_task chopsticks = {
    .scene =
        {
            .n_bodies = 1,
            .bodies = {{.shape = MPM_BODY_BOX,
                        .count = 10000,
                        .center = {0.5, 0.02, 0.5},
                        .size = {0.04, 0.04, 0.6}}},
            .n_tools = 1,
            .tools = {{.shape = MPM_CHOPSTICKS,
                       .size = {0.02, 0.2},
                       .friction = 10.0,
                       MPM_ANYWHERE,
                       .min_gap = 0.06,
                       .action_dim = 7,
                       .scale = {0.02, 0.02, 0.02, 0.04, 0.04, 0.04, 0.02},
                       .start = {.position = {0.5, 0.15, 0.5}, .rotation = MPM_UPRIGHT, .gap = 0.06}}},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 200.0,
            .gravity = {0.0, -5.0, 0.0},
            .ground_friction = 0.0,
        },
    .moves = &moves[0][0][0],
    .target_file = "data/chopsticks.targets",
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("chopsticks"),
    .summary = "Lift and turn a rope of plasticine with chopsticks (PlasticineLab Chopsticks)",
    .description =
        "A rope of 10000 elastoplastic particles lies on a slippery floor, held in its middle by two "
        "parallel sticks, which are moved, turned and opened or closed to bring the rope to the target. "
        "Variables, per segment and step: displacement along x, y, z in units of 0.02, rotation about the "
        "sticks' own x, y, z axes in units of 0.04 rad, closing of the gap in units of 0.02 (it cannot "
        "become narrower than at the start).\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far the nearer stick is from the material. Gravity is five "
        "times that of the other tasks: the rope sags, and a jerk loses it." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(chopsticks, desc)
