/* SPDX-License-Identifier: Apache-2.0 */
/* cem.c - the cross-entropy method: draws from a normal distribution with independent variables and fits it
 * to the best draws. R. Rubinstein, "The cross-entropy method for combinatorial and continuous optimization"
 * (Methodology and Computing in Applied Probability 1, 1999); with the constants of the experiments of H.
 * Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better policy gradients?"
 * (ICML 2022, arXiv:2202.00817):
 *
 *     repeat
 *         mean = start, sd = init_std
 *         repeat
 *             x_1, ..., x_B ~ N(mean, diag(sd^2)), clamped to the box;  f at each
 *             elite = the E with the smallest f;  mean, sd = theirs (sd with 1/E)
 *         until sd < tol in every variable
 *
 * With `polish` the last part of the budget goes to descents from the best point (gradient/refine.h):
 * sampling first, gradients after, as in the Diff-CEM-MPC of DaXBench (S. Chen et al., ICLR 2023). */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/base/rank.h"
#include "methods/gradient/refine.h"

#include <math.h>
#include <string.h>

enum { X0, CENTER, RANDOM };
static const char *const starts[] = {"x0", "center", "random", NULL};
enum { BOX, UNITS_X };
static const char *const units[] = {"box", "x", NULL};

typedef struct cem {
    ds_opt_kit kit;
    size_t n, samples, elite;
    int start, units;
    double init_std, min_std, smoothing, tol;
    ds_random rng; /* random numbers of this search */
    double *mean, *sd,
        *scale;         /* n each, where the box is [-1, 1]; scale: half a width in the unit of init_std */
    double *v, *ranked; /* samples x n */
    double *loss;
    size_t *order;
    uint32_t *outcome;
    refine *polish; /* NULL = never */
    int64_t left;   /* evaluations before it begins */
    int64_t share;  /* evaluations reserved for it */
    size_t count;   /* points of the present generation */
    double *best, best_loss;
    int is_polished;
} cem;

static unsigned polish_arms(const cem *self)
{
    return 1u << (self->kit.has_gradient ? REFINE_ADAM : REFINE_SAMPLES);
}

static void begin_search(cem *self)
{
    uint64_t number = self->kit.round;
    self->rng = ds_random_open(self->kit.host->seed, "sample", number);
    if (number > 1 || self->start == RANDOM || self->kit.start.v) {
        ds_opt_kit_start(&self->kit, number, self->mean);
    } else if (self->start == X0) {
        ds_opt_kit_x0(self->kit.problem, self->mean);
    } else {
        memset(self->mean, 0, self->n * sizeof(double));
    }
    for (size_t k = 0; k < self->n; k++) {
        self->sd[k] = self->init_std / self->scale[k];
    }
}

/* A generation that would use more than a quarter of the polish's share is cut where the polish begins. */
static void draw(cem *self)
{
    const int64_t over = (int64_t)self->samples - self->left;
    const int is_cut = self->polish && !self->is_polished && self->left > 0 && over > self->share / 4;
    self->count = is_cut ? (size_t)self->left : self->samples;
    for (size_t i = 0; i < self->count * self->n; i++) {
        size_t k = i % self->n;
        self->v[i] = ds_box_clamp(self->mean[k] + self->sd[k] * ds_random_normal(&self->rng), -1.0, 1.0);
    }
}

/* Moves mean and standard deviation to the elite's. Failed points are never in it. */
static void fit(cem *self)
{
    size_t finite = rank_rows(self->count, self->n, self->v, self->loss, self->order, self->ranked);
    size_t count = finite < self->elite ? finite : self->elite;
    double keep = self->smoothing;
    for (size_t k = 0; k < self->n && count > 0; k++) {
        double mean = 0.0, sum = 0.0;
        for (size_t i = 0; i < count; i++) {
            mean += self->ranked[i * self->n + k] / (double)count;
        }
        for (size_t i = 0; i < count; i++) {
            double d = self->ranked[i * self->n + k] - mean;
            sum += d * d;
        }
        double sd = fmax(sqrt(sum / (double)count), self->min_std / self->scale[k]);
        self->mean[k] = keep * self->mean[k] + (1.0 - keep) * mean;
        self->sd[k] = keep * self->sd[k] + (1.0 - keep) * sd;
    }
}

/* Returns whether the search has converged. Without a single finite loss it has failed, and the search begins
 * elsewhere. */
static int is_over(const cem *self)
{
    int finite = 0, narrow = 1;
    for (size_t i = 0; i < self->count; i++) {
        finite |= isfinite(self->loss[i]) != 0;
    }
    for (size_t k = 0; k < self->n; k++) {
        narrow &= self->sd[k] * self->scale[k] <= self->tol;
    }
    return narrow || !finite;
}

/* Evaluates points, with gradients during the polish, and keeps the best. */
static ds_status simulate(void *self_, const char *tag, size_t count, const double *v, double *loss,
                          double *gradient, uint32_t *outcome)
{
    cem *self = self_;
    size_t done;
    ds_status status = ds_evaluator_run(&self->kit.evaluator, (ds_evaluator_label){tag, self->kit.round},
                                        count, v, loss, gradient, outcome, &done);
    self->left -= (int64_t)done;
    for (size_t i = 0; i < done; i++) {
        if (loss[i] < self->best_loss) {
            self->best_loss = loss[i];
            memmove(self->best, v + i * self->n, self->n * sizeof(double));
        }
    }
    return status;
}

static ds_status cem_begin(void *self_)
{
    cem *self = self_;
    if (self->kit.start.evaluated) {
        self->left--;
        self->best_loss = self->kit.start.loss;
        memcpy(self->best, self->kit.start.v, self->n * sizeof(double));
    }
    return DS_OK;
}

/* One search, to its end or to the polish. */
static ds_status search(void *self_)
{
    cem *self = self_;
    begin_search(self);
    do {
        if (self->polish && self->left <= 0 && !self->is_polished && isfinite(self->best_loss)) {
            self->is_polished = 1;
            return refine_run(self->polish, self->best, &self->best_loss, simulate, self);
        }
        draw(self);
        ds_status status = simulate(self, "sample", self->count, self->v, self->loss, NULL, self->outcome);
        if (status != DS_OK) {
            return status;
        }
        fit(self);
        if (self->kit.host->should_stop(self->kit.host)) {
            return DS_STOPPED;
        }
    } while (!is_over(self));
    return DS_OK;
}

static int allocate(void *self_)
{
    cem *self = self_;
    ds_memory *own = &self->kit.memory;
    const ds_problem *p = self->kit.problem;
    size_t n = self->n, rows = self->samples;
    self->mean = ds_memory_doubles(own, n);
    self->sd = ds_memory_doubles(own, n);
    self->scale = ds_memory_doubles(own, n);
    self->v = ds_memory_doubles(own, rows * n);
    self->ranked = ds_memory_doubles(own, rows * n);
    self->loss = ds_memory_doubles(own, rows);
    self->order = ds_memory_take(own, rows, sizeof *self->order);
    self->outcome = ds_memory_take(own, rows, sizeof *self->outcome);
    for (size_t k = 0; self->scale && k < n; k++) {
        self->scale[k] = self->units == UNITS_X ? 0.5 * p->upper[k] - 0.5 * p->lower[k] : 1.0;
    }
    self->best = ds_memory_doubles(own, n);
    self->best_loss = INFINITY;
    if (self->left > 0) {
        self->polish = refine_create(n, polish_arms(self), self->kit.host->seed);
        if (self->polish) {
            refine_know_floor(self->polish, p->loss_floor);
        }
    }
    size_t most = refine_rows(n);
    return (self->polish || self->left <= 0) && ds_opt_kit_rows(&self->kit, rows > most ? rows : most);
}

static void cem_release(void *self_)
{
    cem *self = self_;
    refine_destroy(self->polish);
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    cem *self = self_;
    self->n = self->kit.n;
    self->samples = (size_t)ds_param_int(in, "samples");
    self->elite = (size_t)ds_param_int(in, "elite");
    self->start = (int)ds_param_int(in, "start");
    self->units = (int)ds_param_int(in, "units");
    self->init_std = ds_param_real(in, "init_std");
    self->min_std = ds_param_real(in, "min_std");
    self->smoothing = ds_param_real(in, "smoothing");
    self->tol = ds_param_real(in, "tol");
    double share = refine_suits(self->n, polish_arms(self)) ? ds_param_real(in, "polish") : 0.0;
    uint64_t budget = self->kit.problem->budget;
    self->left = share > 0.0 ? (int64_t)fmax(1.0, ceil((1.0 - share) * (double)budget)) : 0;
    self->share = (int64_t)budget - self->left;
    opt_check_polish(in, self->kit.problem, share);
    blas_use_one_thread();
    if (in->status == DS_OK && self->elite > self->samples) {
        in->status = ds_host_fail(in->host, DS_E_PARAM, "elite = %zu is more than samples = %zu: lower elite",
                                  self->elite, self->samples);
    }
}

static const ds_param *const params[] = {
    DS_INT("samples", "100", 2, 1e6, "", "Points of a generation."),
    DS_INT("elite", "20", 1, 1e6, "", "Best points of a generation that define the next distribution."),
    DS_REAL("init_std", "0.5", 1e-12, 1e12, "",
            "Standard deviation of every variable at the start, in `units`."),
    DS_ENUM("units", "box", units,
            "Unit of standard deviations: box = the box is [-1, 1]; x = the variables themselves."),
    DS_ENUM("start", "x0", starts,
            "Mean of the first search without use_x0 and x0: x0, which the environment suggests; center of "
            "the box; or random, as in all further searches."),
    DS_OPT_START_PARAMS("false"),
    DS_REAL("min_std", "0", 0, 1e12, "",
            "Lower limit of each standard deviation; keeps a search from ending early."),
    DS_REAL("smoothing", "0", 0, 0.999, "", "Share of the old mean and standard deviation in the new ones."),
    DS_REAL("tol", "1e-8", 0, 1e12, "",
            "A search ends, and another begins, when all standard deviations are below this."),
    DS_REAL("polish", "0", 0, 1, "",
            "Share of the budget at the end for increasingly careful descents from the best point (Adam); "
            "without gradient, for CMA-ES around it."),
    NULL};

static const ds_desc desc = {
    OPT_DESC("cem", "0.2.0"),
    .flags = DS_OPT_USES_BUDGET,
    .uses = DS_OPT_IDS(DS_HAS_GRADIENT),
    .summary = "Cross-entropy method: fits a normal distribution to the best of its samples",
    .description = "Draws generations of points from a normal distribution with independent variables and "
                   "moves its means and standard deviations to the values of the best points; restarts from "
                   "a random point when the deviations have shrunk to nothing. Uses gradients for the polish "
                   "only.\n\nSuh et al. swing up a pendulum with samples=100 elite=20 init_std=2 units=x.",
    .citation = "R. Rubinstein: The cross-entropy method for combinatorial and continuous optimization. "
                "Methodology and Computing in Applied Probability 1, 1999",
};

static const ds_opt_table table = {
    .size = sizeof(cem),
    .no_memory = "out of memory: lower samples",
    .read = read_parameters,
    .allocate = allocate,
    .release = cem_release,
    .begin = cem_begin,
    .round = search,
};

DS_OPT_KIT_DEFINE(table, desc)
