/* SPDX-License-Identifier: Apache-2.0 */
/* assembly.c - two balls pick up a lump of plasticine and put it on a block: PlasticineLab's Assembly task
 * (Huang et al. 2021) with a few intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

/* The block stays in place and the lump lies on it: in the middle, or near a side or a corner. */
static void vary(mpm_scene *scene, uint32_t variant)
{
    static const double aside[MPM_TARGET_VARIANTS][2] = {
        {0.0, 0.0}, {-0.03, 0.0}, {0.03, 0.0}, {-0.02, 0.02}, {0.02, -0.02}};
    scene->bodies[1].aim =
        (mpm_aim){.kind = MPM_AIM_SHIFT, .by = {0.3 + aside[variant - 1][0], 0.16, aside[variant - 1][1]}};
}

static const mpm_task assembly = {
    .scene =
        {
            .n_bodies = 2,
            .bodies = {{.shape = MPM_BODY_BOX,
                        .count = 6000,
                        .center = {0.6, 0.08, 0.5},
                        .size = {0.16, 0.16, 0.16}},
                       {.shape = MPM_BODY_SPHERE, .count = 4000, .center = {0.3, 0.06, 0.5}, .size = {0.06}}},
            .n_tools = 2,
            .tools = {MPM_MOVED_BALL(0.04, 0.009, 0.38, 0.06, 0.5),
                      MPM_MOVED_BALL(0.04, 0.009, 0.22, 0.06, 0.5)},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 100.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 100.0,
        },
    .vary = vary,
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("assembly"),
    .summary = "Put a lump of plasticine on a block with two balls (PlasticineLab Assembly)",
    .description =
        "A lump of 4000 elastoplastic particles and a block of 6000 lie on a sticky floor; two rigid "
        "balls, one on either side of the lump, are moved in x, y and z to lift it and put it on the "
        "block. Variables: per segment the displacement per step of the right ball, then of the left one, "
        "in units of 0.009.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far each ball is from the material. Gravity is strong and the "
        "balls hold by friction alone, so the lump is easily dropped or squeezed flat." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(assembly, desc)
