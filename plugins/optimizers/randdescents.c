/* SPDX-License-Identifier: Apache-2.0 */
/* randdescents.c - gradient descents from uniformly drawn starts, the baseline "RandDescents" of R. Antonova
 * et al., "Rethinking optimization with differentiable simulation from a global perspective" (CoRL 2022,
 * arXiv:2207.00167):
 *
 *     repeat
 *         s_1 ~ Uniform[-1, 1]^n
 *         for j = 1, ..., J
 *             l_j, g_j = Sim(s_j)
 *             stop if the loss has failed to fall more than `patience` times in a row
 *             s_{j+1} = clamp(s_j - step(g_j))
 *
 * With several arms as many descents advance in step (gradient/multistart.h). The paper leaves step rule
 * and length open.
 */
#include <diffsim/plugin.h>
#include <diffsim/helper/params.h>

#include "methods/gradient/descent.h"
#include "methods/gradient/multistart.h"

#include <stdlib.h>

typedef struct randdescents {
    int64_t J; /* evaluations of a descent */
    descent_options steps;
    descent *arm;
    multistart starts;
} randdescents;

static void randdescents_begin(void *self_, size_t arm, const double *s_1)
{
    randdescents *self = self_;
    descent_begin(&self->arm[arm], s_1, self->J);
}

static const double *randdescents_point(void *self_, size_t arm)
{
    const randdescents *self = self_;
    return self->arm[arm].s;
}

static int randdescents_tell(void *self_, size_t arm, double loss, const double *gradient, uint32_t outcome)
{
    randdescents *self = self_;
    return descent_tell(&self->arm[arm], loss, gradient, outcome);
}

static ds_status randdescents_run(void *self_, const ds_objective *objective)
{
    static const local_search gradient_descent = {randdescents_begin, randdescents_point, randdescents_tell};
    randdescents *self = self_;
    return multistart_run(&self->starts, objective, &gradient_descent, self);
}

static void randdescents_destroy(void *self_)
{
    randdescents *self = self_;
    if (self) {
        for (size_t arm = 0; self->arm && arm < self->starts.arms; arm++) {
            descent_free(&self->arm[arm]);
        }
        free(self->arm);
        multistart_free(&self->starts);
        free(self);
    }
}

static ds_status allocate(randdescents *self, const ds_host *host, const ds_problem *problem)
{
    self->arm = calloc(self->starts.arms, sizeof(*self->arm));
    int ok = self->arm != NULL;
    for (size_t arm = 0; ok && arm < self->starts.arms; arm++) {
        ok = descent_init(&self->arm[arm], (size_t)problem->n, &self->steps);
    }
    if (!ok) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory: lower arms");
    }
    return DS_OK;
}

static ds_status randdescents_create(const ds_host *host, const ds_problem *problem, void **out)
{
    ds_status status = multistart_need_gradient(host, problem, "randdescents");
    if (status != DS_OK) {
        return status;
    }
    randdescents *self = calloc(1, sizeof(*self));
    if (!self) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    ds_param_reader in = {host, DS_OK};
    self->J = ds_param_int(&in, "j");
    self->steps = descent_read_options(&in);
    status = multistart_init(&self->starts, &in, problem);
    status = status != DS_OK ? status : allocate(self, host, problem);
    if (status != DS_OK) {
        randdescents_destroy(self);
        return status;
    }
    *out = self;
    return DS_OK;
}

static const ds_param *const params[] = {
    DS_INT("j", "50", 1, 1e9, "", "Most evaluations of each descent, its start included."), DESCENT_PARAMS,
    MULTISTART_PARAMS, NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_GRADIENT | DS_OPT_NEEDS_GRADIENT,
    .id = "randdescents",
    .version = "0.1.0",
    .license = "Apache-2.0",
    .summary = "Gradient descents from random starts",
    .description = "Repeats: draw a start uniformly from the box; follow the negative gradient from there, "
                   "clamped to the box, for at most j evaluations; stop earlier once the loss has failed to "
                   "fall more than `patience` times in a row, at a zero gradient, or where the simulation "
                   "fails.\n"
                   "With arms > 1 as many descents advance in step and are simulated in parallel.",
    .citation =
        "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "
        "simulation from a global perspective. CoRL 2022, arXiv:2207.00167 (the baseline RandDescents)",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = randdescents_create,
    .destroy = randdescents_destroy,
    .run = randdescents_run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
