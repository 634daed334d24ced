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

#include "methods/blas.h"
#include "methods/box.h"
#include "methods/cma2001.h"
#include "methods/descent.h"
#include "methods/params.h"
#include "methods/sim.h"
#include "methods/surrogate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RETRIES 5     /* generations without a single success before a leap is given up */
#define MAX_REDRAWS 100   /* draws of a sample outside the box with bounds = resample */
#define RESUME_GAIN 0.01  /* relative improvement per leap_steps that makes resume go on */
#define RESUME_LONGEST 40 /* longest descent that resume makes */

enum { PATH_SAMPLES, PATH_MOVED };
enum { MEAN_BEST, MEAN_LAST };
enum { BOUNDS_CLIP, BOUNDS_RESAMPLE };

typedef struct boleap {
    const ds_host *host;
    size_t n;
    size_t K;           /* samples of a generation */
    int64_t J;          /* evaluations of a descent */
    int64_t leap_steps; /* evaluations of a leap */
    int64_t n_init;
    double sigma_1;
    size_t mu; /* best samples whose mean starts the descent */
    int path, mean, bounds, weights, update, resume, has_gradient;

    sim sim;
    surrogate *model; /* GP posterior over S, all points simulated so far */
    descent descent;
    descent_options descent_options;
    surrogate_options model_options;
    cma2001 cma;
    double *x;          /* K x n samples x_k, then ranked; n_init x n design */
    double *ranked, *l; /* K x n, K losses l_k */
    size_t *order;
    double *x_n, *s_1, *shift;

    uint64_t leap; /* n of the paper */
    int64_t left;  /* evaluations left in the present leap */
    double leap_best, run_best;
    int at_start; /* the next evaluation is a point that the GP proposed */
} boleap;

/* Simulates `count` points and adds them to S. */
static ds_status simulate(boleap *self, const char *tag, size_t count, const double *v, double *loss,
                          double *gradient, uint32_t *outcome)
{
    size_t done;
    ds_status status =
        sim_evaluate(&self->sim, (sim_label){tag, self->leap}, count, v, loss, gradient, outcome, &done);
    if (!surrogate_add(self->model, done, v, loss, self->at_start)) {
        return DS_E_NOMEM;
    }
    self->at_start = 0;
    self->left -= (int64_t)done;
    for (size_t i = 0; i < done; i++) {
        self->leap_best = fmin(self->leap_best, loss[i]);
    }
    return status;
}

static ds_status simulate_step(void *self_, const double *s, double *loss, double *gradient,
                               uint32_t *outcome)
{
    boleap *self = self_;
    return simulate(self, "descent", 1, s, loss, self->has_gradient ? gradient : NULL, outcome);
}

/* x_k ~ N(mu_i, sigma_i^2 C_i), inside the box. */
static void draw_sample(boleap *self, ds_random *rng, double *x)
{
    int inside = 0;
    for (int draw = 0; draw <= (self->bounds == BOUNDS_RESAMPLE ? MAX_REDRAWS : 0) && !inside; draw++) {
        cma2001_sample(&self->cma, rng, x);
        inside = 1;
        for (size_t k = 0; k < self->n; k++) {
            inside &= x[k] >= -1.0 && x[k] <= 1.0;
        }
    }
    for (size_t k = 0; k < self->n; k++) {
        x[k] = box_clamp(x[k], -1.0, 1.0);
    }
}

/* Copies the samples with a finite loss to `ranked`, best first (equal ones in the order drawn). Returns how
 * many. */
static size_t rank_samples(boleap *self)
{
    size_t finite = 0;
    for (size_t k = 0; k < self->K; k++) {
        if (!isfinite(self->l[k])) {
            continue;
        }
        size_t at = finite++;
        while (at > 0 && self->l[self->order[at - 1]] > self->l[k]) {
            self->order[at] = self->order[at - 1];
            at--;
        }
        self->order[at] = k;
    }
    for (size_t i = 0; i < finite; i++) {
        memcpy(self->ranked + i * self->n, self->x + self->order[i] * self->n, self->n * sizeof(double));
    }
    return finite;
}

/* Samples until at least one simulation of a generation succeeds, with half the width after each failure.
 * *finite = 0: the leap is given up. */
static ds_status sample_generation(boleap *self, ds_random *rng, size_t *finite)
{
    *finite = 0;
    for (int try = 0; try <= MAX_RETRIES && *finite == 0 && self->left >= (int64_t)self->K; try++) {
        if (try > 0) {
            self->cma.sigma *= 0.5;
        }
        for (size_t k = 0; k < self->K; k++) {
            draw_sample(self, rng, self->x + k * self->n);
        }
        ds_status status = simulate(self, "sample", self->K, self->x, self->l, NULL, NULL);
        if (status != DS_OK) {
            return status;
        }
        *finite = rank_samples(self);
    }
    return DS_OK;
}

/* With resume: long descents where they beat the samples, short and careful ones where they do not. */
static void adapt_descent(boleap *self, int64_t *J)
{
    if (self->descent.best_loss < self->l[self->order[0]]) {
        *J = *J * 2 < RESUME_LONGEST ? *J * 2 : RESUME_LONGEST;
    } else {
        *J = *J > 1 ? *J / 2 : 1;
        self->descent.options.lr *= 0.7;
    }
}

/* One leap from x_n: lines 7 to 18 of Algorithm 1, without the update of the GP. */
static ds_status leap_round(boleap *self, ds_random *rng, int64_t *J)
{
    const double *mu = self->cma.mean;
    self->left = self->leap_steps;
    while (self->left >= (int64_t)self->K + (*J > 0)) {
        size_t finite;
        ds_status status = sample_generation(self, rng, &finite);
        if (status != DS_OK || finite == 0) {
            return status;
        }
        cma2001_recombine(&self->cma, self->ranked, finite, self->s_1); /* s_1 = mean of Kbest */
        const double *s_J = self->s_1;
        if (*J > 0 && self->left > 0) {
            int64_t steps = *J < self->left ? *J : self->left;
            status = descent_run(&self->descent, self->s_1, steps, simulate_step, self);
            if (status != DS_OK) {
                return status;
            }
            s_J = self->mean == MEAN_LAST ? self->descent.last : self->descent.best;
            if (!isfinite(self->descent.best_loss)) {
                s_J = self->ranked; /* the mean cannot be simulated: go on from the best sample */
            }
            if (self->resume) {
                adapt_descent(self, J);
            }
        }
        const double *x_new = self->path == PATH_SAMPLES ? self->s_1 : s_J;
        for (size_t k = 0; k < self->n; k++) {
            self->shift[k] = x_new[k] - mu[k];
        }
        if (self->path == PATH_MOVED) {
            cma2001_clip_shift(&self->cma, self->shift);
        }
        cma2001_update(&self->cma, self->shift, self->ranked, finite, s_J); /* mu_{i+1} = s_J; eq. 14 to 17 */
    }
    return DS_OK;
}

/* A leap; with resume, it goes on for another leap_steps while it holds the best point of the run and
 * improves it. */
static ds_status take_leap(boleap *self)
{
    ds_random rng = ds_random_open(self->host->seed, "sample", self->leap);
    int64_t J = self->J;
    double before;
    cma2001_start(&self->cma, self->x_n, self->sigma_1); /* mu_1 = x_n, C_1 = I */
    self->descent.options = self->descent_options;
    self->leap_best = INFINITY;
    do {
        before = self->leap_best;
        ds_status status = leap_round(self, &rng, &J);
        if (status != DS_OK) {
            return status;
        }
    } while (self->resume && self->leap_best <= self->run_best && isfinite(self->leap_best) &&
             (!isfinite(before) || before - self->leap_best > RESUME_GAIN * fabs(before)));
    self->run_best = fmin(self->run_best, self->leap_best);
    return DS_OK;
}

/* Without samples there is no distribution to adapt: a leap is one descent from x_n, which is the method
 * "BO". */
static ds_status take_descent(boleap *self)
{
    self->at_start = 1;
    return descent_run(&self->descent, self->x_n, self->J, simulate_step, self);
}

static ds_status boleap_run(void *self_, const ds_objective *objective)
{
    boleap *self = self_;
    ds_status status = DS_OK;
    self->sim.objective = objective;
    if (self->n_init > 1) {
        surrogate_design(self->model, (size_t)self->n_init, self->x);
        status = simulate(self, "init", (size_t)self->n_init, self->x, self->l, NULL, NULL);
    }
    for (self->leap = 1; status == DS_OK; self->leap++) {
        status = surrogate_propose(self->model, self->leap, self->x_n); /* x_n = argmin LCB(x | GP) */
        if (status == DS_OK) {
            status = self->K > 0 ? take_leap(self) : take_descent(self);
        }
    }
    if (status == DS_E_NOMEM) {
        self->host->error(self->host, status, "out of memory: lower n_max or fit_max");
    }
    return status;
}

static void boleap_destroy(void *self_)
{
    boleap *self = self_;
    if (self) {
        surrogate_destroy(self->model);
        descent_free(&self->descent);
        sim_free(&self->sim);
        cma2001_free(&self->cma);
        free(self->x);
        free(self->order);
        free(self);
    }
}

/* Relations between parameters that the schema cannot express. */
static ds_status check_parameters(const boleap *self)
{
    char line[256] = "";
    if (self->K > 0 && self->mu > self->K) {
        snprintf(line, sizeof(line), "mu = %zu is more than k = %zu: choose at most k of the k samples",
                 self->mu, self->K);
    } else if (self->K == 0 && self->J == 0) {
        snprintf(line, sizeof(line), "k = 0 and j = 0 leave nothing to do: raise one of them");
    } else if (self->leap_steps < (int64_t)self->K + (self->J > 0)) {
        snprintf(line, sizeof(line), "leap_steps = %lld is too few for k = %zu samples%s: at least %lld",
                 (long long)self->leap_steps, self->K, self->J > 0 ? " and one descent step" : "",
                 (long long)self->K + (self->J > 0));
    } else {
        return DS_OK;
    }
    self->host->error(self->host, DS_E_PARAM, line);
    return DS_E_PARAM;
}

static void read_parameters(boleap *self, param_reader *in, const ds_problem *problem)
{
    const ds_host *host = in->host;
    self->host = host;
    self->n = (size_t)problem->n;
    self->K = (size_t)param_int(in, "k");
    self->J = param_int(in, "j");
    self->has_gradient = problem->has_gradient != 0;
    if (!self->has_gradient && self->K > 0 && self->J > 0) {
        host->log(host, DS_LOG_INFO, "the environment has no gradient: j = 0, leaps without descents");
        self->J = 0;
    } else if (!self->has_gradient && self->K == 0 && self->J > 1) {
        host->log(host, DS_LOG_INFO,
                  "the environment has no gradient: j = 1, no descents from the proposed points");
        self->J = 1;
    }
    self->leap_steps = param_int(in, "leap_steps");
    self->n_init = param_int(in, "n_init");
    self->sigma_1 = param_real(in, "sigma1");
    if (self->sigma_1 == 0.0) {
        self->sigma_1 = param_int(in, "profile") == 1 ? 1.0 : 0.3;
    }
    self->path = (int)param_int(in, "path");
    self->mean = (int)param_int(in, "mean");
    self->bounds = (int)param_int(in, "bounds");
    self->resume = param_int(in, "resume") != 0;
    self->mu = (size_t)param_int(in, "mu");
    self->weights = (int)param_int(in, "weights");
    self->update = (int)param_int(in, "update");
    self->model_options = surrogate_read_options(in);
    self->descent_options = descent_read_options(in);
    self->run_best = INFINITY;
}

static int allocate(boleap *self, const ds_problem *problem)
{
    size_t rows = (size_t)self->n_init > self->K ? (size_t)self->n_init : self->K;
    size_t K = self->K > 0 ? self->K : 1;
    rows = rows > 0 ? rows : 1;
    self->model = surrogate_create(self->host, problem, &self->model_options);
    self->x = calloc((rows + K + 3) * self->n + rows, sizeof(double));
    self->order = calloc(K, sizeof(*self->order));
    if (!self->model || !self->x || !self->order) {
        return 0;
    }
    self->ranked = self->x + rows * self->n;
    self->x_n = self->ranked + K * self->n;
    self->s_1 = self->x_n + self->n;
    self->shift = self->s_1 + self->n;
    self->l = self->shift + self->n;
    return descent_init(&self->descent, self->n, &self->descent_options) &&
           sim_init(&self->sim, problem, rows) &&
           cma2001_init(&self->cma, self->n, K, self->K > 0 ? self->mu : 1, self->weights, self->update);
}

static ds_status boleap_create(const ds_host *host, const ds_problem *problem, void **out)
{
    blas_use_one_thread();
    boleap *self = calloc(1, sizeof(*self));
    if (!self) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    param_reader in = {host, DS_OK};
    read_parameters(self, &in, problem);
    ds_status status = in.status != DS_OK ? in.status : check_parameters(self);
    if (status == DS_OK && !allocate(self, problem)) {
        status = DS_E_NOMEM;
        host->error(host, status, "out of memory");
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
    DESCENT_PARAMS,
    SURROGATE_PARAMS,
    NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_GRADIENT,
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
