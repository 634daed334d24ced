/* SPDX-License-Identifier: Apache-2.0 */
/* leaprefine.c - LeapRefine: leaps as in BO-Leap that begin with a descent and go on while they pay, then
 * refinement of the best point by whichever local search gains most. A method of this project, after R.
 * Antonova et al., "Rethinking optimization with differentiable simulation from a global perspective"
 * (arXiv:2207.00167):
 *
 *     S = {}
 *     repeat
 *         if (1 - refine) of the budget is spent and the best point is new since the last refinement
 *             repeat turns of L-BFGS-B, Adam and CMA-ES from the best point, the next turn to the one that
 *             gained most per evaluation in its last turn, until none gains any more      (gradient/refine.h)
 *         else
 *             x_n = argmin LCB(x | Gaussian process of S)
 *             mu, l = descent of at most J evaluations from x_n
 *             while the leap has evaluations left, or holds the best point of the run and improved it by 1 %
 *                 x_k ~ N(mu, sigma^2 C), k = 1..K;  s = mean of the K/2 best
 *                 mu, l = descent of at most J evaluations from s;  update sigma, C
 *                 J = half of J, at least 2, if that descent never improved on its start, else twice, at
 *                     most j
 *         every simulated point enters S
 *
 * Three things differ from BO-Leap: a proposed point is followed downhill before anything is sampled around
 * it; descents shrink to a probe where gradients lead nowhere; and the best point is not left where a descent
 * began to oscillate.
 */
#include <diffsim/plugin.h>
#include <diffsim/helper/params.h>

#include "methods/base/blas.h"
#include "methods/base/evaluator.h"
#include "methods/bayes/surrogate.h"
#include "methods/gradient/leap.h"
#include "methods/gradient/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct leaprefine {
    const ds_host *host;
    size_t n;
    int has_gradient;
    int64_t told, refine_from; /* evaluations so far; those after which the refinement begins */

    evaluator evaluator;
    surrogate *model; /* Gaussian process of S */
    leap leap;
    refine *refine;
    uint64_t trial;
    double *x_n, *best, best_loss, refined; /* best point of the run; its loss after the last refinement */
    double *loss, *gradient;                /* rows, n */
    uint32_t *outcome;
} leaprefine;

/* Simulates points, adds them to S, and keeps the best. */
static ds_status simulate(void *self_, const char *tag, size_t count, const double *v, double *loss,
                          double *gradient, uint32_t *outcome)
{
    leaprefine *self = self_;
    size_t done;
    batch_label label = {tag, self->trial};
    gradient = self->has_gradient ? gradient : NULL;
    ds_status status = evaluator_run(&self->evaluator, label, count, v, loss, gradient, outcome, &done);
    if (done > 0 && !surrogate_add(self->model, done, v, loss, self->leap.at_start)) {
        return DS_E_NOMEM;
    }
    self->told += (int64_t)done;
    for (size_t i = 0; i < done; i++) {
        if (loss[i] < self->best_loss) {
            self->best_loss = loss[i];
            memcpy(self->best, v + i * self->n, self->n * sizeof(double));
        }
    }
    return status;
}

static int time_to_refine(const leaprefine *self)
{
    return self->refine && self->told >= self->refine_from && self->best_loss < self->refined;
}

/* One leap from x_n; it is broken off when the refinement is due. */
static ds_status take_leap(leaprefine *self)
{
    leap *l = &self->leap;
    ds_status status = DS_OK;
    double run_best = self->best_loss;
    leap_begin(l, self->x_n, self->trial, ds_random_open(self->host->seed, "sample", self->trial));
    while (status == DS_OK && (l->state != LEAP_OVER || leap_resume(l, run_best))) {
        const double *points;
        size_t count = leap_points(l, &points);
        int is_descent = l->state == LEAP_DESCENT;
        status = simulate(self, is_descent ? "descent" : "sample", count, points, self->loss,
                          is_descent ? self->gradient : NULL, self->outcome);
        if (status == DS_OK) {
            leap_tell(l, self->loss, self->gradient, self->outcome);
            if (l->state != LEAP_DESCENT && self->refine_from > 0 && time_to_refine(self)) {
                break;
            }
        }
    }
    return status;
}

static ds_status leaprefine_run(void *self_, const ds_objective *objective)
{
    leaprefine *self = self_;
    ds_status status = DS_OK;
    self->evaluator.objective = objective;
    for (self->trial = 1; status == DS_OK; self->trial++) {
        if (time_to_refine(self)) {
            self->leap.at_start = 0;
            status = refine_run(self->refine, self->best, &self->best_loss, simulate, self);
            self->refined = self->best_loss;
        } else {
            status = surrogate_propose(self->model, self->trial, self->x_n);
            status = status != DS_OK ? status : take_leap(self);
        }
    }
    if (status == DS_E_NOMEM) {
        return ds_host_fail(self->host, status, "out of memory: lower n_max or fit_max");
    }
    return status;
}

static void leaprefine_destroy(void *self_)
{
    leaprefine *self = self_;
    if (self) {
        surrogate_destroy(self->model);
        leap_free(&self->leap);
        refine_destroy(self->refine);
        evaluator_free(&self->evaluator);
        free(self->x_n);
        free(self->outcome);
        free(self);
    }
}

static ds_status read_parameters(leaprefine *self, const ds_problem *problem, leap_options *o,
                                 surrogate_options *model)
{
    ds_param_reader in = {self->host, DS_OK};
    o->K = (size_t)ds_param_int(&in, "k");
    o->mu = o->K / 2;
    o->J = self->has_gradient ? ds_param_int(&in, "j") : 0;
    o->first = ds_param_int(&in, "first") != 0;
    o->lengths = ds_param_int(&in, "trust") ? LEAP_TRUST : LEAP_FIXED;
    o->steps = ds_param_int(&in, "leap_steps");
    o->sigma = ds_param_real(&in, "sigma1");
    o->descent = descent_read_options(&in);
    *model = surrogate_read_options(&in);
    double share = ds_param_real(&in, "refine");
    self->refine_from = share > 0.0 ? (int64_t)ceil((1.0 - share) * (double)problem->budget) : INT64_MAX;
    if (in.status == DS_OK && o->steps < (int64_t)o->K + (o->J > 0)) {
        return ds_host_fail(self->host, DS_E_PARAM,
                            "leap_steps = %lld is too few for k = %zu samples and a descent: at least %lld",
                            (long long)o->steps, o->K, (long long)o->K + (o->J > 0));
    }
    return in.status;
}

static int allocate(leaprefine *self, const ds_problem *problem, const leap_options *o,
                    const surrogate_options *model)
{
    static const unsigned all = 1u << REFINE_LBFGSB | 1u << REFINE_ADAM | 1u << REFINE_SAMPLES;
    size_t n = self->n, rows = o->K > refine_rows(n) ? o->K : refine_rows(n);
    self->x_n = calloc(3 * n + rows, sizeof(double));
    self->outcome = calloc(rows, sizeof(*self->outcome));
    self->model = surrogate_create(self->host, problem, model);
    self->refine = refine_create(n, self->has_gradient ? all : 1u << REFINE_SAMPLES, self->host->seed);
    if (!self->x_n || !self->outcome || !self->model || !self->refine) {
        return 0;
    }
    self->best = self->x_n + n;
    self->gradient = self->best + n;
    self->loss = self->gradient + n;
    return leap_init(&self->leap, n, o) && evaluator_init(&self->evaluator, problem, rows);
}

static ds_status leaprefine_create(const ds_host *host, const ds_problem *problem, void **out)
{
    blas_use_one_thread();
    leap_options o = {0};
    surrogate_options model;
    leaprefine *self = calloc(1, sizeof(*self));
    if (!self) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    self->host = host;
    self->n = (size_t)problem->n;
    self->has_gradient = problem->has_gradient != 0;
    self->best_loss = self->refined = INFINITY;
    ds_status status = read_parameters(self, problem, &o, &model);
    if (status == DS_OK && !allocate(self, problem, &o, &model)) {
        status = ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    if (status != DS_OK) {
        leaprefine_destroy(self);
        return status;
    }
    *out = self;
    return DS_OK;
}

static const ds_param *const params[] = {
    DS_REAL(
        "refine", "0.3", 0, 1, "",
        "Share of the budget kept for the refinement of the best point; 0 = no refinement. Without a budget, "
        "every leap that improved the best point is followed by one."),
    DS_INT("k", "10", 2, 1e5, "", "Samples of a generation; the mean of the better half starts the descent."),
    DS_INT("j", "10", 1, 1e6, "", "Most evaluations of a descent in a leap."),
    DS_INT("leap_steps", "100", 1, 1e9, "",
           "Evaluations of a leap; one that improves the best point of the run goes on for as many more."),
    DS_REAL("sigma1", "0.3", 1e-6, 1e3, "",
            "Standard deviation of the first samples of a leap, where the box is [-1, 1]."),
    DS_BOOL("first", "true", "A leap begins with a descent from the proposed point, before any samples."),
    DS_BOOL("trust", "true", "Descents get shorter while they do not improve on their starts."),
    DESCENT_PARAMS,
    SURROGATE_PARAMS,
    NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_GRADIENT | DS_OPT_USES_BUDGET,
    .id = "leaprefine",
    .version = "0.1",
    .license = "Apache-2.0",
    .summary = "LeapRefine: BO-Leap with descents first, leaps that go on while they pay, and refinement",
    .description =
        "Repeats leaps like those of boleap, from points that a Gaussian process proposes, but each "
        "begins with a gradient descent. For the last part of the budget L-BFGS-B, Adam and CMA-ES take "
        "turns at the best point, each turn given to the one that gained most lately; when none gains "
        "any more, leaps begin again.",
    .citation =
        "This project; after R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with "
        "differentiable simulation from a global perspective. CoRL 2022, arXiv:2207.00167",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = leaprefine_create,
    .destroy = leaprefine_destroy,
    .run = leaprefine_run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
