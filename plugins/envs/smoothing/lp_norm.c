/* SPDX-License-Identifier: Apache-2.0 */
/* lp_norm.c - the norm of a long vector: the variance of zeroth-order estimates grows with the dimension (Suh
 * et al., ICML 2022). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/plain.h"

#include <string.h>

static const ds_param *const params[] = {PLAIN_DIM_PARAM("5000"),
                                         DS_REAL("p", "2", 1, 100, "", "Exponent of the norm."),
                                         PLAIN_PARAMS("-2", "2", "1", ""), NULL};

typedef struct norm {
    plain plain; /* must be first */
    double p, most, norm;
} norm;

static void read_norm(void *self, ds_param_reader *in)
{
    norm *e = self;
    e->p = ds_param_real(in, "p");
    plain_read(&e->plain, in, (uint64_t)ds_param_int(in, "dim"), "x", "");
}

/* Power of |x_i| relative to the largest one, so that it cannot overflow; avoids pow() if possible. */
static double power(double relative, double p)
{
    return p == 2 ? relative * relative : p == 1 ? relative : pow(relative, p);
}

static ds_status simulate_norm(void *self, ds_eval *io)
{
    norm *e = self;
    double sum = 0;
    e->most = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        e->most = fmax(e->most, fabs(io->x[i]));
    }
    for (uint64_t i = 0; e->most > 0 && i < io->n; i++) {
        sum += power(fabs(io->x[i]) / e->most, e->p);
    }
    e->norm = e->p == 2 ? sqrt(sum) : e->p == 1 ? sum : pow(sum, 1 / e->p);
    io->loss = e->most * e->norm;
    return DS_OK;
}

/* sign(x_i) (|x_i| / |x|)^(p - 1); at 0 a subgradient, 0. */
static ds_status adjoint_of_norm(void *self, ds_eval *io)
{
    const norm *e = self;
    memset(io->grad, 0, io->n * sizeof *io->grad);
    for (uint64_t i = 0; e->most > 0 && i < io->n; i++) {
        const double relative = fabs(io->x[i]) / e->most / e->norm;
        const double slope = e->p == 2 ? relative : e->p == 1 ? 1 : pow(relative, e->p - 1);
        io->grad[i] = io->x[i] != 0 ? copysign(slope, io->x[i]) : 0;
    }
    return DS_OK;
}

static const ds_env_table env = {.size = sizeof(norm),
                                 .read = read_norm,
                                 .simulate = simulate_norm,
                                 .adjoint = adjoint_of_norm,
                                 PLAIN_DIM_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("lp_norm", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "The norm of a long vector.",
    .description = "Loss (sum |x_i|^p)^(1/p), 5000 variables that start at 1. The variance of zeroth-order "
                   "estimates grows with the dimension; the variance of first-order estimates does not.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
