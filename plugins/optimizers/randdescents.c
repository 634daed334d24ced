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
 * With several arms as many descents advance in step (gradient/descent.h). The paper leaves step rule
 * and length open.
 */
#include "methods/base/own.h"
#include "methods/gradient/descent.h"

typedef struct randdescents {
    multistart starts;
    int64_t J; /* evaluations of a descent */
    descent_options steps;
    descent *arm;
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

static void read_parameters(void *self_, ds_param_reader *in)
{
    static const local_search gradient_descent = {randdescents_begin, randdescents_point, randdescents_tell};
    randdescents *self = self_;
    self->J = ds_param_int(in, "j");
    self->steps = descent_read_options(in);
    multistart_read(&self->starts, in, &gradient_descent);
}

static int allocate(void *self_)
{
    randdescents *self = self_;
    ds_opt_kit *kit = &self->starts.kit;
    self->arm = ds_memory_take(&kit->memory, self->starts.arms, sizeof *self->arm);
    int made = multistart_allocate(&self->starts);
    for (size_t arm = 0; made && arm < self->starts.arms; arm++) {
        made = descent_init(&self->arm[arm], kit->n, &self->steps);
    }
    return made;
}

static void randdescents_release(void *self_)
{
    randdescents *self = self_;
    for (size_t arm = 0; self->arm && arm < self->starts.arms; arm++) {
        descent_free(&self->arm[arm]);
    }
}

static const ds_param *const params[] = {
    DS_INT("j", "50", 1, 1e9, "", "Most evaluations of each descent, its start included."), DESCENT_PARAMS,
    MULTISTART_PARAMS, NULL};

static const ds_desc desc = {
    OPT_DESC("randdescents", "0.3.0"),
    .needs = DS_OPT_IDS(DS_HAS_GRADIENT),
    .summary = "Gradient descents from random starts",
    .description = "Repeats: draw a start uniformly from the box; follow the negative gradient from there, "
                   "clamped to the box, for at most j evaluations; stop earlier when the loss has failed to "
                   "fall more than `patience` times in a row, at a zero gradient, or where the simulation "
                   "fails.\nWith arms > 1 as many descents advance in step and are simulated in parallel.",
    .citation = OPT_ANTONOVA " (the baseline RandDescents)",
};

static const ds_opt_table table = {
    .size = sizeof(randdescents),
    .no_memory = "out of memory: lower arms",
    .read = read_parameters,
    .allocate = allocate,
    .release = randdescents_release,
    .begins_at_start = ds_opt_kit_begins_at_start,
    .begin = multistart_begin,
    .round = multistart_round,
};

DS_OPT_KIT_DEFINE(table, desc)
