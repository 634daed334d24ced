/* SPDX-License-Identifier: Apache-2.0 */
/* turbo.c - TuRBO-1: Bayesian optimization in a trust region that follows the best point. D. Eriksson, M.
 * Pearce, J. Gardner, R. Turner, M. Poloczek, "Scalable global optimization via local Bayesian optimization"
 * (NeurIPS 2019, arXiv:1910.01739):
 *
 *     repeat
 *         evaluate a Latin hypercube of n_init points; L = 0.8; forget all other data
 *         while L >= 0.5^7
 *             fit a Gaussian process (Matern 5/2, a length scale per variable) to the data of this region
 *             box = best point +- L w / 2, with w = length scales / their geometric mean
 *             candidates = Sobol points of the box; where n > 20 most variables are those of the best point
 *             evaluate `batch` candidates, each the minimiser of a draw from the process (Thompson sampling)
 *             3 successes in a row: L = min(2 L, 1.6); ceil(max(4, n) / batch) failures in a row: L = L / 2
 *
 * Where gradients are known, j > 0 adds a descent of j evaluations from the best point of each batch; its
 * points are data, too. Everything is in [0, 1]^n.
 */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/base/sobol.h"
#include "methods/bayes/gp.h"
#include "methods/gradient/descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define L_INIT 0.8
#define L_MAX 1.6
#define L_MIN 0.0078125   /* 0.5^7 */
#define SUCCESSES 3       /* in a row before the trust region grows */
#define SUCCESS_GAIN 1e-3 /* share of the possible gain that counts as a success */
#define TARGET_STEPS                                                                                         \
    0x1p32 /* targets and inputs of the model are multiples of 1 over these: the unit of the */
#define INPUT_STEPS 0x1p40 /* loss changes last digits, which must not reach the fit */
/* expected number of variables in which a candidate differs from the best point */
#define CHANGED_VARIABLES 20
#define FIT_ITERATIONS 50
#define FIT_ALWAYS 200       /* up to this many points a fit in every trial, */
#define FIT_GROWTH 1.1       /* then one whenever there are this many times more */
#define MOST_CANDIDATES 2000 /* a draw costs their cube; the paper has 5000 */

typedef struct turbo {
    ds_opt_kit kit;
    size_t n, n_init, batch, candidates, n_max;
    int64_t J; /* evaluations of a descent; 0 = none */
    descent_options steps;
    descent descent;
    gp *model;
    uint64_t trial;

    /* Data of this trust region. */
    size_t count, capacity, fitted; /* points; allocated; at the last fit of the length scales */
    double *u, *loss;               /* count x n, count (INFINITY where the simulation failed) */
    double best_loss, *best;        /* n: centre of the trust region */
    double L;
    uint64_t successes, failures;

    double *candidate, *draw; /* candidates x n, batch x candidates */
    double *v, *batch_loss;   /* rows x n, rows, with rows = max(n_init, batch) */
    double *y, *order;        /* capacity each: targets of the model, work */
} turbo;

static int reserve_data(turbo *self, size_t count)
{
    if (count <= self->capacity) {
        return 1;
    }
    size_t room = 2 * count + 64;
    double *u = realloc(self->u, room * self->n * sizeof(double));
    self->u = u ? u : self->u;
    double *loss = realloc(self->loss, room * sizeof(double));
    self->loss = loss ? loss : self->loss;
    double *y = realloc(self->y, 2 * room * sizeof(double));
    self->y = y ? y : self->y;
    if (!u || !loss || !y) {
        return 0;
    }
    self->order = self->y + room;
    self->capacity = room;
    return 1;
}

/* Adds points v to the data of the trust region. */
static ds_status learn(turbo *self, size_t count, const double *v, const double *loss)
{
    if (!reserve_data(self, self->count + count)) {
        return ds_host_fail(self->kit.host, DS_E_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        double *u = self->u + self->count * self->n;
        ds_box_u_from_v(self->n, v + i * self->n, u);
        ds_box_snap(self->n, u);
        self->loss[self->count++] = loss[i];
        if (loss[i] < self->best_loss) {
            self->best_loss = loss[i];
            memcpy(self->best, u, self->n * sizeof(double));
        }
    }
    return DS_OK;
}

/* Simulates points v and adds them to the data of the trust region. */
static ds_status simulate(turbo *self, const char *tag, size_t count, const double *v, double *loss,
                          double *gradient, uint32_t *outcome)
{
    size_t done;
    ds_evaluator_label label = {tag, self->kit.round};
    ds_status status =
        ds_evaluator_run(&self->kit.evaluator, label, count, v, loss, gradient, outcome, &done);
    ds_status learned = learn(self, done, v, loss);
    return learned != DS_OK ? learned : status;
}

static ds_status simulate_step(void *self_, const double *s, double *loss, double *gradient,
                               uint32_t *outcome)
{
    return simulate(self_, "descent", 1, s, loss, gradient, outcome);
}

/* A Latin hypercube: in each variable one point per interval of length 1 / n_init. */
static ds_status evaluate_design(turbo *self)
{
    size_t m = self->n_init;
    ds_random rng = ds_random_open(self->kit.host->seed, "design", self->kit.round);
    self->count = self->fitted = 0;
    self->best_loss = INFINITY;
    self->L = L_INIT;
    self->successes = self->failures = 0;
    gp_default_hyper(self->model);
    if (self->kit.start.evaluated && self->kit.round == 1) {
        ds_status status = learn(self, 1, self->kit.start.v, &self->kit.start.loss);
        if (status != DS_OK) {
            return status;
        }
    }
    for (size_t k = 0; k < self->n; k++) {
        for (size_t i = 0; i < m; i++) { /* a random permutation of the intervals (inside-out shuffle) */
            size_t j = (size_t)ds_random_below(&rng, i + 1);
            self->v[i * self->n + k] = self->v[j * self->n + k];
            self->v[j * self->n + k] = (double)i;
        }
        for (size_t i = 0; i < m; i++) {
            double u = (self->v[i * self->n + k] + ds_random_uniform(&rng)) / (double)m;
            self->v[i * self->n + k] = ds_box_clamp(2.0 * u - 1.0, -1.0, 1.0);
        }
    }
    return simulate(self, "init", m, self->v, self->batch_loss, NULL, NULL);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Targets of the model: the last `count` losses, minus their median, over their standard deviation; failed
 * simulations get the worst finite loss. */
static void scale_losses(turbo *self, size_t count)
{
    const double *loss = self->loss + (self->count - count);
    double worst = self->best_loss, largest = 0.0, mean = 0.0, square = 0.0;
    for (size_t i = 0; i < count; i++) {
        worst = isfinite(loss[i]) ? fmax(worst, loss[i]) : worst;
    }
    for (size_t i = 0; i < count; i++) {
        self->y[i] =
            0.25 * (isfinite(loss[i]) ? loss[i] : worst); /* a quarter: differences do not overflow */
        self->order[i] = self->y[i];
    }
    qsort(self->order, count, sizeof(double), ascending);
    double median = 0.5 * self->order[(count - 1) / 2] + 0.5 * self->order[count / 2];
    for (size_t i = 0; i < count; i++) {
        self->y[i] -= median;
        largest = fmax(largest, fabs(self->y[i]));
    }
    for (size_t i = 0; i < count && largest > 0.0; i++) {
        self->y[i] /= largest;
        mean += self->y[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        square += (self->y[i] - mean) * (self->y[i] - mean) / (double)count;
    }
    for (size_t i = 0; i < count && square > 0.0; i++) {
        self->y[i] = rint(self->y[i] / sqrt(square) * TARGET_STEPS) / TARGET_STEPS;
    }
}

static uint32_t stop_requested(const void *host)
{
    const ds_host *h = host;
    return h->should_stop(h);
}

/* DS_E_NUMERIC where the process cannot be conditioned on the data. */
static ds_status fit_model(turbo *self)
{
    size_t count = self->count < self->n_max ? self->count : self->n_max;
    const double *u = self->u + (self->count - count) * self->n;
    ds_status status = DS_OK;
    scale_losses(self, count);
    if (self->count <= FIT_ALWAYS || (double)self->count >= FIT_GROWTH * (double)self->fitted) {
        ds_random rng = ds_random_open(self->kit.host->seed, "fit", self->trial);
        status = gp_fit(self->model, count, u, self->y, FIT_ITERATIONS, &rng, stop_requested, self->kit.host);
        self->fitted = self->count;
    }
    if (status == DS_STOPPED || status == DS_E_NOMEM) {
        return status;
    }
    status = gp_condition(self->model, count, u);
    if (status == DS_OK) {
        gp_set_targets(self->model, self->y);
    }
    return status;
}

/* Sobol points of the trust region; each variable keeps the value of the centre with probability 1 - 20
 * / n. */
static void draw_candidates(turbo *self)
{
    size_t n = self->n, m = self->candidates;
    const double *length = self->model->hyper.length;
    double log_mean = 0.0, change = fmin((double)CHANGED_VARIABLES / (double)n, 1.0);
    ds_random rng = ds_random_open(self->kit.host->seed, "candidates", self->trial);
    for (size_t k = 0; k < n; k++) {
        log_mean += log(length[k]) / (double)n;
    }
    sobol_points(m, n, &rng, self->candidate);
    for (size_t i = 0; i < m; i++) {
        double *c = self->candidate + i * n;
        size_t always = change < 1.0 ? (size_t)ds_random_below(&rng, n) : 0, changed = 0;
        double of_always = c[always];
        for (size_t k = 0; k <= n; k++) {
            size_t at = k < n ? k : always;
            if (k == n && changed > 0) {
                break;
            }
            double half = 0.5 * self->L * length[at] / exp(log_mean);
            double lower = fmax(self->best[at] - half, 0.0), upper = fmin(self->best[at] + half, 1.0);
            int take = k == n || change >= 1.0 || ds_random_uniform(&rng) <= change;
            double t = k == n ? of_always : c[at];
            c[at] = take ? ds_box_clamp(lower + t * (upper - lower), 0.0, 1.0) : self->best[at];
            changed += (size_t)take;
        }
    }
}

/* Thompson sampling: `batch` different candidates, each the minimiser of one joint draw from the process.
 * Without a model they are the first ones. */
static ds_status choose_batch(turbo *self, ds_status fitted)
{
    size_t n = self->n, m = self->candidates;
    ds_random rng = ds_random_open(self->kit.host->seed, "thompson", self->trial);
    ds_status status = fitted;
    status =
        status != DS_OK ? status : gp_sample(self->model, m, self->candidate, self->batch, &rng, self->draw);
    if (status != DS_OK && status != DS_E_NUMERIC) {
        return status;
    }
    for (size_t q = 0; q < self->batch; q++) {
        size_t least = q % m;
        double *f = self->draw + q * m;
        for (size_t i = 0; status == DS_OK && i < m; i++) {
            least = f[i] < f[least] ? i : least;
        }
        for (size_t r = q + 1; status == DS_OK && r < self->batch; r++) {
            self->draw[r * m + least] = INFINITY;
        }
        ds_box_v_from_u(n, self->candidate + least * n, self->v + q * n);
    }
    return DS_OK;
}

/* The possible gain from the best loss: its distance to its floor, or, without a floor, from the median of
 * the last 2 n losses (at least 10) to the best. */
static double left_to_gain(turbo *self, double best)
{
    size_t most = 2 * self->n > 10 ? 2 * self->n : 10, count = 0;
    if (isfinite(self->kit.problem->loss_floor)) {
        return best - self->kit.problem->loss_floor;
    }
    for (size_t i = self->count > most ? self->count - most : 0; i < self->count; i++) {
        if (isfinite(self->loss[i])) {
            self->order[count++] = self->loss[i];
        }
    }
    qsort(self->order, count, sizeof(double), ascending);
    return count > 0 ? fmax(self->order[count / 2] - best, 0.0) : 0.0;
}

/* Success: the best loss of the trust region fell by more than a thousandth of the possible gain. */
static void adjust_trust_region(turbo *self, double before)
{
    double n = (double)self->n, q = (double)self->batch;
    if (self->best_loss < before - SUCCESS_GAIN * left_to_gain(self, before)) {
        self->successes++;
        self->failures = 0;
    } else {
        self->successes = 0;
        self->failures++;
    }
    if (self->successes == SUCCESSES) {
        self->L = fmin(2.0 * self->L, L_MAX);
        self->successes = 0;
    } else if ((double)self->failures >= ceil(fmax(4.0 / q, n / q))) {
        self->L *= 0.5;
        self->failures = 0;
    }
}

/* Reports the length of the trust region, and how often the search began again. */
static ds_status report(turbo *self)
{
    static const char *const names[] = {"length", "restarts"};
    const double values[] = {self->L, (double)self->kit.round - 1};
    return ds_evaluator_report(&self->kit.evaluator, 2, names, values, NULL);
}

/* One batch, and with j > 0 the descent from its best point. */
static ds_status take_trial(turbo *self)
{
    self->trial++;
    double before = self->best_loss;
    ds_status status = fit_model(self);
    if (status == DS_STOPPED || status == DS_E_NOMEM) {
        return status;
    }
    draw_candidates(self);
    status = choose_batch(self, status);
    status = status != DS_OK ? status : report(self);
    status = status != DS_OK ? status
                             : simulate(self, "sample", self->batch, self->v, self->batch_loss, NULL, NULL);
    if (status == DS_OK && self->J > 0) {
        size_t best = 0;
        for (size_t q = 1; q < self->batch; q++) {
            best = self->batch_loss[q] < self->batch_loss[best] ? q : best;
        }
        if (isfinite(self->batch_loss[best])) {
            status = descent_run(&self->descent, self->v + best * self->n, self->J, simulate_step, self);
        }
    }
    adjust_trust_region(self, before);
    return status;
}

/* The searches of one trust region. */
static ds_status turbo_search(void *self_)
{
    turbo *self = self_;
    ds_status status = evaluate_design(self);
    while (status == DS_OK && self->L >= L_MIN && isfinite(self->best_loss)) {
        status = take_trial(self);
    }
    return status;
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    turbo *self = self_;
    size_t n = self->n = self->kit.n;
    blas_use_one_thread();
    self->n_init = (size_t)ds_param_int(in, "n_init");
    self->batch = (size_t)ds_param_int(in, "batch");
    self->candidates = (size_t)ds_param_int(in, "candidates");
    self->n_max = (size_t)ds_param_int(in, "n_max");
    self->J = ds_param_int(in, "j");
    self->steps = descent_read_options(in);
    in->status = in->status != DS_OK
                     ? in->status
                     : opt_check_size(in->host, n, "its model holds all candidates and points",
                                      "cmaes, or with gradients racer, adam or lbfgsb");
    if (self->J > 0 && !self->kit.has_gradient) {
        in->host->log(in->host, DS_LOG_INFO, "the environment has no gradient: j = 0, no descents");
        self->J = 0;
    }
    self->n_init = self->n_init > 0 ? self->n_init : 2 * n;
    if (self->candidates == 0) {
        self->candidates = 100 * n < MOST_CANDIDATES ? 100 * n : MOST_CANDIDATES;
        self->candidates = self->candidates > self->batch ? self->candidates : self->batch;
    }
    if (in->status == DS_OK && self->candidates < self->batch) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "candidates = %zu are too few for batch = %zu points: give at least as many",
                         self->candidates, self->batch);
    }
}

static int allocate(void *self_)
{
    static const gp_model matern = {GP_MATERN52, GP_PRIOR_FLAT, 0.0};
    turbo *self = self_;
    ds_memory *own = &self->kit.memory;
    size_t n = self->n, rows = self->n_init > self->batch ? self->n_init : self->batch;
    self->candidate = ds_memory_doubles(own, self->candidates * n);
    self->draw = ds_memory_doubles(own, self->candidates * self->batch);
    self->v = ds_memory_doubles(own, rows * n);
    self->batch_loss = ds_memory_doubles(own, rows);
    self->best = ds_memory_doubles(own, n);
    self->model = gp_create(n, &matern);
    return self->model && reserve_data(self, rows) && descent_init(&self->descent, n, &self->steps) &&
           ds_opt_kit_rows(&self->kit, rows);
}

static void turbo_release(void *self_)
{
    turbo *self = self_;
    gp_destroy(self->model);
    descent_free(&self->descent);
    free(self->u);
    free(self->loss);
    free(self->y);
}

static const ds_param *const params[] = {
    DS_INT("n_init", "0", 0, 1e6, "",
           "Points of the Latin hypercube at the start of each trust region; 0 = 2 n."),
    DS_INT("batch", "1", 1, 1000, "", "Points chosen at a time and simulated in parallel."),
    DS_INT("candidates", "0", 0, 1e4, "",
           "Points of the trust region to choose from; 0 = 100 n, at most 2000, at least batch."),
    DS_INT("j", "0", 0, 1e6, "",
           "Evaluations of a gradient descent from the best point of each batch; 0 = none."),
    DS_INT("n_max", "1000", 4, 1e5, "", "Most points of the trust region in the model, the latest ones."),
    DESCENT_PARAMS,
    DS_OPT_START_PARAMS("false"),
    NULL};

static const ds_desc desc = {
    OPT_DESC("turbo", "0.3.1"),
    .uses = DS_OPT_IDS(DS_HAS_GRADIENT), /* with j > 0 */
    .summary = "Bayesian optimization in a trust region that follows the best point (TuRBO-1)",
    .description =
        "Repeats: evaluate a Latin hypercube; then, in a box around the best point, fit a Gaussian process "
        "to the points since then and evaluate the minimiser of a random draw from it among many candidates. "
        "The box doubles after 3 successes in a row and halves after max(4, n) failures; once it is smaller "
        "than 1/128 of the search space, begin again elsewhere.\nAt most 5000 variables. Needs no gradient; "
        "with j > 0 a short gradient descent follows every batch.",
    .citation =
        "D. Eriksson, M. Pearce, J. Gardner, R. Turner, M. Poloczek: Scalable global optimization via local "
        "Bayesian optimization. NeurIPS 2019, arXiv:1910.01739; constants of uber-research/TuRBO",
};

static const ds_opt_table table = {
    .size = sizeof(turbo),
    .no_memory = "out of memory: lower candidates or batch",
    .no_memory_run = "out of memory: lower n_max, candidates or batch",
    .read = read_parameters,
    .allocate = allocate,
    .release = turbo_release,
    .round = turbo_search,
};

DS_OPT_KIT_DEFINE(table, desc)
