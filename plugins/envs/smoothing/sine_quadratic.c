/* SPDX-License-Identifier: Apache-2.0 */
/* sine_quadratic.c - a parabola with ripples: about 11 local minima per unit of length, which noise smooths
 * away (Suh et al., ICML 2022, figure 1). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/plain.h"

static const ds_param *const params[] = {
    PLAIN_DIM_PARAM("1"), DS_REAL("amplitude", "0.1", 0, 1e6, "", "Height of the ripples."),
    DS_REAL("omega", "70", 0, 1e6, "", "Angular frequency of the ripples."), PLAIN_PARAMS("-2", "2", "1", ""),
    NULL};

typedef struct ripples {
    plain plain; /* must be first */
    double amplitude, omega;
} ripples;

static void read_ripples(void *self, ds_param_reader *in)
{
    ripples *e = self;
    e->amplitude = ds_param_real(in, "amplitude");
    e->omega = ds_param_real(in, "omega");
    plain_read(&e->plain, in, (uint64_t)ds_param_int(in, "dim"), "x", "");
    e->plain.kit.loss_floor = -1.0000001 * (double)e->plain.kit.n * e->amplitude; /* sums are rounded */
}

static ds_status simulate_ripples(void *self, ds_eval *io)
{
    const ripples *e = self;
    double sum = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        sum += io->x[i] * io->x[i] + e->amplitude * sin(e->omega * io->x[i]);
    }
    io->loss = sum;
    return DS_OK;
}

static ds_status adjoint_of_ripples(void *self, ds_eval *io)
{
    const ripples *e = self;
    for (uint64_t i = 0; i < io->n; i++) {
        io->grad[i] = 2 * io->x[i] + e->amplitude * e->omega * cos(e->omega * io->x[i]);
    }
    return DS_OK;
}

static const ds_env_table env = {.size = sizeof(ripples),
                                 .read = read_ripples,
                                 .simulate = simulate_ripples,
                                 .adjoint = adjoint_of_ripples,
                                 PLAIN_DIM_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("sine_quadratic", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "A parabola with ripples that noise smooths away.",
    .description =
        "Loss sum x^2 + amplitude sin(omega x). Under normal noise of standard deviation s its mean is x^2 + "
        "s^2 + amplitude exp(-omega^2 s^2 / 2) sin(omega x): with s = 0.1 a parabola to 1e-11.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
