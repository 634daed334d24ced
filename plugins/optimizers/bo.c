/* SPDX-License-Identifier: Apache-2.0 */
/* bo.c - Bayesian optimization that chooses where gradient descents start; with j = 1 plain Bayesian
 * optimization. The baseline "BO" of R. Antonova et al., "Rethinking optimization with differentiable
 * simulation from a global perspective" (CoRL 2022, arXiv:2207.00167). */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/bayes/bayes_search.h"
#include "methods/gradient/descent.h"

typedef struct bo {
    bayes_search bayes;
    int64_t J;      /* evaluations of a descent */
    int64_t n_init; /* points of the initial design; 0 = none */
    descent_options steps;
    descent descent;
    double *x_n;  /* start of the present descent */
    int at_start; /* the next evaluation is the start */
    int has_design;
} bo;

/* Sim(s): evaluates a point of the present descent. */
static ds_status simulate_step(void *self_, const double *s, double *loss, double *gradient,
                               uint32_t *outcome)
{
    bo *self = self_;
    unsigned char at_start = self->at_start != 0;
    const char *start_tag = surrogate_recorded(self->bayes.model) == 0 ? "init" : "bo";
    self->at_start = 0;
    return bayes_simulate(&self->bayes, at_start ? start_tag : "descent", 1, &at_start, s, loss,
                          self->J > 1 ? gradient : NULL, outcome);
}

/* With descents, the first one begins at the start; a design comes after it. */
static int bo_begins_at_start(const void *self_)
{
    const bo *self = self_;
    return self->J > 1;
}

static ds_status bo_begin(void *self_)
{
    bo *self = self_;
    if (!bayes_take_start(&self->bayes)) {
        return DS_E_NOMEM;
    }
    self->has_design = self->bayes.kit.start.v == NULL || self->J == 1;
    return self->has_design ? bayes_design(&self->bayes, (size_t)self->n_init) : DS_OK;
}

/* Descends from x_n, then evaluates the design if that is still due. */
static ds_status descend(bo *self)
{
    self->at_start = 1;
    ds_status status = descent_run(&self->descent, self->x_n, self->J, simulate_step, self);
    if (status == DS_OK && !self->has_design) {
        self->has_design = 1;
        status = bayes_design(&self->bayes, (size_t)self->n_init);
    }
    return status;
}

static ds_status bo_search(void *self_)
{
    bo *self = self_;
    uint64_t trial = self->bayes.group = self->bayes.kit.round;
    if (bayes_refine_due(&self->bayes)) {
        return bayes_refine(&self->bayes);
    }
    /* x_n = argmin of the acquisition function */
    ds_status status = self->bayes.kit.start.evaluated
                           ? surrogate_propose(self->bayes.model, trial, self->x_n)
                           : bayes_propose(&self->bayes, trial, 0, NULL, NULL, self->x_n);
    status = status != DS_OK ? status : bayes_report(&self->bayes);
    return status != DS_OK ? status : descend(self);
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    bo *self = self_;
    const ds_problem *problem = self->bayes.kit.problem;
    blas_use_one_thread();
    self->J = ds_param_int(in, "j");
    if (self->J > 1 && !problem->has_gradient) {
        in->host->log(in->host, DS_LOG_INFO,
                      "the environment has no gradient: j = 1, no descents from the proposed points");
        self->J = 1;
    }
    self->n_init = ds_param_int(in, "n_init");
    if (self->n_init == 0 && self->J == 1) { /* without descents: 2 n + 2, at most a tenth of the budget */
        uint64_t count = 2 * problem->n + 2;
        count = problem->budget > 0 && count > problem->budget / 10 ? problem->budget / 10 : count;
        self->n_init = (int64_t)count;
    }
    bayes_read(&self->bayes, in, "polish");
    opt_check_polish(in, problem, ds_param_real(in, "polish"));
    self->steps = descent_read_options(in);
    in->status = in->status != DS_OK ? in->status : bayes_check_size(in->host, self->bayes.kit.n);
}

static int allocate(void *self_)
{
    bo *self = self_;
    ds_opt_kit *kit = &self->bayes.kit;
    self->x_n = ds_memory_doubles(&kit->memory, kit->n);
    return descent_init(&self->descent, kit->n, &self->steps) &&
           bayes_allocate(&self->bayes, (size_t)self->n_init, 1u << REFINE_ADAM);
}

static void bo_release(void *self_)
{
    bo *self = self_;
    bayes_release(&self->bayes);
    descent_free(&self->descent);
}

static const ds_param *const params[] = {
    DS_INT("j", "50", 1, 1e9, "", "Evaluations of each descent, its start included; 1 = no descents."),
    DS_INT("n_init", "0", 0, 1e6, "",
           "Points of a Sobol design evaluated first. 0: with descents none (the first one starts at a "
           "uniform random point), else 2 n + 2, at most a tenth of the budget."),
    BAYES_POLISH,
    DESCENT_PARAMS,
    SURROGATE_PARAMS,
    DS_OPT_START_PARAMS("false"),
    NULL};

static const ds_desc desc = {
    OPT_DESC("bo", "0.3.1"),
    .flags = DS_OPT_USES_BUDGET,
    .uses = DS_OPT_IDS(DS_HAS_GRADIENT),
    .summary = "Bayesian optimization that chooses the starts of gradient descents",
    .description = "At most 5000 variables. Repeats: fit a Gaussian process to all simulations so far, start "
                   "a gradient descent where the "
                   "acquisition function is least, add every point of the descent to the data.",
    .citation = OPT_ANTONOVA " (the baseline BO)",
};

static const ds_opt_table table = {
    .size = sizeof(bo),
    .no_memory_run = BAYES_NO_MEMORY,
    .read = read_parameters,
    .allocate = allocate,
    .release = bo_release,
    .begins_at_start = bo_begins_at_start,
    .begin = bo_begin,
    .round = bo_search,
};

DS_OPT_KIT_DEFINE(table, desc)
