/* SPDX-License-Identifier: Apache-2.0 */
/* rope.c - wind a rope of plasticine around a pole: PlasticineLab's Rope task (Huang et al. 2021) with a few
 * intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

enum { POLE = 2 }; /* of the tools */

/* The position of the pole. The target is the rope as a closed ring of the same cross-section around it. */
static void vary(mpm_scene *scene, uint32_t variant)
{
    static const double at[MPM_TARGET_VARIANTS][2] = {{0.3919300650726247, 0.4990770359432596},
                                                      {0.4827737598605798, 0.572508568647028},
                                                      {0.48953026610561057, 0.5199459480962076},
                                                      {0.46969068720064815, 0.3868456769743354},
                                                      {0.49333308965447087, 0.5946055392248519}};
    scene->tools[POLE].start.position[0] = at[variant - 1][0];
    scene->tools[POLE].start.position[2] = at[variant - 1][1];
    scene->bodies[0].aim = (mpm_aim){.kind = MPM_AIM_RING, .tool = POLE, .radius = 0.135};
}

static const mpm_task rope = {
    .scene =
        {
            .n_bodies = 1,
            .bodies = {{.shape = MPM_BODY_BOX,
                        .count = 10000,
                        .center = {0.5, 0.03, 0.73},
                        .size = {0.6, 0.06, 0.06}}},
            .n_tools = 3,
            .tools = {MPM_MOVED_BALL(0.03, 0.01, 0.22, 0.015, 0.82),
                      MPM_MOVED_BALL(0.03, 0.01, 0.78, 0.015, 0.82),
                      {.shape = MPM_CYLINDER,
                       .size = {0.1, 0.2},
                       .friction = 0.9,
                       MPM_ANYWHERE,
                       .start = {.rotation = MPM_UPRIGHT}}},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 50.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 0.3,
        },
    .vary = vary,
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("rope"),
    .summary = "Wind a rope of plasticine around a pole with two balls (PlasticineLab Rope)",
    .description =
        "A rope of 10000 elastoplastic particles lies on the floor beside a fixed pole; two rigid balls "
        "behind its ends are moved in x, y and z to push it around the pole. Variables: per segment the "
        "displacement per step of the ball at the left end, then of the one at the right end, in units of "
        "0.01.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far each ball is from the material. The landscape has large "
        "plateaus: a ball that has passed over or beside the rope moves nothing." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(rope, desc)
