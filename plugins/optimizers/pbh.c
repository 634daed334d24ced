/* SPDX-License-Identifier: Apache-2.0 */
/* pbh.c - parallel basin hopping of E. Heiden et al., "NeuralSim: Augmenting differentiable simulators with
 * neural networks" (ICRA 2021, arXiv:2011.04217), after S. McCarty, L. Burke, M. McGuire, "Parallel monotonic
 * basin hopping for low thrust trajectory optimization" (2018):
 *
 *     starts: worker 1 at x0, all others uniform
 *     for k = 1, 2, ...
 *         every worker: minimise with a local solver from its start
 *         best = the best of all workers so far
 *         starts: every worker at best + N(0, (std (upper - lower))^2), clamped;  std fades as 1/k where
 * asked for until the loss is below the limit, or the budget is spent
 *
 * The workers of the paper are threads that meet whenever they like. These meet at the end of each round, and
 * their random numbers belong to worker and round: the search is the same for every number of jobs.
 */
#include <diffsim/plugin.h>
#include <diffsim/helper/params.h>
#include <diffsim/random.h>

#include "methods/base/blas.h"
#include "methods/base/box.h"
#include "methods/gradient/multistart.h"
#include "methods/squares/lm_params.h"
#include "methods/squares/local_solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct basin_hopping {
    const ds_host *host;
    const ds_problem *problem;
    local_options local;
    size_t n, workers;
    double std, cost_limit;
    int fade, use_x0;
    double *start, *end, *loss; /* workers x n, workers x n, workers */
    double *best, best_loss;    /* of all workers; n */
} basin_hopping;

/* Where worker w begins round k. */
static void draw_start(basin_hopping *self, uint64_t k, size_t w)
{
    ds_random random = ds_random_open(self->host->seed, "start", (k - 1) * self->workers + w);
    double std = 2 * self->std / (self->fade ? (double)k : 1); /* the box is 2 wide */
    double *v = self->start + w * self->n;
    if (k == 1 && w == 0 && self->use_x0) {
        box_v_from_x(self->n, self->problem->lower, self->problem->upper, self->problem->x0, v);
        return;
    }
    for (size_t i = 0; i < self->n; i++) {
        v[i] = isfinite(self->best_loss) ? box_clamp(self->best[i] + std * ds_random_normal(&random), -1, 1)
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

static ds_status pbh_run(void *self_, const ds_objective *objective)
{
    basin_hopping *self = self_;
    ds_status status = DS_OK;
    local_solver *solver =
        local_solver_create(self->host, self->problem, objective, self->workers, &self->local, &status);
    for (uint64_t k = 1; status == DS_OK && !(self->best_loss < self->cost_limit); k++) {
        for (size_t w = 0; w < self->workers; w++) {
            draw_start(self, k, w);
        }
        status = local_solver_run(solver, k, self->start, self->loss, self->end);
        publish(self);
    }
    local_solver_destroy(solver);
    return status;
}

static void pbh_destroy(void *self_)
{
    basin_hopping *self = self_;
    if (self) {
        free(self->start);
        free(self);
    }
}

static void read_parameters(basin_hopping *self, ds_param_reader *in)
{
    self->workers = (size_t)ds_param_int(in, "workers");
    self->local.kind = (int)ds_param_int(in, "local");
    self->local.limit = (size_t)ds_param_int(in, "j");
    self->local.lr = ds_param_real(in, "lr");
    self->local.residuals = (int)ds_param_int(in, "residuals");
    self->local.lm = lm_read_options(in);
    self->std = ds_param_real(in, "initial_std");
    self->fade = ds_param_int(in, "fade_std") != 0;
    self->cost_limit = ds_param_real(in, "cost_limit");
    self->use_x0 = ds_param_int(in, "use_x0") != 0;
}

static ds_status allocate(basin_hopping *self)
{
    size_t n = self->n, workers = self->workers;
    self->start = malloc((2 * workers * n + workers + n) * sizeof(double));
    if (!self->start) {
        return ds_host_fail(self->host, DS_E_NOMEM, "out of memory: lower workers");
    }
    self->end = self->start + workers * n;
    self->loss = self->end + workers * n;
    self->best = self->loss + workers;
    return DS_OK;
}

static ds_status pbh_create(const ds_host *host, const ds_problem *problem, void **out)
{
    blas_use_one_thread();
    basin_hopping *self = calloc(1, sizeof *self);
    if (!self) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    ds_param_reader in = {host, DS_OK};
    self->host = host;
    self->problem = problem;
    self->n = (size_t)problem->n;
    self->best_loss = INFINITY;
    read_parameters(self, &in);
    ds_status status = in.status != DS_OK ? in.status : allocate(self);
    if (status == DS_OK && self->local.kind != LOCAL_LM) {
        status = multistart_need_gradient(host, problem, "the local solver (parameter local)");
    }
    if (status != DS_OK) {
        pbh_destroy(self);
        return status;
    }
    *out = self;
    return DS_OK;
}

static const char *const locals[] = {"lm", "lbfgsb", "adam", NULL};

static const ds_param *const params[] = {
    DS_INT("workers", "8", 1, 1e4, "", "Searches of a round; their points are simulated in parallel."),
    DS_ENUM("local", "lm", locals,
            "Local solver: lm = Levenberg-Marquardt (residuals, or the loss as one), lbfgsb = L-BFGS-B, "
            "adam = gradient descent."),
    DS_REAL("initial_std", "1", 0, 1e3, "", "Standard deviation of a hop, in widths of the box."),
    DS_BOOL("fade_std", "false", "Hops of round k are k times shorter."),
    DS_REAL("cost_limit", "-inf", -INFINITY, INFINITY, "",
            "The search ends after a round with a loss below this."),
    DS_INT("j", "0", 0, 1e9, "",
           "Most evaluations of one local search, products with the Jacobian included; 0 = until it ends."),
    DS_REAL("lr", "0.1", 1e-12, 1e3, "", "Learning rate of local = adam, where the box is [-1, 1]."),
    DS_BOOL("use_x0", "true", "The first worker begins at the start point that the environment suggests."),
    LM_PARAMS,
    NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .flags = DS_OPT_USES_GRADIENT,
    .id = "pbh",
    .version = "0.1",
    .license = "Apache-2.0",
    .summary = "Parallel basin hopping: local searches from random steps around the best",
    .description =
        "Several workers minimise from different starts with a local solver; then all of them start "
        "again around the best point that any of them has found.\n"
        "With local = lm it is the estimator of NeuralSim for sums of squares; the other parameters of "
        "the Levenberg-Marquardt method are those of the optimizer lm. Short hops (initial_std) or "
        "fade_std suit losses whose basins lie close together.",
    .citation = "E. Heiden, D. Millard, E. Coumans, Y. Sheng, G. Sukhatme: NeuralSim: augmenting "
                "differentiable simulators with neural networks. ICRA 2021, arXiv:2011.04217; S. "
                "McCarty, L. Burke, M. McGuire: Parallel monotonic basin hopping for low thrust "
                "trajectory optimization. 2018",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = pbh_create,
    .destroy = pbh_destroy,
    .run = pbh_run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
