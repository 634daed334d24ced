/* SPDX-License-Identifier: Apache-2.0 */
/* move.c - carry a ball of plasticine through the air between two rigid balls: PlasticineLab's Move task
 * (Huang et al. 2021) with a few intervals of constant velocity as decision variables. */
#include "engines/physics/mpm/env/env.h"

/* Centre and diameter of the plasticine ball at the start; the rigid balls hold it on either side. The target
 * is the same ball elsewhere. */
static void vary(mpm_scene *scene, uint32_t variant)
{
    static const double ball[MPM_TARGET_VARIANTS][4] = {
        {0.6757143040494873, 0.5619162002773135, 0.7515980438048129, 0.2049069760770578},
        {0.4800617702933018, 0.6114161266624294, 0.2150469121879661, 0.22128338675873624},
        {0.5953388885096601, 0.7803511669469463, 0.3652372561756634, 0.21518886629207218},
        {0.5608152006865512, 0.5151402950552514, 0.4707541125135959, 0.23144406058863135},
        {0.2958401778083163, 0.5385429137124296, 0.7461548784761765, 0.23726089169300607}};
    static const double goal[MPM_TARGET_VARIANTS][3] = {
        {0.8, 0.8, 0.8}, {0.27, 0.74, 0.2}, {0.79, 0.57, 0.2}, {0.58, 0.43, 0.78}, {0.63, 0.77, 0.67}};
    const double *b = ball[variant - 1];
    scene->bodies[0].size[0] = b[3] / 2.0;
    scene->bodies[0].aim.kind = MPM_AIM_CENTER;
    for (int d = 0; d < 3; d++) {
        scene->bodies[0].center[d] = b[d];
        scene->bodies[0].aim.by[d] = goal[variant - 1][d];
        scene->tools[0].start.position[d] = b[d] - (d == 0 ? 0.1 : 0.0);
        scene->tools[1].start.position[d] = b[d] + (d == 0 ? 0.1 : 0.0);
    }
}

static const mpm_task move = {
    .scene =
        {
            .n_bodies = 1,
            .bodies = {{.shape = MPM_BODY_SPHERE, .count = 10000}},
            .n_tools = 2,
            .tools = {MPM_MOVED_BALL(0.03, 0.01, 0.0, 0.0, 0.0), MPM_MOVED_BALL(0.03, 0.01, 0.0, 0.0, 0.0)},
            .youngs_modulus = 5000.0,
            .poisson_ratio = 0.2,
            .yield_stress = 200.0,
            .gravity = {0.0, -1.0, 0.0},
            .ground_friction = 1.5,
        },
    .vary = vary,
};

static const ds_desc desc = {
    MPM_PLASTICINE_DESC("move"),
    .summary = "Carry a plasticine ball through the air between two balls (PlasticineLab Move)",
    .description =
        "A ball of 10000 elastoplastic particles hangs in the air between two rigid balls that sink a "
        "little into it; they are moved in x, y and z to bring it to the target. Variables: per segment "
        "the displacement per step of the ball on its left, then of the one on its right, in units of "
        "0.01.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance "
        "of the mass to the target, and how far each rigid ball is from the material. Both must move "
        "alike: pressed too hard the material is deformed, too lightly it falls." MPM_STEPWISE_TEXT,
};

MPM_DEFINE_ENV(move, desc)
