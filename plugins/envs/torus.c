/* SPDX-License-Identifier: Apache-2.0 */
/* Environment "torus": press a ring into a slab of plasticine. PlasticineLab's Torus task (Huang et al. 2021)
 * with a few pieces of constant velocity as decision variables. */
#include "engines/mpm/env.h"

/* The ring first moves sideways over the slab, for one piece of the default episode, then down until its
 * centre is at y = 0.05, at full speed or slower: each variant has its own direction and depth. */
static void script(uint32_t variant, uint32_t step, double *action)
{
    static const double sideways[MPM_TARGET_VARIANTS][2] = {
        {-1.0, 0.5}, {1.0, 1.0}, {0.5, -1.0}, {-0.5, -0.5}, {0.0, 1.0}};
    static const double down[MPM_TARGET_VARIANTS] = {-1.0, -0.9, -0.8, -0.85, -0.95};
    const double *move = sideways[variant - 1];
    action[0] = step < 10 ? move[0] : 0.0;
    action[1] = step < 10 ? 0.0 : down[variant - 1];
    action[2] = step < 10 ? move[1] : 0.0;
}

static const mpm_task task = {
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
    .script = script,
    .target_file = "data/torus.targets",
};

static const char *const extensions[] = {DS_EXT_SCENE, NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_ENV,
    .flags = DS_ENV_GRADIENT,
    .id = "torus",
    .version = "0.1.0",
    .license = "Apache-2.0",
    .summary = "Press a ring into a slab of plasticine (PlasticineLab Torus)",
    .description =
        "A slab of 10000 elastoplastic particles lies on a sticky floor; a rigid ring above it is moved in x, y "
        "and z so that the slab takes the shape of the target. Variables: the ring's displacement per step, in "
        "units of 0.004, one triple per segment.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance of "
        "the mass to the target, and how far the ring is from the material. The gradient is the exact adjoint "
        "of the whole episode; the loss has jumps where a grid node enters the reach of the ring.",
    .citation = "Huang et al., PlasticineLab: A soft-body manipulation benchmark with differentiable "
                "physics, ICLR 2021",
    .params = mpm_env_params,
    .extensions = extensions,
};

MPM_DEFINE_ENV(task, desc)
