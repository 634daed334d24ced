/* SPDX-License-Identifier: Apache-2.0 */
/* pbh.c - parallel basin hopping of E. Heiden et al., "NeuralSim: Augmenting differentiable simulators with
 * neural networks" (ICRA 2021, arXiv:2011.04217), after S. McCarty, L. Burke, M. McGuire, "Parallel monotonic
 * basin hopping for low thrust trajectory optimization" (2018):
 *
 *     starts: worker 1 at x0, all others uniform
 *     for k = 1, 2, ...
 *         every worker: minimise with a local solver from its start
 *         best = the best of all workers so far
 *         starts: every worker at best + N(0, (std (upper - lower))^2), clamped;  std fades as 1/k if set
 *     until the loss is below the limit, or the budget is spent
 *
 * The workers of the paper are threads that synchronise at any time. Here they synchronise at the end of each
 * round, and their random numbers depend on worker and round only: the search is the same for every number of
 * jobs. */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/squares/lm_params.h"
#include "methods/squares/local_solver.h"

#include <math.h>
#include <string.h>

typedef struct basin_hopping {
    ds_opt_kit kit;
    local_options local;
    local_solver *solver;
    size_t n, workers;
    double std, cost_limit;
    int fade;
    double *start, *end, *loss; /* workers x n, workers x n, workers */
    double *best, best_loss;    /* of all workers; n */
} basin_hopping;

/* Where worker w starts in round k. */
static void draw_start(basin_hopping *self, uint64_t k, size_t w)
{
    ds_random random = ds_random_open(self->kit.host->seed, "start", (k - 1) * self->workers + w);
    double std = 2 * self->std / (self->fade ? (double)k : 1); /* the box is 2 wide */
    double *v = self->start + w * self->n;
    if (k == 1 && w == 0 && self->kit.start.v) {
        memcpy(v, self->kit.start.v, self->n * sizeof(double));
        return;
    }
    for (size_t i = 0; i < self->n; i++) {
        v[i] = isfinite(self->best_loss)
                   ? ds_box_clamp(self->best[i] + std * ds_random_normal(&random), -1, 1)
                   : 2 * ds_random_uniform(&random) - 1;
    }
}

static void publish(basin_hopping *self)
{
    for (size_t w = 0; w < self->workers; w++) {
        if (self->loss[w] < self->best_loss) {
            self->best_loss = self->loss[w];
            memcpy(self->best, self->end + w * self->n, self->n * sizeof(double));
        }
    }
}

static ds_status pbh_begin(void *self_)
{
    basin_hopping *self = self_;
    ds_status status = DS_OK;
    self->solver = local_solver_create(&self->kit, self->workers, &self->local, &status);
    return status;
}

static ds_status pbh_search(void *self_)
{
    basin_hopping *self = self_;
    for (size_t w = 0; w < self->workers; w++) {
        draw_start(self, self->kit.round, w);
    }
    ds_status status = local_solver_run(self->solver, self->kit.round, self->start, self->loss, self->end);
    publish(self);
    self->kit.finished = self->best_loss < self->cost_limit;
    return status;
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    basin_hopping *self = self_;
    blas_use_one_thread();
    self->n = self->kit.n;
    self->best_loss = INFINITY;
    self->workers = (size_t)ds_param_int(in, "workers");
    self->local.kind = (int)ds_param_int(in, "local");
    self->local.limit = (size_t)ds_param_int(in, "j");
    self->local.lr = ds_param_real(in, "lr");
    self->local.residuals = (int)ds_param_int(in, "residuals");
    self->local.lm = lm_read_options(in);
    self->std = ds_param_real(in, "initial_std");
    self->fade = ds_param_int(in, "fade_std") != 0;
    self->cost_limit = ds_param_real(in, "cost_limit");
    if (in->status == DS_OK && self->local.kind != LOCAL_LM) {
        in->status =
            ds_opt_kit_need_gradient(in->host, self->kit.problem, "the local solver (parameter local)");
    }
}

static int allocate(void *self_)
{
    basin_hopping *self = self_;
    ds_memory *own = &self->kit.memory;
    self->start = ds_memory_doubles(own, self->workers * self->n);
    self->end = ds_memory_doubles(own, self->workers * self->n);
    self->loss = ds_memory_doubles(own, self->workers);
    self->best = ds_memory_doubles(own, self->n);
    return 1;
}

static void pbh_release(void *self_)
{
    basin_hopping *self = self_;
    local_solver_destroy(self->solver);
}

static const char *const locals[] = {"lm", "lbfgsb", "adam", NULL};

static const ds_param *const params[] = {
    DS_INT("workers", "8", 1, 1e4, "", "Searches per round; their points are simulated in parallel."),
    DS_ENUM("local", "lm", locals,
            "Local solver: lm = Levenberg-Marquardt (residuals, or the loss as one), lbfgsb = L-BFGS-B, "
            "adam = gradient descent."),
    DS_REAL("initial_std", "1", 0, 1e3, "", "Standard deviation of a hop, in widths of the box."),
    DS_BOOL("fade_std", "false", "Divide hops of round k by k."),
    DS_REAL("cost_limit", "-inf", -INFINITY, INFINITY, "",
            "The search ends after a round with a loss below this."),
    DS_INT("j", "0", 0, 1e9, "",
           "Most evaluations of one local search, products with the Jacobian included; 0 = until it ends."),
    DS_REAL("lr", "0.1", 1e-12, 1e3, "", "Learning rate of local = adam, where the box is [-1, 1]."),
    DS_OPT_START_PARAMS("true"),
    LM_PARAMS,
    NULL};

static const ds_desc desc = {
    OPT_DESC("pbh", "0.2"),
    .uses = DS_OPT_IDS(DS_HAS_RESIDUALS, DS_HAS_GRADIENT),
    .summary = "Parallel basin hopping: local searches from random steps around the best",
    .description =
        "Several workers minimise from different starts with a local solver; then all of them start again "
        "around the best point that any of them has found.\nWith local = lm it is the estimator of NeuralSim "
        "for sums of squares; the other parameters of the Levenberg-Marquardt method have the same names as "
        "in lm. Short hops (initial_std) or fade_std suit losses whose basins lie close together.",
    .citation = "E. Heiden, D. Millard, E. Coumans, Y. Sheng, G. Sukhatme: NeuralSim: augmenting "
                "differentiable simulators with neural networks. ICRA 2021, arXiv:2011.04217; S. "
                "McCarty, L. Burke, M. McGuire: Parallel monotonic basin hopping for low thrust "
                "trajectory optimization. 2018",
};

static const ds_opt_table table = {
    .size = sizeof(basin_hopping),
    .no_memory = "out of memory: lower workers",
    .read = read_parameters,
    .allocate = allocate,
    .release = pbh_release,
    .begins_at_start = ds_opt_kit_begins_at_start,
    .begin = pbh_begin,
    .round = pbh_search,
};

DS_OPT_KIT_DEFINE(table, desc)
