/* SPDX-License-Identifier: Apache-2.0 */
/* rollingpin.c - roll out dough: PlasticineLab's RollingPin task (Huang et al. 2021) with a few intervals of
 * constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

/* The built-in targets: the pin rolls back and forth while it is lowered, straight or turning. */
static const double moves[MPM_TARGET_VARIANTS][MPM_TARGET_PIECES][3] = {
    {{0.6, 0.0, -1.0}, {-1.0, 0.0, -1.0}, {0.9, 0.0, -1.0}, {-1.0, 0.0, -1.0}, {0.9, 0.0, -1.0}},
    {{0.5, 0.4, -1.0}, {-1.0, 0.0, -1.0}, {0.5, 0.8, -1.0}, {-1.0, 0.0, -1.0}, {1.0, 0.0, -1.0}},
    {{-0.6, 0.0, -1.0}, {1.0, -0.3, -1.0}, {-1.0, -0.3, -1.0}, {1.0, -0.3, -1.0}, {-1.0, 0.0, -1.0}},
    {{0.4, 0.8, -1.0}, {-0.8, 0.8, -0.8}, {0.8, 0.8, -0.8}, {-0.8, 0.0, -0.5}, {0.4, 0.0, -0.5}},
    {{0.5, -0.5, -1.0}, {-1.0, -0.5, -1.0}, {1.0, -0.5, -0.6}, {-1.0, -0.5, -0.6}, {0.5, 0.0, -0.4}}};

static const mpm_task rollingpin = {
    .scene =
        {
            .n_bodies = 1,
            .bodies = {{.shape = MPM_BODY_BOX,
                        .count = 10000,
                        .center = {0.5, 0.05, 0.5},
                        .size = {0.3, 0.1, 0.3}}},
            .n_tools = 1,
            .tools = {{.shape = MPM_ROLLING_PIN,
                       .size = {0.03, 0.3},
                       .friction = 0.9,
                       MPM_ANYWHERE,
                       .action_dim = 3,
                       .scale = {0.6666666666666667, 0.06666666666666668, 0.001},
                       .start = {.position = {0.5, 0.123, 0.5}, .rotation = {0.707, 0.707, 0.0, 0.0}}}},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 50.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 1.5,
        },
    .moves = &moves[0][0][0],
    .target_file = "data/rollingpin.targets",
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("rollingpin"),
    .summary = "Roll out a slab of plasticine (PlasticineLab RollingPin)",
    .description =
        "A slab of 10000 elastoplastic particles lies on a rough floor under a rolling pin. Variables, "
        "per segment and step: how far the pin rolls, in units of 0.667 rad (0.02 along the floor), how "
        "far it turns about the vertical, in units of 0.067 rad, and how far it is lifted, in units of "
        "0.001. With segments=10 there are 30 variables.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far the pin is from the material. Where the pin is up or "
        "beside the slab the loss is flat in what it does." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(rollingpin, desc)
