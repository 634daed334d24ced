/* SPDX-License-Identifier: Apache-2.0 */
/* cmaes.c - covariance matrix adaptation evolution strategy with active update, boundary handling and
 * restarts. N. Hansen, arXiv:1604.00772. The strategy itself is cma/cma.c; this file searches around it. */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/cma/cma.h"
#include "methods/cma/cma_bounds.h"
#include "methods/cma/cma_stop.h"
#include "methods/cma/quad_model.h"

#include <inttypes.h>
#include <string.h>

/* Generations without a finite loss after which a run is given up; each one halves sigma. */
enum { MAX_FAILED_GENERATIONS = 5 };
enum { MODEL_NONE = 0, MODEL_QUAD = 1 };
enum { COVARIANCE_AUTO = 0, COVARIANCE_FULL = 1, COVARIANCE_DIAGONAL = 2 };

static const char *const profile_choices[] = {"tutorial", "paper", "c-cmaes", "2001", NULL};
static const char *const bounds_choices[] = {"auto", "transform", "resample", "penalty", "none", NULL};
static const char *const restart_choices[] = {"bipop", "ipop", "none", NULL};
static const char *const covariance_choices[] = {"auto", "full", "diagonal", NULL};
static const char *const model_choices[] = {"none", "quad", NULL};

static const ds_param *const params[] = {
    DS_ENUM("profile", "tutorial", profile_choices,
            "Constants and stop rules: tutorial = arXiv:1604.00772; paper = the Python library cmaes; "
            "c-cmaes = Hansen's C code (positive weights, faster step size in short runs); 2001 = Hansen and "
            "Ostermeier 2001 (rank-one update only)."),
    DS_INT("lambda", "0", 0, 1000000, "", "Population of the first run, at least 2; 0 = 4 + floor(3 ln n)."),
    DS_REAL("sigma0", "0.5", 1e-12, 10, "",
            "First step size, in units of half the width of the box (0.5 = a quarter of the width)."),
    DS_BOOL("active", "true", "Negative weights for the worse half (profiles tutorial and paper)."),
    DS_ENUM("bounds", "auto", bounds_choices,
            "transform = smooth map onto the box; resample = draw again, at last clip; penalty = evaluate "
            "the nearest inside point, add a weighted squared distance; none = the strategy ignores the box, "
            "a point outside is clipped for its evaluation only; auto = resample with profile paper, else "
            "transform."),
    DS_ENUM("restarts", "bipop", restart_choices,
            "What follows after a run has converged: bipop = alternate runs of large and small populations, "
            "ipop = double the population each time, none = end."),
    DS_BOOL("restart_stalled", "true",
            "Also restart where all steps are below 1e-3 of the first and the run has not improved for 10 + "
            "ceil(30 n/lambda) generations; makes restarts useful at small budgets."),
    DS_ENUM("covariance", "auto", covariance_choices,
            "full matrix, or its diagonal only (sep-CMA-ES); auto = diagonal where the budget is below 10 "
            "n^2, else full; always full with profile paper."),
    DS_REAL("eigen_share", "0.05", 0, 0.5, "",
            "The matrix is decomposed again when this share of it has been replaced (profiles tutorial and "
            "c-cmaes); 0 = as often as the tutorial says. Up to 0.05 it costs no evaluations and is several "
            "times faster from 40 variables on."),
    DS_OPT_START_PARAMS("false"),
    DS_REAL(
        "tolfun", "1e-12", 0, 1e100, "",
        "A run has converged where the losses of its last 10 + ceil(30 n/lambda) generations differ by less "
        "than this share of the range of its first generation."),
    DS_ENUM("model", "none", model_choices,
            "quad = a full quadratic through the best points of the run, as many as it has coefficients; its "
            "minimiser sometimes replaces a sample. At most 40 variables; for smooth losses."),
    NULL};

typedef struct cmaes {
    ds_opt_kit kit;
    uint64_t n;
    int64_t profile, lambda, active, bounds, restarts, restart_stalled;
    double sigma0, tolfun, eigen_share;
    int diagonal;
    /* The current run. */
    cma_restart plan;
    ds_memory memory; /* its arrays */
    cma *strategy;
    cma_stop stop;
    cma_bounds box;
    ds_random random;
    double *mean;            /* n: the first one, then the one to recommend */
    double *x, *v, *point;   /* lambda x n: as drawn, in [-1, 1], in the environment's units */
    double *loss, *adjusted; /* lambda: as evaluated, with penalty */
    uint64_t evaluations;    /* of this run */
    double first_best, best; /* losses of its first generation, and of all; HUGE_VAL = none */
    double record;           /* the best of all runs */
    int warned;
    int64_t model;
    quad_model quad;
    double *least, *unfolded; /* n each: its least point, and for the strategy */
} cmaes;

/* ---- instance ---- */

static void free_run(void *self)
{
    cmaes *o = self;
    cma_free(o->strategy);
    cma_stop_free(&o->stop);
    cma_bounds_free(&o->box);
    ds_memory_free(&o->memory);
    o->strategy = NULL;
}

static ds_status choose_variant(cmaes *o, ds_param_reader *in)
{
    int64_t bounds = ds_param_int(in, "bounds"), covariance = ds_param_int(in, "covariance");
    if (in->status != DS_OK) {
        return in->status;
    }
    if (o->lambda == 1) {
        return ds_host_fail(o->kit.host, DS_E_PARAM,
                            "parameter lambda = 1: give at least 2, or 0 for the default");
    }
    int paper = o->profile == CMA_PAPER;
    o->bounds = bounds > 0 ? bounds - 1 : paper ? CMA_BOUNDS_RESAMPLE : CMA_BOUNDS_TRANSFORM;
    double parameters = (double)o->n * (double)o->n; /* twice the free numbers of C */
    int short_run = o->kit.problem->budget > 0 && (double)o->kit.problem->budget < 10 * parameters;
    o->diagonal = covariance == COVARIANCE_DIAGONAL || (covariance == COVARIANCE_AUTO && short_run && !paper);
    if (!o->diagonal && o->n > EIGEN_MAX_N) {
        return ds_host_fail(o->kit.host, DS_E_PARAM,
                            "covariance = full with %" PRIu64
                            " variables: at most %d; set covariance = diagonal",
                            o->n, EIGEN_MAX_N);
    }
    return DS_OK;
}

static ds_status make_model(cmaes *o, ds_param_reader *in)
{
    o->model = ds_param_int(in, "model");
    if (in->status != DS_OK || o->model == MODEL_NONE) {
        return in->status;
    }
    if (o->n > QUAD_MODEL_MAX_N) {
        return ds_host_fail(o->kit.host, DS_E_PARAM,
                            "model = quad with %" PRIu64 " variables: at most %d; set model = none", o->n,
                            QUAD_MODEL_MAX_N);
    }
    o->least = ds_memory_doubles(&o->kit.memory, o->n);
    o->unfolded = ds_memory_doubles(&o->kit.memory, o->n);
    o->kit.memory.failed |= !quad_model_init(&o->quad, o->n);
    return DS_OK;
}

static void read_params(void *self, ds_param_reader *in)
{
    cmaes *o = self;
    blas_use_one_thread();
    o->n = o->kit.n;
    o->mean = ds_memory_doubles(&o->kit.memory, o->n);
    o->profile = ds_param_int(in, "profile");
    o->lambda = ds_param_int(in, "lambda");
    o->sigma0 = ds_param_real(in, "sigma0");
    o->active = ds_param_int(in, "active");
    o->restarts = ds_param_int(in, "restarts");
    o->restart_stalled = ds_param_int(in, "restart_stalled");
    o->tolfun = ds_param_real(in, "tolfun");
    o->eigen_share = ds_param_real(in, "eigen_share");
    in->status = choose_variant(o, in);
    in->status = in->status != DS_OK ? in->status : make_model(o, in);
}

static void release(void *self)
{
    cmaes *o = self;
    free_run(o);
    quad_model_free(&o->quad);
}

/* ---- one run ---- */

/* The first mean: the start point in run 0, else uniform in the box. */
static void choose_mean(cmaes *o)
{
    ds_random random = ds_random_open(o->kit.host->seed, "init", o->plan.run);
    for (uint64_t i = 0; i < o->n; i++) {
        double v = 2 * ds_random_uniform(&random) - 1;
        if (o->kit.start.v && o->plan.run == 0) {
            v = o->kit.start.v[i];
        }
        o->mean[i] = o->bounds == CMA_BOUNDS_TRANSFORM ? cma_bounds_unfold(v) : v;
    }
}

static ds_status start_run(cmaes *o)
{
    cma_options options = {.n = o->n,
                           .lambda = o->plan.lambda,
                           .profile = (int)o->profile,
                           .active = (int)o->active,
                           .diagonal = o->diagonal,
                           .eigen_share = o->eigen_share};
    double lambda = (double)o->plan.lambda, n = (double)o->n;
    options.generations = 900 * (n + 3) * (n + 3) / lambda;
    if (o->kit.problem->budget > 0) {
        options.generations = fmin(options.generations, (double)o->kit.problem->budget / lambda);
    }
    free_run(o);
    uint64_t rows = o->plan.lambda;
    o->strategy = cma_new(&options);
    o->x = ds_memory_doubles(&o->memory, rows * o->n);
    o->v = ds_memory_doubles(&o->memory, rows * o->n);
    o->point = ds_memory_doubles(&o->memory, rows * o->n);
    o->loss = ds_memory_doubles(&o->memory, rows);
    o->adjusted = ds_memory_doubles(&o->memory, rows);
    if (!o->strategy || o->memory.failed) {
        return DS_E_NOMEM;
    }
    choose_mean(o);
    cma_start(o->strategy, o->mean, o->plan.sigma);
    o->random = ds_random_open(o->kit.host->seed, "sample", o->plan.run);
    o->evaluations = 0;
    quad_model_clear(&o->quad);
    int stall = o->restart_stalled && o->restarts != CMA_RESTART_NONE;
    o->first_best = o->best = HUGE_VAL;
    if (cma_stop_start(&o->stop, o->strategy, o->tolfun, o->plan.max_generations, stall) != 0 ||
        cma_bounds_start(&o->box, (int)o->bounds, o->strategy) != 0) {
        return DS_E_NOMEM;
    }
    return DS_OK;
}

static void warn_clipped(cmaes *o, uint64_t clipped)
{
    if (clipped > 0 && o->bounds == CMA_BOUNDS_NONE && !o->warned) {
        o->kit.host->log(
            o->kit.host, DS_LOG_WARNING,
            "bounds = none: points outside the box are clipped for their evaluation: widen the box");
        o->warned = 1;
    }
}

/* Puts the minimiser of the quadratic model into the last row of the generation, when it is due; returns
 * whether it did. The strategy treats it as an outside point: mean and matrix follow it up to its limit. */
static int propose_least(cmaes *o)
{
    uint64_t row = o->plan.lambda - 1;
    if (o->model == MODEL_NONE || !quad_model_propose(&o->quad, o->evaluations, o->least)) {
        return 0;
    }
    for (uint64_t i = 0; i < o->n; i++) {
        double v = ds_box_clamp(o->least[i], -1.0, 1.0);
        o->v[row * o->n + i] = v;
        o->unfolded[i] = o->bounds == CMA_BOUNDS_TRANSFORM ? cma_bounds_unfold(v) : v;
    }
    cma_inject(o->strategy, row, o->unfolded, o->x);
    return 1;
}

static void learn(cmaes *o)
{
    for (uint64_t k = 0; o->model != MODEL_NONE && k < o->plan.lambda; k++) {
        quad_model_add(&o->quad, o->v + k * o->n, o->loss[k]);
    }
}

/* Evaluates the generation in o->v; the losses go to o->loss. */
static ds_status evaluate(cmaes *o)
{
    const ds_problem *p = o->kit.problem;
    uint64_t lambda = o->plan.lambda;
    for (uint64_t k = 0, j = 0; k < lambda; k++) {
        for (uint64_t i = 0; i < o->n; i++, j++) {
            double u = 0.5 * (o->v[j] + 1), x = (1 - u) * p->lower[i] + u * p->upper[i];
            o->point[j] = ds_box_clamp(x, p->lower[i], p->upper[i]);
        }
    }
    ds_evaluator_request request = {.count = lambda, .x = o->point, .loss = o->loss};
    ds_status status =
        ds_evaluator_send(&o->kit.evaluator, (ds_evaluator_label){"sample", o->plan.run}, &request);
    o->evaluations += request.done;
    return status;
}

/* Losses that differ little compared with the fall since the first generation have converged. */
static void scale_tolerance(cmaes *o)
{
    double least = HUGE_VAL;
    for (uint64_t k = 0; k < o->plan.lambda; k++) {
        least = isfinite(o->loss[k]) ? fmin(least, o->loss[k]) : least;
    }
    o->first_best = isfinite(o->first_best) ? o->first_best : least;
    o->best = fmin(o->best, least);
    o->stop.tolfun = isfinite(o->best) ? o->tolfun * (o->first_best - o->best) : 0;
}

static int all_failed(const cmaes *o)
{
    for (uint64_t k = 0; k < o->plan.lambda; k++) {
        if (isfinite(o->loss[k])) {
            return 0;
        }
    }
    return 1;
}

/* Reports step size and condition number, and recommends the mean of the best run so far. */
static ds_status report(cmaes *o)
{
    static const char *const names[] = {"sigma", "condition"};
    const cma *c = o->strategy;
    double least = c->d[0], most = c->d[0];
    for (uint64_t i = 0; i < o->n; i++) {
        least = fmin(least, c->d[i]);
        most = fmax(most, c->d[i]);
        o->mean[i] =
            o->bounds == CMA_BOUNDS_TRANSFORM ? cma_bounds_fold(c->m[i]) : ds_box_clamp(c->m[i], -1.0, 1.0);
    }
    const double values[] = {c->sigma, (most / least) * (most / least)};
    const int is_best = c->g > 0 && o->best <= o->record;
    o->record = fmin(o->record, o->best);
    return ds_evaluator_report(&o->kit.evaluator, 2, names, values, is_best ? o->mean : NULL);
}

/* One CMA-ES run, until a stop rule fires (DS_OK, *reason) or the objective says stop. */
static ds_status do_run(cmaes *o, int *reason)
{
    cma *c = o->strategy;
    int failed = 0;
    for (*reason = CMA_GO_ON; *reason == CMA_GO_ON;) {
        if (o->kit.host->should_stop(o->kit.host)) {
            return DS_STOPPED;
        }
        if (cma_sample(c, &o->random, o->x) != 0) {
            *reason = CMA_NUMERIC;
            return DS_OK;
        }
        warn_clipped(o, cma_bounds_apply(&o->box, c, &o->random, o->x, o->v));
        int proposed = propose_least(o);
        ds_status status = report(o);
        status = status != DS_OK ? status : evaluate(o);
        if (status != DS_OK) {
            return status;
        }
        learn(o);
        if (all_failed(o)) { /* nothing to rank: search closer to the mean */
            c->sigma *= 0.5;
            if (++failed > MAX_FAILED_GENERATIONS) {
                *reason = CMA_ALL_FAILED;
            }
            continue;
        }
        failed = 0;
        scale_tolerance(o);
        cma_bounds_penalise(&o->box, o->x, o->v, o->loss, o->plan.lambda, o->adjusted);
        if (proposed) { /* it lies in the box, however far it was pulled towards the mean */
            o->adjusted[o->plan.lambda - 1] = o->loss[o->plan.lambda - 1];
        }
        cma_update(c, o->x, o->adjusted, NULL);
        *reason = cma_stop_check(&o->stop, c, o->adjusted);
        cma_bounds_adapt(&o->box, c, o->loss);
    }
    return DS_OK;
}

static void say_why(const cmaes *o, int reason)
{
    ds_host_say(o->kit.host, DS_LOG_INFO,
                "run %" PRIu64 " ended after %" PRIu64 " evaluations: %s (population %" PRIu64
                ", sigma %.3g)",
                o->plan.run, o->evaluations, cma_stop_name(reason), o->plan.lambda, o->strategy->sigma);
}

static ds_status cmaes_begin(void *self)
{
    cmaes *o = self;
    o->record = HUGE_VAL;
    uint64_t lambda0 = o->lambda ? (uint64_t)o->lambda : cma_default_lambda(o->n);
    cma_restart_start(&o->plan, (int)o->restarts, lambda0, o->sigma0, o->kit.host->seed);
    return DS_OK;
}

static ds_status cmaes_search(void *self)
{
    cmaes *o = self;
    int reason = CMA_GO_ON;
    ds_status status = start_run(o);
    status = status != DS_OK ? status : do_run(o, &reason);
    if (status == DS_OK) {
        say_why(o, reason);
        o->kit.finished = !cma_restart_next(&o->plan, o->evaluations);
    }
    return status;
}

static const ds_desc desc = {
    OPT_DESC("cmaes", "1.3"),
    .flags = DS_OPT_USES_BUDGET,
    .summary = "CMA-ES with active update, boundary handling and restarts; uses no gradient.",
    .description = "Works in coordinates in which the box is [-1, 1]^n. Each generation is one batch of "
                   "lambda points. Failed evaluations rank last; when a whole generation fails the step size "
                   "is halved, and after six such generations in a row the run ends.",
    .citation =
        "N. Hansen, The CMA evolution strategy: a tutorial, arXiv:1604.00772; N. Hansen, Benchmarking "
        "a BI-population CMA-ES on the BBOB-2009 function testbed, GECCO 2009.",
};

static const ds_opt_table table = {
    .size = sizeof(cmaes),
    .no_memory_run = "out of memory: set covariance = diagonal, a smaller lambda or restarts = none",
    .read = read_params,
    .release = release,
    .begin = cmaes_begin,
    .round = cmaes_search,
};

DS_OPT_KIT_DEFINE(table, desc)
