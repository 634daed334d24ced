/* SPDX-License-Identifier: Apache-2.0 */
/* momentum - a ball hits a bar that can turn: the momentum it transfers grows with its angle up to the
 * one at which it misses the bar (Suh et al., ICML 2022, section 5, in closed form). */
#include "engines/smoothing/plain.h"
#include "engines/smoothing/sources.h"

static const ds_param *const params[] = {DS_REAL("cliff", "0.78539816339744831", 1e-3, 1.5707963267948966,
                                                 "rad", "Angle beyond which the ball misses."),
                                         PLAIN_PARAMS("0", "1.5707963267948966", "0.1", "rad"), NULL};

typedef struct shot {
    plain plain; /* first */
    double cliff;
} shot;

static void read_shot(void *self, ds_param_reader *in)
{
    shot *e = self;
    e->cliff = ds_param_real(in, "cliff");
    plain_read(&e->plain, in, 1, "angle", "rad");
    e->plain.kit.loss_floor = -1;
}

static ds_status simulate_shot(void *self, ds_eval *io)
{
    const shot *e = self;
    const double s = sin(io->x[0]);
    io->loss = fabs(io->x[0]) <= e->cliff ? -s * s : 0;
    return DS_OK;
}

static ds_status adjoint_of_shot(void *self, ds_eval *io)
{
    const shot *e = self;
    io->grad[0] = fabs(io->x[0]) <= e->cliff ? -sin(2 * io->x[0]) : 0;
    return DS_OK;
}

static const env_table env = {.size = sizeof(shot),
                              .read = read_shot,
                              .simulate = simulate_shot,
                              .adjoint = adjoint_of_shot,
                              PLAIN_TABLE};

static const ds_desc desc = {
    ENV_KIT_DESC("momentum", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Hit a bar as hard as possible without missing it, in closed form.",
    .description = "Variable: the angle of the throw. Loss -sin(angle)^2 up to the "
                   "cliff, 0 beyond it: the best angle is "
                   "the last one before the cliff, and gradients lead over it.",
    .citation = SMOOTHING_SUH,
    .extensions = plain_extensions,
};

ENV_KIT_DEFINE(env, desc)
