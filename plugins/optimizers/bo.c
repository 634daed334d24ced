/* SPDX-License-Identifier: Apache-2.0 */
/* bo.c - Bayesian optimization that chooses where gradient descents start; with j = 1 it is Bayesian
 * optimization alone. The baseline "BO" of R. Antonova et al., "Rethinking optimization with differentiable
 * simulation from a global perspective" (CoRL 2022, arXiv:2207.00167). */
#include <diffsim/plugin.h>
#include <diffsim/helper/params.h>

#include "methods/base/blas.h"
#include "methods/base/evaluator.h"
#include "methods/bayes/surrogate.h"
#include "methods/gradient/descent.h"
#include "methods/gradient/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bo {
    const ds_host *host;
    const ds_problem *problem;
    int64_t J;      /* evaluations of a descent */
    int64_t n_init; /* points of the initial design; 0 = none */
    evaluator evaluator;
    surrogate *model;
    descent descent;
    double *x_n; /* start of the present descent */
    uint64_t trial;
    int at_start;              /* the next evaluation is the start */
    int64_t told, polish_from; /* evaluations; those after which the polish begins, negative = never */
    double *best, best_loss, polished; /* the best point; its loss after the last polish */
    refine *polish;
} bo;

/* Simulates points and adds them to the data of the model; is_start marks the first as the start of
 * a search. */
static ds_status simulate(bo *self, batch_label label, size_t count, int is_start, const double *v,
                          double *loss, double *gradient, uint32_t *outcome)
{
    size_t done;
    ds_status status = evaluator_run(&self->evaluator, label, count, v, loss, gradient, outcome, &done);
    self->told += (int64_t)done;
    for (size_t i = 0; i < done; i++) {
        if (loss[i] < self->best_loss) {
            self->best_loss = loss[i];
            memcpy(self->best, v + i * self->evaluator.n, self->evaluator.n * sizeof(double));
        }
    }
    return done == 0 || surrogate_add(self->model, done, v, loss, is_start) ? status : DS_E_NOMEM;
}

/* Sim(s): evaluates a point of the present descent. */
static ds_status simulate_step(void *self_, const double *s, double *loss, double *gradient,
                               uint32_t *outcome)
{
    bo *self = self_;
    int random_start = surrogate_recorded(self->model) == 0, at_start = self->at_start;
    batch_label label = {at_start ? (random_start ? "init" : "bo") : "descent", self->trial};
    self->at_start = 0;
    return simulate(self, label, 1, at_start, s, loss, self->J > 1 ? gradient : NULL, outcome);
}

static ds_status simulate_polish(void *self_, const char *tag, size_t count, const double *v, double *loss,
                                 double *gradient, uint32_t *outcome)
{
    bo *self = self_;
    return simulate(self, (batch_label){tag, self->trial}, count, 0, v, loss, gradient, outcome);
}

/* Evaluates the initial design in one batch. */
static ds_status evaluate_design(bo *self)
{
    size_t count = (size_t)self->n_init;
    double *v = malloc(count * (self->evaluator.n + 1) * sizeof(double));
    if (!v) {
        return DS_E_NOMEM;
    }
    surrogate_design(self->model, count, v);
    ds_status status =
        simulate(self, (batch_label){"init", 0}, count, 0, v, v + count * self->evaluator.n, NULL, NULL);
    free(v);
    return status;
}

static ds_status bo_run(void *self_, const ds_objective *objective)
{
    bo *self = self_;
    self->evaluator.objective = objective;
    ds_status status = self->n_init > 1 ? evaluate_design(self) : DS_OK;
    for (self->trial = 1; status == DS_OK; self->trial++) {
        if (self->polish && self->told >= self->polish_from && self->best_loss < self->polished) {
            status = refine_run(self->polish, self->best, &self->best_loss, simulate_polish, self);
            self->polished = self->best_loss;
            continue;
        }
        /* x_n = argmin of the acquisition function */
        status = surrogate_propose(self->model, self->trial, self->x_n);
        if (status == DS_OK) {
            self->at_start = 1;
            status = descent_run(&self->descent, self->x_n, self->J, simulate_step, self);
        }
    }
    if (status == DS_E_NOMEM) {
        return ds_host_fail(self->host, status, "out of memory: lower n_max or fit_max");
    }
    return status;
}

static void bo_destroy(void *self_)
{
    bo *self = self_;
    if (self) {
        surrogate_destroy(self->model);
        descent_free(&self->descent);
        refine_destroy(self->polish);
        evaluator_free(&self->evaluator);
        free(self->x_n);
        free(self);
    }
}

static ds_status bo_create(const ds_host *host, const ds_problem *problem, void **out)
{
    blas_use_one_thread();
    bo *self = calloc(1, sizeof(*self));
    if (!self) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    self->host = host;
    self->problem = problem;
    ds_param_reader in = {host, DS_OK};
    self->J = ds_param_int(&in, "j");
    if (self->J > 1 && !problem->has_gradient) {
        host->log(host, DS_LOG_INFO,
                  "the environment has no gradient: j = 1, no descents from the proposed points");
        self->J = 1;
    }
    self->n_init = ds_param_int(&in, "n_init");
    if (self->n_init == 0 && self->J == 1) { /* without descents: 2 n + 2, at most a tenth of the budget */
        uint64_t count = 2 * problem->n + 2;
        count = problem->budget > 0 && count > problem->budget / 10 ? problem->budget / 10 : count;
        self->n_init = (int64_t)count;
    }
    double polish = ds_param_real(&in, "polish");
    self->polish_from = polish > 0.0 ? (int64_t)ceil((1.0 - polish) * (double)problem->budget) : -1;
    if (in.status == DS_OK && polish > 0.0 && problem->budget == 0) {
        in.status = ds_host_fail(host, DS_E_PARAM,
                                 "polish is a share of the budget: give the run a budget, or polish = 0");
    }
    surrogate_options model = surrogate_read_options(&in);
    descent_options steps = descent_read_options(&in);
    if (in.status != DS_OK) {
        free(self);
        return in.status;
    }
    self->model = surrogate_create(host, problem, &model);
    self->x_n = calloc(2 * (size_t)problem->n, sizeof(double));
    self->best = self->x_n ? self->x_n + problem->n : NULL;
    self->best_loss = self->polished = INFINITY;
    size_t rows = refine_rows((size_t)problem->n);
    rows = self->n_init > (int64_t)rows ? (size_t)self->n_init : rows;
    if (polish > 0.0) {
        unsigned arm = problem->has_gradient ? 1u << REFINE_ADAM : 1u << REFINE_SAMPLES;
        self->polish = refine_create((size_t)problem->n, arm, host->seed);
    }
    if (!descent_init(&self->descent, (size_t)problem->n, &steps) ||
        !evaluator_init(&self->evaluator, problem, rows) || !self->model || !self->x_n ||
        (polish > 0.0 && !self->polish)) {
        bo_destroy(self);
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    *out = self;
    return DS_OK;
}

static const ds_param *const params[] = {
    DS_INT("j", "50", 1, 1e9, "", "Evaluations of each descent, its start included; 1 = no descents."),
    DS_INT(
        "n_init", "0", 0, 1e6, "",
        "Points of a Sobol design evaluated first. 0: none with descents (the first one starts at a uniform "
        "random point), else 2 n + 2, at most a tenth of the budget."),
    DS_REAL("polish", "0", 0, 1, "",
            "Share of the budget at the end for ever more careful descents from the best point; without "
            "gradient, for CMA-ES around it."),
    DESCENT_PARAMS,
    SURROGATE_PARAMS,
    NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_GRADIENT | DS_OPT_USES_BUDGET,
    .id = "bo",
    .version = "0.1.0",
    .license = "Apache-2.0",
    .summary = "Bayesian optimization that chooses the starts of gradient descents",
    .description =
        "Repeats: fit a Gaussian process to all simulations so far, start a gradient descent where the "
        "acquisition function is least, add every point of the descent to the data.",
    .citation =
        "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "
        "simulation from a global perspective. CoRL 2022, arXiv:2207.00167 (the baseline BO)",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = bo_create,
    .destroy = bo_destroy,
    .run = bo_run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
