/* SPDX-License-Identifier: Apache-2.0 */
/* boleap.c - BO-Leap: Bayesian optimization proposes where to search, covariance matrix adaptation and
 * gradient descent search there. Algorithm 1 of R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg, "Rethinking
 * optimization with differentiable simulation from a global perspective" (CoRL 2022, arXiv:2207.00167); names
 * follow it.
 *
 * The paper leaves some points open. Here a leap ends after leap_steps simulations, samples and descent steps
 * together; a generation begins only if its samples and one descent step fit. Everything happens in [-1,
 * 1]^n. The mean of the next generation is the best point of the descent, but the paths of the adaptation
 * follow the mean of the best samples: their length then still tells selection from chance. */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/bayes/bayes_search.h"
#include "methods/gradient/leap.h"

#include <math.h>
#include <string.h>

typedef struct boleap {
    bayes_search bayes; /* GP posterior over S, all points simulated so far */
    size_t n, leaps;
    int64_t n_init;
    int resume;

    leap_options leap_options;
    leap *leap;      /* leaps that advance in step */
    uint64_t begun;  /* n of the paper: leaps started so far */
    double run_best; /* best loss of the leaps that have ended */

    double *v, *loss, *gradient, *x_n; /* samples x n, samples, leaps x n, n */
    uint32_t *outcome;
    unsigned char *start;   /* samples: proposed by the GP */
    double *mean, *at_mean; /* leaps x n means of the leaps in progress, and their best losses */
} boleap;

/* x_n = argmin LCB(x | GP). The model counts the means of other leaps in progress with their best losses;
 * leaps that have only begun count with about the mean of all losses. */
static ds_status begin_leap(boleap *self, leap *next)
{
    size_t fantasies = 0;
    for (size_t i = 0; i < self->leaps; i++) {
        const leap *l = &self->leap[i];
        if (l->state != LEAP_OVER) {
            memcpy(self->mean + fantasies * self->n, l->mean, self->n * sizeof(double));
            self->at_mean[fantasies++] = l->best;
        }
    }
    uint64_t number = ++self->begun;
    ds_status status = bayes_propose(&self->bayes, number, fantasies, self->mean, self->at_mean, self->x_n);
    if (status == DS_OK) {
        leap_begin(next, self->x_n, number, ds_random_open(self->bayes.kit.host->seed, "sample", number));
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
    int with_gradient = 0;
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
            with_gradient = leap_wants_gradient(l);
            number = l->number < number ? l->number : number;
        }
    }
    self->bayes.group = number;
    ds_status status =
        bayes_simulate(&self->bayes, state == LEAP_SAMPLES ? "sample" : "descent", count, self->start,
                       self->v, self->loss, with_gradient ? self->gradient : NULL, self->outcome);
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

/* Begins a new leap in place of every one that has ended. */
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

static ds_status boleap_begin(void *self_)
{
    boleap *self = self_;
    return bayes_take_start(&self->bayes) ? bayes_design(&self->bayes, (size_t)self->n_init) : DS_E_NOMEM;
}

/* A leap of samples does not evaluate the point where it begins; a leap that is a descent does. */
static int boleap_begins_at_start(const void *self_)
{
    const boleap *self = self_;
    return self->leap_options.K == 0 && self->n_init <= 1;
}

static ds_status boleap_search(void *self_)
{
    boleap *self = self_;
    if (bayes_refine_due(&self->bayes)) {
        self->bayes.group = self->begun;
        return bayes_refine(&self->bayes);
    }
    ds_status status = begin_leaps(self);
    return status != DS_OK ? status : advance(self);
}

/* Checks relations between parameters that the schema cannot express. */
static ds_status check_parameters(const boleap *self)
{
    const ds_host *host = self->bayes.kit.host;
    const leap_options *o = &self->leap_options;
    long long least = (long long)o->K + (o->J > 0);
    if (o->K > 0 && o->mu > o->K) {
        return ds_host_fail(host, DS_E_PARAM,
                            "mu = %zu is more than k = %zu: choose at most k of the k samples", o->mu, o->K);
    }
    if (o->K == 0 && o->J == 0) {
        return ds_host_fail(host, DS_E_PARAM, "k = 0 and j = 0 leave nothing to do: raise one of them");
    }
    if (o->steps < least) {
        return ds_host_fail(host, DS_E_PARAM,
                            "leap_steps = %lld is too few for k = %zu samples%s: at least %lld",
                            (long long)o->steps, o->K, o->J > 0 ? " and one descent step" : "", least);
    }
    return bayes_check_size(host, self->n);
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    boleap *self = self_;
    const ds_host *host = in->host;
    const ds_problem *problem = self->bayes.kit.problem;
    leap_options *o = &self->leap_options;
    blas_use_one_thread();
    self->n = self->bayes.kit.n;
    o->K = (size_t)ds_param_int(in, "k");
    o->J = ds_param_int(in, "j");
    if (!problem->has_gradient && o->K > 0 && o->J > 0) {
        host->log(host, DS_LOG_INFO, "the environment has no gradient: j = 0, leaps without descents");
        o->J = 0;
    } else if (!problem->has_gradient && o->K == 0 && o->J > 1) {
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
    o->floor = problem->loss_floor;
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
    o->gradients = problem->has_gradient && ds_param_int(in, "sample_gradients") != 0;
    self->resume = ds_param_int(in, "resume") != 0;
    o->lengths = self->resume ? LEAP_RIVAL : LEAP_FIXED;
    o->descent = descent_read_options(in);
    self->run_best = INFINITY;
    in->status = in->status != DS_OK ? in->status : check_parameters(self);
    bayes_read(&self->bayes, in, "polish");
    opt_check_polish(in, problem, ds_param_real(in, "polish"));
}

static int allocate(void *self_)
{
    boleap *self = self_;
    ds_opt_kit *kit = &self->bayes.kit;
    ds_memory *own = &kit->memory;
    size_t n = self->n, K = self->leap_options.K, rows = self->leaps * (K > 0 ? K : 1);
    self->v = ds_memory_doubles(own, rows * n);
    self->loss = ds_memory_doubles(own, rows);
    self->gradient = ds_memory_doubles(own, (self->leap_options.gradients ? rows : self->leaps) * n);
    self->x_n = ds_memory_doubles(own, n);
    self->mean = ds_memory_doubles(own, self->leaps * n);
    self->at_mean = ds_memory_doubles(own, self->leaps);
    self->outcome = ds_memory_take(own, rows, sizeof *self->outcome);
    self->start = ds_memory_take(own, rows, 1);
    self->leap = ds_memory_take(own, self->leaps, sizeof *self->leap);
    int made = !own->failed;
    for (size_t i = 0; made && i < self->leaps; i++) {
        made = leap_init(&self->leap[i], n, &self->leap_options);
    }
    rows = (size_t)self->n_init > rows ? (size_t)self->n_init : rows;
    return made && bayes_allocate(&self->bayes, rows, 1u << REFINE_ADAM);
}

static void boleap_release(void *self_)
{
    boleap *self = self_;
    for (size_t i = 0; self->leap && i < self->leaps; i++) {
        leap_free(&self->leap[i]);
    }
    bayes_release(&self->bayes);
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
           "1: the first leap starts at a uniform random point. More: a Sobol design of this many points is "
           "evaluated before the first leap."),
    DS_ENUM("update", "2001", updates,
            "Adaptation of the covariance: rank one (Hansen, Ostermeier 2001), or rank mu with negative "
            "weights."),
    DS_ENUM("path", "samples", paths,
            "What the evolution paths follow: the mean of the best samples, or the mean as moved by the "
            "descent."),
    DS_ENUM("mean", "best", means, "Point of the descent that becomes the next mean."),
    DS_ENUM("bounds", "clip", bounds, "Samples outside the box: clip, or draw again up to 100 times."),
    DS_BOOL("resume", "false",
            "Continue the best leap while it improves by more than 1 % per leap_steps, and adapt the length "
            "of descents."),
    DS_INT("leaps", "1", 1, 1000, "",
           "Leaps that advance in step; this many times more samples, or descent steps, are evaluated in "
           "parallel."),
    LEAP_GRADIENTS,
    BAYES_POLISH,
    DESCENT_PARAMS,
    SURROGATE_PARAMS,
    DS_OPT_START_PARAMS("false"),
    NULL};

static const ds_desc desc = {
    OPT_DESC("boleap", "0.3.1"),
    .flags = DS_OPT_USES_BUDGET,
    .uses = DS_OPT_IDS(DS_HAS_GRADIENT), /* polish */
    .summary = "BO-Leap: Bayesian optimization over leaps of CMA-ES and gradient descent",
    .description =
        "Repeats: fit a Gaussian process to all simulations so far; start a leap where the acquisition "
        "function is least; in the leap, generations of samples, each followed by a gradient descent from "
        "the mean of the best ones, which moves the mean of the next generation.",
    .citation = OPT_ANTONOVA,
};

static const ds_opt_table table = {
    .size = sizeof(boleap),
    .no_memory_run = BAYES_NO_MEMORY,
    .read = read_parameters,
    .allocate = allocate,
    .release = boleap_release,
    .begins_at_start = boleap_begins_at_start,
    .begin = boleap_begin,
    .round = boleap_search,
};

DS_OPT_KIT_DEFINE(table, desc)
