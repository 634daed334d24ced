/* SPDX-License-Identifier: Apache-2.0 */
/* cma_stop.c - stop rules of one CMA-ES run. Limits differ between the published codes; each profile has its
 * own. No rule depends on the clock. */
#include "methods/cma/cma_stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    "go on",      "tolfun",      "tolx",    "tolfacupx", "condition",         "no effect",
    "stagnation", "flat losses", "maxiter", "stalled",   "numerical failure", "all evaluations failed"};

const char *cma_stop_name(int reason)
{
    return names[reason];
}

/* Default number of generations of one run. */
static double default_max_generations(const cma *c)
{
    double n = (double)c->k.n, lambda = (double)c->k.lambda;
    switch (c->profile) {
    case CMA_PAPER:
        return HUGE_VAL;
    case CMA_C_CMAES:
        return 900 * (n + 3) * (n + 3) / lambda;
    default:
        return 100 + 150 * (n + 3) * (n + 3) / sqrt(lambda);
    }
}

int cma_stop_start(cma_stop *s, const cma *c, double tolfun, double max_generations, int stall)
{
    cma_stop_free(s);
    memset(s, 0, sizeof *s);
    s->profile = c->profile;
    s->sigma0 = c->sigma;
    s->tolfun = tolfun;
    s->max_generations =
        max_generations > 0 ? fmin(max_generations, default_max_generations(c)) : default_max_generations(c);
    s->stall = stall;
    s->best = HUGE_VAL;
    s->window = 10 + (uint64_t)ceil(30 * (double)c->k.n / (double)c->k.lambda);
    s->history = malloc(2 * s->window * sizeof(double));
    return s->history ? 0 : -1;
}

void cma_stop_free(cma_stop *s)
{
    free(s->history);
    free(s->best_record);
    free(s->median_record);
    free(s->scratch);
    s->history = s->best_record = s->median_record = s->scratch = NULL;
    s->records = s->capacity = 0;
}

/* ---- losses ---- */

static int by_value(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

/* Range of the best losses of the window, of best and worst together where `worst` is set. */
static double history_range(const cma_stop *s, int worst)
{
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (uint64_t i = 0; i < s->window; i++) {
        least = fmin(least, s->history[2 * i]);
        most = fmax(most, s->history[2 * i + (worst ? 1 : 0)]);
    }
    return most - least;
}

static int converged_in_loss(cma_stop *s, double best, double worst)
{
    s->history[2 * (s->seen % s->window)] = best;
    s->history[2 * (s->seen % s->window) + 1] = worst;
    s->seen++;
    if (s->seen < s->window || !isfinite(worst)) {
        return 0;
    }
    double range = history_range(s, s->profile == CMA_PAPER);
    double history_limit = s->profile == CMA_C_CMAES ? 0.1 * s->tolfun : s->tolfun;
    if (s->profile == CMA_PAPER) {
        return range < s->tolfun;
    }
    return range < history_limit || (range < s->tolfun && worst - best < s->tolfun);
}

static double median_of(cma_stop *s, const double *from, uint64_t count)
{
    memcpy(s->scratch, from, count * sizeof(double));
    qsort(s->scratch, count, sizeof(double), by_value);
    return count % 2 ? s->scratch[count / 2] : 0.5 * (s->scratch[count / 2 - 1] + s->scratch[count / 2]);
}

static int make_room(cma_stop *s)
{
    if (s->records < s->capacity) {
        return 1;
    }
    uint64_t capacity = s->capacity ? 2 * s->capacity : 256;
    double **const arrays[] = {&s->best_record, &s->median_record, &s->scratch};
    for (int i = 0; i < 3; i++) {
        double *bigger = realloc(*arrays[i], capacity * sizeof(double));
        if (!bigger) {
            return 0;
        }
        *arrays[i] = bigger;
    }
    s->capacity = capacity;
    return 1;
}

/* Best and median of every fifth generation: stops when the newest part is no better than the part before. */
static int stagnates(cma_stop *s, const cma *c, double best, double median)
{
    double n = (double)c->k.n, lambda = (double)c->k.lambda;
    if (s->seen % 5 != 0 || !make_room(s)) {
        return 0;
    }
    s->best_record[s->records] = best;
    s->median_record[s->records++] = median;
    if (s->records <= 100 || (double)s->seen <= n * (5 + 100 / lambda)) {
        return 0;
    }
    double tolstagnation = 100 + 100 * pow(n, 1.5) / lambda;
    uint64_t part = (uint64_t)fmax(tolstagnation / 10, (double)s->records / 10);
    if (2 * part > s->records) {
        return 0;
    }
    const double *newest = s->best_record + s->records - part;
    if (median_of(s, newest, part) < median_of(s, newest - part, part)) {
        return 0;
    }
    newest = s->median_record + s->records - part;
    return median_of(s, newest, part) >= median_of(s, newest - part, part);
}

/* ---- distribution ---- */

static int steps_too_short(const cma_stop *s, const cma *c)
{
    double limit = 1e-12 * s->sigma0;
    if (s->profile == CMA_C_CMAES) {
        return 0;
    }
    for (uint64_t i = 0; i < c->k.n; i++) {
        double deviation = cma_deviation(c, i), path = fabs(c->p_c[i]);
        if (s->profile == CMA_PAPER) { /* as that library has it: variance, signed path */
            deviation *= deviation;
            path = c->p_c[i];
        }
        if (c->sigma * deviation >= limit || c->sigma * path >= limit) {
            return 0;
        }
    }
    return 1;
}

static void axis_range(const cma *c, double *least, double *most)
{
    *least = HUGE_VAL;
    *most = 0;
    for (uint64_t i = 0; i < c->k.n; i++) {
        *least = fmin(*least, c->d[i]);
        *most = fmax(*most, c->d[i]);
    }
}

static int steps_too_long(const cma_stop *s, const cma *c, double longest_axis)
{
    if (s->profile == CMA_PAPER) {
        return c->sigma * longest_axis > 1e4;
    }
    double limit = (s->profile == CMA_C_CMAES ? 1e3 : 1e4) * s->sigma0;
    for (uint64_t i = 0; i < c->k.n; i++) {
        if (c->sigma * cma_deviation(c, i) > limit) {
            return 1;
        }
    }
    return 0;
}

static int ill_conditioned(const cma_stop *s, double least, double most)
{
    double ratio = most / least;
    double condition = s->profile == CMA_PAPER ? ratio : ratio * ratio; /* that library compares D */
    return condition > (s->profile == CMA_C_CMAES ? 9.0e12 : 1e14);
}

static int axis_has_no_effect(const cma *c, uint64_t axis)
{
    uint64_t n = c->k.n;
    double step = 0.1 * c->sigma * c->d[axis];
    if (c->diagonal) {
        return c->m[axis] + step == c->m[axis];
    }
    for (uint64_t i = 0; i < n; i++) {
        if (c->m[i] + step * c->b[axis * n + i] != c->m[i]) {
            return 0;
        }
    }
    return 1;
}

static int steps_have_no_effect(const cma_stop *s, const cma *c)
{
    uint64_t n = c->k.n;
    for (uint64_t i = 0; i < n; i++) {
        if (c->m[i] + 0.2 * c->sigma * cma_deviation(c, i) == c->m[i]) {
            return 1;
        }
        if (s->profile == CMA_C_CMAES && axis_has_no_effect(c, i)) {
            return 1;
        }
    }
    return axis_has_no_effect(c, c->g % n);
}

static int finite_state(const cma *c)
{
    if (!(c->sigma > 0) || !isfinite(c->sigma)) {
        return 0;
    }
    for (uint64_t i = 0; i < c->k.n; i++) {
        double deviation = cma_deviation(c, i);
        if (!isfinite(deviation) || !isfinite(c->m[i])) {
            return 0;
        }
    }
    return 1;
}

int cma_stop_check(cma_stop *s, const cma *c, const double *f)
{
    uint64_t lambda = c->k.lambda;
    uint64_t last = lambda - 1; /* failed evaluations have no loss */
    while (last > 0 && !isfinite(f[c->order[last]])) {
        last--;
    }
    double best = f[c->order[0]], worst = f[c->order[last]], least = 0, most = 0;
    double median = f[c->order[lambda / 2]], quantile = f[c->order[(uint64_t)(0.75 * (double)(lambda - 1))]];
    int adaptive = s->profile == CMA_TUTORIAL || s->profile == CMA_2001;
    if (!finite_state(c)) {
        return CMA_NUMERIC;
    }
    if (best < s->best) {
        s->best = best;
        s->best_g = c->g;
    }
    if (converged_in_loss(s, best, worst)) {
        return CMA_TOLFUN;
    }
    axis_range(c, &least, &most);
    if (steps_too_short(s, c)) {
        return CMA_TOLX;
    }
    if (steps_too_long(s, c, most)) {
        return CMA_TOLFACUPX;
    }
    if (ill_conditioned(s, least, most)) {
        return CMA_CONDITION;
    }
    if (steps_have_no_effect(s, c)) {
        return CMA_NO_EFFECT;
    }
    s->flat = isfinite(best) && best == quantile ? s->flat + 1 : 0;
    if (adaptive && s->flat > 1) {
        return CMA_FLAT;
    }
    if (adaptive && stagnates(s, c, best, median)) {
        return CMA_STAGNATION;
    }
    if ((double)c->g >= s->max_generations) {
        return CMA_MAX_ITER;
    }
    return s->stall && c->sigma * most < 1e-3 * s->sigma0 && c->g - s->best_g >= s->window ? CMA_STALLED
                                                                                           : CMA_GO_ON;
}

/* ---- restarts ---- */

/* The order of BIPOP follows pycma: a small run whenever small runs have cost less than large ones. */

void cma_restart_start(cma_restart *r, int scheme, uint64_t lambda0, double sigma0, uint64_t seed)
{
    *r = (cma_restart){
        .scheme = scheme, .lambda0 = lambda0, .sigma0 = sigma0, .lambda = lambda0, .sigma = sigma0};
    r->random = ds_random_open(seed, "restart", 0);
}

static void plan_large(cma_restart *r)
{
    r->large_runs++;
    r->large = 1;
    r->lambda = r->lambda0 << r->large_runs;
    r->sigma = r->sigma0;
    r->max_generations = 0;
}

/* Population between lambda0 and the last large one (as pycma; up to half of that in Hansen 2009), mostly
 * near lambda0; a step size up to 100 times smaller. */
static void plan_small(cma_restart *r)
{
    double u = ds_random_uniform(&r->random), v = ds_random_uniform(&r->random);
    r->large = 0;
    r->lambda = (uint64_t)floor((double)r->lambda0 * pow(pow(2, (double)r->large_runs), u * u));
    r->sigma = r->sigma0 * pow(10, -2 * v);
    r->max_generations = fmax(1, floor(0.5 * r->large_evaluations / (double)r->lambda));
}

int cma_restart_next(cma_restart *r, uint64_t evaluations)
{
    *(r->large ? &r->large_evaluations : &r->small_evaluations) += (double)evaluations;
    if (r->scheme == CMA_RESTART_NONE) {
        return 0;
    }
    r->run++;
    if (r->scheme == CMA_RESTART_BIPOP && r->small_evaluations < fmax(1, r->large_evaluations)) {
        plan_small(r);
        return 1;
    }
    if (r->large_runs == CMA_MAX_LARGE_RUNS) {
        return 0;
    }
    plan_large(r);
    return 1;
}
