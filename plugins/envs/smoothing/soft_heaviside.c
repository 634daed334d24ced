/* SPDX-License-Identifier: Apache-2.0 */
/* soft_heaviside.c - a steep ramp between -1 and 1: continuous, but a step to few samples (Suh et al., ICML
 * 2022, section 3). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/plain.h"

#include <string.h>

static const ds_param *const params[] = {PLAIN_DIM_PARAM("1"),
                                         DS_REAL("delta", "0.1", 1e-9, 1e6, "",
                                                 "Width of the ramp; the paper uses 0.4, 0.1 and 0.01.",
                                                 .flags = DS_PARAM_LOG),
                                         PLAIN_PARAMS("-2", "2", "1", ""), NULL};

typedef struct ramp {
    plain plain; /* must be first */
    double delta;
} ramp;

static void read_ramp(void *self, ds_param_reader *in)
{
    ramp *e = self;
    e->delta = ds_param_real(in, "delta");
    plain_read(&e->plain, in, (uint64_t)ds_param_int(in, "dim"), "x", "");
    e->plain.kit.loss_floor = -1;
}

/* The least variable decides; of equal ones the first. */
static uint64_t least(const ds_eval *io)
{
    uint64_t at = 0;
    for (uint64_t i = 1; i < io->n; i++) {
        at = io->x[i] < io->x[at] ? i : at;
    }
    return at;
}

static ds_status simulate_ramp(void *self, ds_eval *io)
{
    const ramp *e = self;
    io->loss = fmin(fmax(2 * io->x[least(io)] / e->delta, -1), 1);
    return DS_OK;
}

static ds_status adjoint_of_ramp(void *self, ds_eval *io)
{
    const ramp *e = self;
    const uint64_t at = least(io);
    memset(io->grad, 0, io->n * sizeof *io->grad);
    io->grad[at] = fabs(2 * io->x[at] / e->delta) < 1 ? 2 / e->delta : 0;
    return DS_OK;
}

static const ds_env_table env = {.size = sizeof(ramp),
                                 .read = read_ramp,
                                 .simulate = simulate_ramp,
                                 .adjoint = adjoint_of_ramp,
                                 PLAIN_DIM_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("soft_heaviside", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "A steep ramp: a step to few samples.",
    .description = "Loss min(max(2 x / delta, -1), 1) of the least variable (the paper has one variable; dim "
                   "is ours).\nUnder normal noise of standard deviation s, dim = 1, with P the probability "
                   "that x + w lies on the ramp: the slope of the mean is 2 P / delta; a first-order sample "
                   "has the variance (2/delta)^2 P (1 - P), which grows without bound as delta goes to 0.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
