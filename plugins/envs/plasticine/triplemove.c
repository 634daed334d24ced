/* SPDX-License-Identifier: Apache-2.0 */
/* triplemove.c - carry three cubes of plasticine, each between two balls: PlasticineLab's TripleMove task
 * (Huang et al. 2021) with a few intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

#include <string.h>

enum { CUBES = 3 };

/* The same cubes elsewhere, in the air. */
static void vary(mpm_scene *scene, uint32_t variant)
{
    static const double goal[MPM_TARGET_VARIANTS][CUBES][3] = {
        {{0.2, 0.2, 0.5}, {0.63, 0.34, 0.2}, {0.8, 0.2, 0.2}},
        {{0.25, 0.2, 0.37}, {0.38, 0.27, 0.8}, {0.74, 0.37, 0.51}},
        {{0.37, 0.2, 0.2}, {0.42, 0.47, 0.33}, {0.8, 0.36, 0.29}},
        {{0.51, 0.45, 0.52}, {0.61, 0.24, 0.63}, {0.8, 0.2, 0.7}},
        {{0.57, 0.2, 0.59}, {0.75, 0.21, 0.53}, {0.85, 0.21, 0.53}}};
    for (int b = 0; b < CUBES; b++) {
        scene->bodies[b].aim.kind = MPM_AIM_CENTER;
        memcpy(scene->bodies[b].aim.by, goal[variant - 1][b], sizeof goal[variant - 1][b]);
    }
}

#define CUBE(x_)                                                                                             \
    {                                                                                                        \
        .shape = MPM_BODY_BOX, .count = 3333, .center = {x_, 0.05, 0.5}, .size = { 0.1, 0.1, 0.1 }           \
    }
#define BALL(x_) MPM_MOVED_BALL(0.03, 0.01, x_, 0.05, 0.5)

static const mpm_task triplemove = {
    .scene =
        {
            .n_bodies = CUBES,
            .bodies = {CUBE(0.3), CUBE(0.5), CUBE(0.7)},
            .n_tools = 2 * CUBES,
            .tools = {BALL(0.23), BALL(0.37), BALL(0.43), BALL(0.57), BALL(0.63), BALL(0.77)},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 200.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 1.5,
        },
    .vary = vary,
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("triplemove"),
    .summary = "Carry three plasticine cubes between six balls (PlasticineLab TripleMove)",
    .description =
        "Three cubes of 3333 elastoplastic particles each stand on the floor, each between two rigid "
        "balls, which are moved in x, y and z to carry the cubes to the target. Variables: per segment "
        "the displacement per step of the six balls from left to right, in units of 0.01.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far each ball is from the nearest of the material. The balls "
        "hold by friction alone, and the three cubes are lost or carried independently: the landscape is "
        "rugged." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(triplemove, desc)
