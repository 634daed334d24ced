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
#include "methods/gradient/descent.h"
#include "methods/gradient/lbfgsb.h"
#include "methods/squares/levenberg.h"

#include <diffsim/helper/opt_kit.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- local searches of several workers in step, in [-1, 1]^n ---- */

enum { LOCAL_LM, LOCAL_LBFGSB, LOCAL_ADAM };

typedef struct local_options {
    int kind;      /* LOCAL_* */
    int residuals; /* LEAST_SQUARES_*, for LOCAL_LM */
    size_t limit;  /* most evaluations of one search, products with the Jacobian included; 0 = no limit */
    lm_options lm;
    double lr; /* LOCAL_ADAM */
} local_options;

typedef struct worker {
    lm *lm;
    lbfgsb *lbfgsb;
    descent descent;
    int next;     /* LM_*; for the others LM_RESIDUALS while they go on */
    size_t spent; /* evaluations */
} worker;

typedef struct local_solver {
    const ds_host *host;
    ds_memory memory;
    local_options options;
    size_t n, workers;
    worker *worker;
    least_squares squares;            /* LOCAL_LM */
    ds_evaluator *evaluator;          /* the others: of the optimizer */
    double *v, *value, *gradient, *j; /* workers x n, losses, workers x (n or m), m x n */
    size_t *arm;
    uint32_t *outcome;
} local_solver;

static void local_solver_destroy(local_solver *s)
{
    if (s) {
        for (size_t w = 0; s->worker && w < s->workers; w++) {
            lm_destroy(s->worker[w].lm);
            lbfgsb_destroy(s->worker[w].lbfgsb);
            descent_free(&s->worker[w].descent);
        }
        least_squares_free(&s->squares);
        ds_memory_free(&s->memory);
        free(s);
    }
}

static int make_worker(local_solver *s, worker *w, const double *box)
{
    static const lbfgsb_options quasi_newton = {10, 2.220446e-9, 1e-5, INT_MAX, INT_MAX, 0.1};
    const descent_options adam = {.step = DESCENT_ADAM, .lr = s->options.lr, .patience = 3, .tol = 1e-9};
    size_t n = s->n;
    switch (s->options.kind) {
    case LOCAL_LM:
        return (w->lm = lm_create(n, s->squares.m, box, box + n, &s->options.lm)) != NULL;
    case LOCAL_LBFGSB:
        return (w->lbfgsb = lbfgsb_create(n, box, box + n, &quasi_newton)) != NULL;
    default:
        return descent_init(&w->descent, n, &adam);
    }
}

/* Evaluates the losses that the solver requests. */
static ds_status open_objective(local_solver *s, ds_opt_kit *kit)
{
    if (s->options.kind != LOCAL_LM) {
        s->evaluator = &kit->evaluator;
        return ds_opt_kit_rows(kit, s->workers) ? DS_OK : DS_E_NOMEM;
    }
    ds_status status = least_squares_open(&s->squares, kit, s->options.residuals, s->workers);
    if (status == DS_OK && s->options.limit > 0 && s->options.limit < least_squares_cost(&s->squares) + 2) {
        return ds_host_fail(kit->host, DS_E_PARAM,
                            "j = %lld leaves a search no evaluation for a step: a Jacobian costs %lld, so "
                            "give at least %lld",
                            (long long)s->options.limit, (long long)least_squares_cost(&s->squares),
                            (long long)least_squares_cost(&s->squares) + 2);
    }
    return status;
}

static ds_status make_workers(local_solver *s)
{
    size_t n = s->n, workers = s->workers, m = s->options.kind == LOCAL_LM ? s->squares.m : 1;
    const double *box = ds_opt_kit_box(&s->memory, n);
    s->worker = ds_memory_take(&s->memory, workers, sizeof *s->worker);
    s->v = ds_memory_doubles(&s->memory, workers * n);
    s->value = ds_memory_doubles(&s->memory, workers);
    s->gradient = ds_memory_doubles(&s->memory, workers * (n > m ? n : m));
    s->j = ds_memory_doubles(&s->memory, m * n);
    s->arm = ds_memory_take(&s->memory, workers, sizeof *s->arm);
    s->outcome = ds_memory_take(&s->memory, workers, sizeof *s->outcome);
    int made = !s->memory.failed;
    for (size_t w = 0; made && w < workers; w++) {
        made = make_worker(s, &s->worker[w], box);
    }
    return made ? DS_OK : DS_E_NOMEM;
}

/* Makes solvers for `workers` searches, in run(). Returns NULL after a failure: *status says which, and the
 * host has a message. */
static local_solver *local_solver_create(ds_opt_kit *kit, size_t workers, const local_options *options,
                                         ds_status *status)
{
    local_solver *s = calloc(1, sizeof *s);
    *status = DS_E_NOMEM;
    if (s) {
        s->host = kit->host;
        s->options = *options;
        s->n = kit->n;
        s->workers = workers;
        *status = open_objective(s, kit);
        *status = *status != DS_OK ? *status : make_workers(s);
    }
    if (*status == DS_E_NOMEM) {
        ds_host_fail(kit->host, *status, "out of memory: lower workers");
    }
    if (*status != DS_OK) {
        local_solver_destroy(s);
        return NULL;
    }
    return s;
}

static void begin(local_solver *s, size_t i, const double *start)
{
    worker *w = &s->worker[i];
    w->spent = 0;
    w->next = LM_RESIDUALS;
    switch (s->options.kind) {
    case LOCAL_LM:
        w->next = lm_start(w->lm, start);
        least_squares_begin(&s->squares, i);
        break;
    case LOCAL_LBFGSB:
        lbfgsb_start(w->lbfgsb, start);
        break;
    default:
        descent_begin(&w->descent, start, s->options.limit > 0 ? (int64_t)s->options.limit : INT64_MAX);
        break;
    }
}

static const double *point(const local_solver *s, size_t i)
{
    const worker *w = &s->worker[i];
    return s->options.kind == LOCAL_LM       ? lm_point(w->lm)
           : s->options.kind == LOCAL_LBFGSB ? lbfgsb_point(w->lbfgsb)
                                             : w->descent.s;
}

static int tell_gradient(local_solver *s, worker *w, double loss, const double *gradient, uint32_t outcome)
{
    int goes_on =
        s->options.kind == LOCAL_LBFGSB
            ? outcome != DS_EVAL_BAD_GRAD && lbfgsb_tell(w->lbfgsb, loss, gradient) == LBFGSB_EVALUATE
            : descent_tell(&w->descent, loss, gradient, outcome);
    return goes_on ? LM_RESIDUALS : LM_DONE;
}

/* Values, or residuals, at the points of all workers that wait for them. */
static ds_status values(local_solver *s, uint64_t group, double *loss, double *best)
{
    size_t n = s->n, count = 0, done = 0;
    const ds_evaluator_label label = {"local", group};
    for (size_t i = 0; i < s->workers; i++) {
        if (s->worker[i].next == LM_RESIDUALS) {
            memcpy(s->v + count * n, point(s, i), n * sizeof(double));
            s->arm[count++] = i;
        }
    }
    if (count == 0) {
        return DS_OK;
    }
    int squares = s->options.kind == LOCAL_LM;
    size_t row = squares ? s->squares.m : n;
    ds_status status =
        squares
            ? least_squares_residuals(&s->squares, label, count, s->arm, s->v, s->gradient, s->value)
            : ds_evaluator_run(s->evaluator, label, count, s->v, s->value, s->gradient, s->outcome, &done);
    for (size_t k = 0; status == DS_OK && k < count; k++) {
        size_t i = s->arm[k];
        worker *w = &s->worker[i];
        const double *answer = s->gradient + k * row;
        if (s->value[k] < loss[i]) {
            loss[i] = s->value[k];
            memcpy(best + i * n, s->v + k * n, n * sizeof(double));
        }
        w->spent++;
        w->next = squares ? lm_tell_residuals(w->lm, isfinite(s->value[k]) ? answer : NULL)
                          : tell_gradient(s, w, s->value[k], answer, s->outcome[k]);
        if (w->next == LM_JACOBIAN && s->options.limit > 0 &&
            w->spent + least_squares_cost(&s->squares) >= s->options.limit) {
            w->next = LM_DONE; /* no evaluation would be left for a step */
        }
    }
    return status;
}

/* Jacobians of the workers that wait for one. */
static ds_status jacobians(local_solver *s, uint64_t group)
{
    const ds_evaluator_label label = {"jacobian", group};
    ds_status status = DS_OK;
    for (size_t i = 0; status == DS_OK && i < s->workers; i++) {
        worker *w = &s->worker[i];
        if (w->next == LM_JACOBIAN) {
            status = least_squares_jacobian(&s->squares, label, i, lm_point(w->lm), s->j);
            w->next = status == DS_OK ? lm_tell_jacobian(w->lm, s->j) : w->next;
            w->spent += least_squares_cost(&s->squares);
        }
    }
    return status;
}

/* Runs one search of every worker from start (workers x n) to its end, in step. *loss and `best` (workers x
 * n) get the best that each has seen, +INFINITY where there was none. The batches carry the group. */
static ds_status local_solver_run(local_solver *s, uint64_t group, const double *start, double *loss,
                                  double *best)
{
    ds_status status = DS_OK;
    size_t open = s->workers;
    for (size_t i = 0; i < s->workers; i++) {
        loss[i] = INFINITY;
        memcpy(best + i * s->n, start + i * s->n, s->n * sizeof(double));
        begin(s, i, start + i * s->n);
    }
    while (status == DS_OK && open > 0) {
        status = values(s, group, loss, best);
        status = status != DS_OK ? status : jacobians(s, group);
        open = 0;
        for (size_t i = 0; i < s->workers; i++) {
            worker *w = &s->worker[i];
            if (s->options.limit > 0 && w->spent >= s->options.limit) {
                w->next = LM_DONE;
            }
            open += w->next != LM_DONE;
        }
        if (status == DS_OK && s->host->should_stop(s->host)) {
            status = DS_STOPPED;
        }
    }
    return status;
}

/* ---- basin hopping ---- */

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
