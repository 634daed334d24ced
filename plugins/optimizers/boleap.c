/* SPDX-License-Identifier: Apache-2.0 */
/* boleap.c - BO-Leap: Bayesian optimization proposes where to search, covariance matrix adaptation and
 * gradient descent search there. Algorithm 1 of R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg, "Rethinking
 * optimization with differentiable simulation from a global perspective" (CoRL 2022, arXiv:2207.00167); names
 * follow it.
 *
 * What the paper leaves open is decided as follows. A leap ends after leap_steps simulations, samples and
 * descent steps together; a generation begins only if its samples and one descent step fit. Everything
 * happens in [-1, 1]^n. The mean of the next generation is the best point of the descent, while the paths of
 * the adaptation see the mean of the best samples: their length then still tells selection from chance.
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

typedef struct boleap {
    const ds_host *host;
    size_t n, leaps;
    int64_t n_init, polish_from; /* evaluations after which the polish begins; negative = never */
    int resume, has_gradient, has_budget;

    evaluator evaluator;
    surrogate *model; /* GP posterior over S, all points simulated so far */
    surrogate_options model_options;
    leap_options leap_options;
    leap *leap;                        /* those that advance in step */
    uint64_t begun;                    /* n of the paper: leaps begun so far */
    int64_t told;                      /* evaluations so far */
    double run_best;                   /* of the leaps that have ended */
    double *best, best_loss, polished; /* the best point of the run; its loss after the last polish */
    refine *polish;

    size_t rows;
    double *v, *loss, *gradient, *x_n; /* rows x n, rows, leaps x n, n */
    uint32_t *outcome;
    unsigned char *start; /* rows: proposed by the GP */
    double *fantasy;      /* leaps x n means of the leaps in progress, and their best losses */
} boleap;

/* Simulates `count` points and adds them to S; `start` marks those that the GP proposed, NULL = none. */
static ds_status simulate(boleap *self, batch_label label, size_t count, const unsigned char *start,
                          const double *v, double *loss, double *gradient, uint32_t *outcome)
{
    size_t done;
    ds_status status = evaluator_run(&self->evaluator, label, count, v, loss, gradient, outcome, &done);
    self->told += (int64_t)done;
    for (size_t i = 0; i < done; i++) {
        if (!surrogate_add(self->model, 1, v + i * self->n, loss + i, start != NULL && start[i])) {
            return DS_E_NOMEM;
        }
        if (loss[i] < self->best_loss) {
            self->best_loss = loss[i];
            memcpy(self->best, v + i * self->n, self->n * sizeof(double));
        }
    }
    return status;
}

static ds_status simulate_polish(void *self_, const char *tag, size_t count, const double *v, double *loss,
                                 double *gradient, uint32_t *outcome)
{
    boleap *self = self_;
    return simulate(self, (batch_label){tag, self->begun}, count, NULL, v, loss, gradient, outcome);
}

/* x_n = argmin LCB(x | GP); other leaps in progress count as if their means had their best losses. */
static ds_status begin_leap(boleap *self, leap *next)
{
    size_t fantasies = 0;
    double *loss = self->fantasy + self->leaps * self->n;
    for (size_t i = 0; i < self->leaps; i++) {
        const leap *l = &self->leap[i];
        if (l->state != LEAP_OVER && isfinite(l->best)) {
            memcpy(self->fantasy + fantasies * self->n, l->mean, self->n * sizeof(double));
            loss[fantasies++] = l->best;
        }
    }
    uint64_t number = ++self->begun;
    ds_status status =
        surrogate_propose_beside(self->model, number, fantasies, self->fantasy, loss, self->x_n);
    if (status == DS_OK) {
        leap_begin(next, self->x_n, number, ds_random_open(self->host->seed, "sample", number));
    }
    return status;
}

/* One batch: the next steps of all leaps that are in a descent, or else the samples of all leaps. So the
 * generations of parallel leaps stay in step. */
static ds_status advance(boleap *self)
{
    int state = LEAP_SAMPLES;
    for (size_t i = 0; i < self->leaps; i++) {
        state = self->leap[i].state == LEAP_DESCENT ? LEAP_DESCENT : state;
    }
    size_t count = 0;
    uint64_t number = UINT64_MAX;
    for (size_t i = 0; i < self->leaps; i++) {
        leap *l = &self->leap[i];
        if (l->state == state) {
            const double *points;
            size_t rows = leap_points(l, &points);
            memcpy(self->v + count * self->n, points, rows * self->n * sizeof(double));
            memset(self->start + count, 0, rows);
            self->start[count] = l->at_start != 0;
            count += rows;
            number = l->number < number ? l->number : number;
        }
    }
    batch_label label = {state == LEAP_SAMPLES ? "sample" : "descent", number};
    double *gradient = state == LEAP_DESCENT && self->has_gradient ? self->gradient : NULL;
    ds_status status =
        simulate(self, label, count, self->start, self->v, self->loss, gradient, self->outcome);
    if (status != DS_OK) {
        return status;
    }
    size_t row = 0;
    for (size_t i = 0; i < self->leaps; i++) {
        leap *l = &self->leap[i];
        if (l->state == state) {
            const double *points;
            size_t rows = leap_points(l, &points);
            leap_tell(l, self->loss + row, self->gradient + row * self->n, self->outcome + row);
            row += rows;
        }
    }
    return DS_OK;
}

/* Begins a leap in place of every one that has ended. */
static ds_status begin_leaps(boleap *self)
{
    ds_status status = DS_OK;
    for (size_t i = 0; i < self->leaps && status == DS_OK; i++) {
        leap *l = &self->leap[i];
        if (l->state == LEAP_OVER && !(self->resume && l->number > 0 && leap_resume(l, self->run_best))) {
            self->run_best = l->number > 0 ? fmin(self->run_best, l->best) : self->run_best;
            status = begin_leap(self, l);
        }
    }
    return status;
}

static ds_status boleap_run(void *self_, const ds_objective *objective)
{
    boleap *self = self_;
    ds_status status = DS_OK;
    self->evaluator.objective = objective;
    if (self->n_init > 1) {
        surrogate_design(self->model, (size_t)self->n_init, self->v);
        status = simulate(self, (batch_label){"init", 0}, (size_t)self->n_init, NULL, self->v, self->loss,
                          NULL, NULL);
    }
    while (status == DS_OK) {
        if (self->polish && self->told >= self->polish_from && self->best_loss < self->polished) {
            status = refine_run(self->polish, self->best, &self->best_loss, simulate_polish, self);
            self->polished = self->best_loss;
            continue;
        }
        status = begin_leaps(self);
        status = status != DS_OK ? status : advance(self);
    }
    if (status == DS_E_NOMEM) {
        return ds_host_fail(self->host, status, "out of memory: lower n_max or fit_max");
    }
    return status;
}

static void boleap_destroy(void *self_)
{
    boleap *self = self_;
    if (self) {
        for (size_t i = 0; self->leap && i < self->leaps; i++) {
            leap_free(&self->leap[i]);
        }
        free(self->leap);
        surrogate_destroy(self->model);
        refine_destroy(self->polish);
        evaluator_free(&self->evaluator);
        free(self->v);
        free(self->outcome);
        free(self->start);
        free(self);
    }
}

/* Relations between parameters that the schema cannot express. */
static ds_status check_parameters(const boleap *self)
{
    const leap_options *o = &self->leap_options;
    long long least = (long long)o->K + (o->J > 0);
    if (o->K > 0 && o->mu > o->K) {
        return ds_host_fail(self->host, DS_E_PARAM,
                            "mu = %zu is more than k = %zu: choose at most k of the k samples", o->mu, o->K);
    }
    if (o->K == 0 && o->J == 0) {
        return ds_host_fail(self->host, DS_E_PARAM, "k = 0 and j = 0 leave nothing to do: raise one of them");
    }
    if (o->steps < least) {
        return ds_host_fail(self->host, DS_E_PARAM,
                            "leap_steps = %lld is too few for k = %zu samples%s: at least %lld",
                            (long long)o->steps, o->K, o->J > 0 ? " and one descent step" : "", least);
    }
    if (self->polish_from >= 0 && !self->has_budget) {
        return ds_host_fail(self->host, DS_E_PARAM,
                            "polish is a share of the budget: give the run a budget, or polish = 0");
    }
    return DS_OK;
}

static void read_parameters(boleap *self, ds_param_reader *in, const ds_problem *problem)
{
    const ds_host *host = in->host;
    leap_options *o = &self->leap_options;
    self->host = host;
    self->n = (size_t)problem->n;
    o->K = (size_t)ds_param_int(in, "k");
    o->J = ds_param_int(in, "j");
    self->has_gradient = problem->has_gradient != 0;
    self->has_budget = problem->budget > 0;
    if (!self->has_gradient && o->K > 0 && o->J > 0) {
        host->log(host, DS_LOG_INFO, "the environment has no gradient: j = 0, leaps without descents");
        o->J = 0;
    } else if (!self->has_gradient && o->K == 0 && o->J > 1) {
        host->log(host, DS_LOG_INFO,
                  "the environment has no gradient: j = 1, no descents from the proposed points");
        o->J = 1;
    }
    o->steps = ds_param_int(in, "leap_steps");
    if (o->K == 0 && o->steps < o->J) {
        o->steps = o->J; /* the leap is its descent */
    }
    self->leaps = (size_t)ds_param_int(in, "leaps");
    self->n_init = ds_param_int(in, "n_init");
    o->sigma = ds_param_real(in, "sigma1");
    if (o->sigma == 0.0) {
        o->sigma = ds_param_int(in, "profile") == 1 ? 1.0 : 0.3;
    }
    o->path = (int)ds_param_int(in, "path");
    o->mean = (int)ds_param_int(in, "mean");
    o->bounds = (int)ds_param_int(in, "bounds");
    o->mu = (size_t)ds_param_int(in, "mu");
    o->weights = (int)ds_param_int(in, "weights");
    o->update = (int)ds_param_int(in, "update");
    self->resume = ds_param_int(in, "resume") != 0;
    o->lengths = self->resume ? LEAP_RIVAL : LEAP_FIXED;
    double polish = ds_param_real(in, "polish");
    self->polish_from = polish > 0.0 ? (int64_t)ceil((1.0 - polish) * (double)problem->budget) : -1;
    self->model_options = surrogate_read_options(in);
    o->descent = descent_read_options(in);
    self->run_best = self->best_loss = self->polished = INFINITY;
}

static int allocate(boleap *self, const ds_problem *problem)
{
    size_t n = self->n, K = self->leap_options.K, samples = self->leaps * (K > 0 ? K : 1);
    self->rows = (size_t)self->n_init > samples ? (size_t)self->n_init : samples;
    size_t most = self->rows > refine_rows(n) ? self->rows : refine_rows(n);
    self->v = calloc(self->rows * (n + 1) + (2 * self->leaps + 2) * n + self->leaps, sizeof(double));
    self->outcome = calloc(self->rows, sizeof(*self->outcome));
    self->start = calloc(self->rows, 1);
    self->leap = calloc(self->leaps, sizeof(*self->leap));
    self->model = surrogate_create(self->host, problem, &self->model_options);
    if (!self->v || !self->outcome || !self->start || !self->leap || !self->model ||
        !evaluator_init(&self->evaluator, problem, most)) {
        return 0;
    }
    self->loss = self->v + self->rows * n;
    self->gradient = self->loss + self->rows;
    self->x_n = self->gradient + self->leaps * n;
    self->best = self->x_n + n;
    self->fantasy = self->best + n;
    for (size_t i = 0; i < self->leaps; i++) {
        if (!leap_init(&self->leap[i], n, &self->leap_options)) {
            return 0;
        }
    }
    unsigned arms = self->has_gradient ? 1u << REFINE_ADAM : 1u << REFINE_SAMPLES;
    return self->polish_from < 0 || (self->polish = refine_create(n, arms, self->host->seed)) != NULL;
}

static ds_status boleap_create(const ds_host *host, const ds_problem *problem, void **out)
{
    blas_use_one_thread();
    boleap *self = calloc(1, sizeof(*self));
    if (!self) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    ds_param_reader in = {host, DS_OK};
    read_parameters(self, &in, problem);
    ds_status status = in.status != DS_OK ? in.status : check_parameters(self);
    if (status == DS_OK && !allocate(self, problem)) {
        status = ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    if (status != DS_OK) {
        boleap_destroy(self);
        return status;
    }
    *out = self;
    return DS_OK;
}

static const char *const profiles[] = {"default", "paper", NULL};
static const char *const weights[] = {"equal", "log", NULL};
static const char *const updates[] = {"2001", "tutorial", NULL};
static const char *const paths[] = {"samples", "moved", NULL};
static const char *const means[] = {"best", "last", NULL};
static const char *const bounds[] = {"clip", "resample", NULL};

static const ds_param *const params[] = {
    DS_ENUM("profile", "default", profiles,
            "Width of the first generation of a leap: 0.3, or 1.0 as in the paper."),
    DS_INT("k", "10", 0, 1e5, "", "Samples of a generation. 0: none, a leap is one descent (the method bo)."),
    DS_INT("mu", "5", 1, 1e5, "", "Best samples whose mean starts the descent."),
    DS_ENUM("weights", "equal", weights, "Weights of the best samples in their mean."),
    DS_INT("j", "10", 0, 1e6, "", "Most evaluations of a descent; 0 = no descents."),
    DS_INT("leap_steps", "100", 1, 1e9, "", "Evaluations of a leap, samples and descents together."),
    DS_REAL("sigma1", "0", 0, 1e3, "",
            "Standard deviation of the first samples of a leap, where the box is [-1, 1]; 0 = as the profile "
            "says."),
    DS_INT("n_init", "1", 1, 1e6, "",
           "1: the first leap starts at a uniform random point. More: a Sobol design of so many points is "
           "evaluated before the first leap."),
    DS_ENUM("update", "2001", updates,
            "Adaptation of the covariance: rank one (Hansen, Ostermeier 2001), or rank mu with negative "
            "weights."),
    DS_ENUM("path", "samples", paths,
            "What the evolution paths follow: the mean of the best samples, or the mean as moved by the "
            "descent."),
    DS_ENUM("mean", "best", means, "Point of the descent that becomes the next mean."),
    DS_ENUM("bounds", "clip", bounds, "Samples outside the box: clipped, or drawn again up to 100 times."),
    DS_BOOL(
        "resume", "false",
        "Continue the best leap while it improves by more than 1 % per leap_steps, and adapt the descents."),
    DS_INT("leaps", "1", 1, 1000, "",
           "Leaps that advance in step, so that k times as many samples, or as many descent steps, are "
           "evaluated in parallel."),
    DS_REAL("polish", "0", 0, 1, "",
            "Share of the budget at the end for ever more careful descents from the best point; without "
            "gradient, for CMA-ES around it."),
    DESCENT_PARAMS,
    SURROGATE_PARAMS,
    NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_GRADIENT | DS_OPT_USES_BUDGET, /* polish */
    .id = "boleap",
    .version = "0.1.0",
    .license = "Apache-2.0",
    .summary = "BO-Leap: Bayesian optimization over leaps of CMA-ES and gradient descent",
    .description =
        "Repeats: fit a Gaussian process to all simulations so far; start a leap where the acquisition "
        "function is least; in the leap, generations of samples, each followed by a gradient descent from "
        "the mean of the best ones, which moves the mean of the next generation.",
    .citation =
        "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "
        "simulation from a global perspective. CoRL 2022, arXiv:2207.00167",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = boleap_create,
    .destroy = boleap_destroy,
    .run = boleap_run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
