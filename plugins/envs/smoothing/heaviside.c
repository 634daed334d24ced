/* SPDX-License-Identifier: Apache-2.0 */
/* heaviside.c - a step: 1 if the variables are not negative, else 0. Its gradient is 0 almost everywhere,
 * although its mean under noise has a slope (Suh et al., ICML 2022, section 3). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/plain.h"

#include <string.h>

enum { ALL, ANY };
static const char *const rules[] = {"all", "any", NULL};

static const ds_param *const params[] = {
    PLAIN_DIM_PARAM("1"),
    DS_ENUM("rule", "all", rules, "The loss is 1 if all variables, or any of them, are at least 0."),
    PLAIN_PARAMS("-2", "2", "1", ""), NULL};

typedef struct heaviside {
    plain plain; /* must be first */
    int64_t rule;
} heaviside;

static void read_heaviside(void *self, ds_param_reader *in)
{
    heaviside *e = self;
    e->rule = ds_param_int(in, "rule");
    plain_read(&e->plain, in, (uint64_t)ds_param_int(in, "dim"), "x", "");
}

static ds_status simulate_heaviside(void *self, ds_eval *io)
{
    const heaviside *e = self;
    uint64_t high = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        high += io->x[i] >= 0;
    }
    io->loss = e->rule == ALL ? high == io->n : high > 0;
    return DS_OK;
}

static ds_status adjoint_of_heaviside(void *self, ds_eval *io)
{
    (void)self;
    memset(io->grad, 0, io->n * sizeof *io->grad);
    return DS_OK;
}

static const ds_env_table env = {.size = sizeof(heaviside),
                                 .read = read_heaviside,
                                 .simulate = simulate_heaviside,
                                 .adjoint = adjoint_of_heaviside,
                                 PLAIN_DIM_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("heaviside", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "A step: its gradient is 0 everywhere, but the gradient of its mean under noise is not.",
    .description =
        "Loss 1 if all (rule = any: some) variables are at least 0, else 0. The gradient is exactly 0 "
        "wherever it exists.\nUnder normal noise of standard deviation s, dim = 1: mean Phi(x/s), slope "
        "phi(x/s)/s. First-order estimates, always 0, miss this slope; a zeroth-order sample (f(x + w) - "
        "f(x)) w / s^2 has the variance [Phi(-|a|) + |a| phi(a) - phi(a)^2] / s^2 with a = x/s.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
