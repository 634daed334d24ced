/* SPDX-License-Identifier: Apache-2.0 */
/* acquisition.c - LCB, EI and logEI with derivatives, and a multi-start L-BFGS-B search for their
 * minimum, see acquisition.h. The searches advance in step, so that each posterior evaluation is one matrix
 * product for all. */
#include "methods/bayes/acquisition.h"

#include "methods/base/sobol.h"
#include "methods/gradient/lbfgsb.h"

#include <diffsim/helper/box.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALF_LOG_2PI 0.91893853320467274178
#define HALF_LOG_HALF_PI 0.22579135264472743236
#define SQRT_HALF 0.70710678118654752440
#define RACE_ROUNDS                                                                                          \
    30 /* rounds after which half of the searches are given up, again after twice as many, ... */
#define RACE_LEAST 2    /* ... until this many are left */
#define SAME_POINT 1e-6 /* two inputs closer than this in every coordinate count as one */

/* exp(x^2) erfc(x) for x >= 0; from 25 on the asymptotic series, whose next term is below 1e-14 there. */
static double erfcx_positive(double x)
{
    if (x < 25.0) {
        return exp(x * x) * erfc(x);
    }
    double t = 1.0 / (x * x);
    double series = 1.0 - t * (0.5 - t * (0.75 - t * (1.875 - t * (6.5625 - t * 29.53125))));
    return series / (x * 1.7724538509055160273);
}

static double normal_density(double z)
{
    return exp(-0.5 * z * z - HALF_LOG_2PI);
}

static double normal_cdf(double z)
{
    return 0.5 * erfc(-z * SQRT_HALF);
}

double acquisition_log_h(double z, double *derivative)
{
    if (z > -1.0) {
        double h = normal_density(z) + z * normal_cdf(z);
        *derivative = normal_cdf(z) / h;
        return log(h);
    }
    double log_density = -0.5 * z * z - HALF_LOG_2PI;
    if (z <= -1e6) {
        *derivative = -z;
        return log_density - 2.0 * log(-z);
    }
    /* h = phi (1 - e^w) with e^w = |z| Phi / phi */
    double w = log(erfcx_positive(-z * SQRT_HALF) * -z) + HALF_LOG_HALF_PI;
    double rest = -expm1(w);
    *derivative = exp(w) / (-z * rest);
    return log_density + (w > -0.69314718055994530942 ? log(rest) : log1p(-exp(w)));
}

double acquisition_value(const acquisition *a, double mean, double sd, double *d_mean, double *d_sd)
{
    if (a->kind == ACQUISITION_LCB) {
        *d_mean = 1.0;
        *d_sd = -a->alpha;
        return mean - a->alpha * sd;
    }
    double z = (a->best - mean) / sd;
    if (a->kind == ACQUISITION_EI) {
        *d_mean = normal_cdf(z);
        *d_sd = -normal_density(z);
        return -sd * fmax(0.0, normal_density(z) + z * normal_cdf(z));
    }
    double slope, log_h = acquisition_log_h(z, &slope);
    *d_mean = slope / sd;
    *d_sd = (slope * z - 1.0) / sd;
    return -(log(sd) + log_h);
}

/* Buffers of one search. */
typedef struct raw_points {
    size_t count;
    double *u, *value, *mean, *sd;
    ds_memory memory;
} raw_points;

/* One point near `good`: all coordinates moved by N(0, 1e-3^2), or about 20 of them by N(0, 0.1^2),
 * at least one. */
static void draw_near(size_t d, const double *good, int few, ds_random *rng, double *u)
{
    double share = fmin(1.0, 20.0 / (double)d);
    size_t forced = (size_t)ds_random_below(rng, d);
    for (size_t k = 0; k < d; k++) {
        u[k] = good[k];
        if (!few) {
            u[k] += 1e-3 * ds_random_normal(rng);
        } else if (ds_random_uniform(rng) < share || k == forced) {
            u[k] += 0.1 * ds_random_normal(rng);
        }
        u[k] = ds_box_clamp(u[k], 0.0, 1.0);
    }
}

/* Evaluates the raw points: Sobol points over the cube and points around the good ones (the heuristics of
 * BoTorch's "sample around best": small steps in all coordinates, larger ones in a subset). */
static ds_status make_raw(gp *g, const acquisition *a, const acquisition_search *search, ds_random *rng,
                          raw_points *raw)
{
    size_t d = g->d, near = search->good_count > 0 ? search->raw / 2 : 0;
    raw->count = search->raw + 2 * near;
    raw->u = ds_memory_doubles(&raw->memory, raw->count * d);
    ds_memory_each(&raw->memory, raw->count, (double **const[]){&raw->value, &raw->mean, &raw->sd, NULL});
    if (raw->memory.failed) {
        return DS_E_NOMEM;
    }
    sobol_points(search->raw, d, rng, raw->u);
    for (size_t i = 0; i < 2 * near; i++) {
        size_t pick = (size_t)ds_random_below(rng, search->good_count);
        draw_near(d, search->good + pick * d, i >= near, rng, raw->u + (search->raw + i) * d);
    }
    ds_status status = gp_predict(g, raw->count, raw->u, raw->mean, raw->sd, NULL, NULL);
    for (size_t i = 0; i < raw->count && status == DS_OK; i++) {
        double unused[2];
        raw->value[i] = acquisition_value(a, raw->mean[i], raw->sd[i], &unused[0], &unused[1]);
    }
    return status;
}

/* Index of the least value among points not marked in `skip`. */
static size_t best_raw(const raw_points *raw, const unsigned char *skip)
{
    size_t best = raw->count;
    for (size_t i = 0; i < raw->count; i++) {
        if (!(skip && skip[i]) && (best == raw->count || raw->value[i] < raw->value[best])) {
            best = i;
        }
    }
    return best;
}

/* Draws `count` indices without replacement with probability proportional to exp(-standardised value); the
 * best raw point is always among them. Uses raw->mean for the weights. */
static void draw_starts(const raw_points *raw, size_t count, ds_random *rng, size_t *index)
{
    double mean = 0.0, square = 0.0, total = 0.0, *weight = raw->mean;
    for (size_t i = 0; i < raw->count; i++) {
        mean += raw->value[i] / (double)raw->count;
    }
    for (size_t i = 0; i < raw->count; i++) {
        square += (raw->value[i] - mean) * (raw->value[i] - mean);
    }
    double sd = sqrt(square / fmax(1.0, (double)raw->count - 1.0));
    size_t best = best_raw(raw, NULL);
    for (size_t i = 0; i < raw->count; i++) {
        weight[i] = sd > 0.0 && isfinite(sd) ? exp(-(raw->value[i] - raw->value[best]) / sd) : 1.0;
        total += weight[i];
    }
    int has_best = 0;
    for (size_t j = 0; j < count; j++) {
        double target = ds_random_uniform(rng) * total, sum = 0.0;
        size_t chosen = raw->count;
        for (size_t i = 0; i < raw->count; i++) {
            sum += weight[i];
            if (weight[i] > 0.0) {
                chosen = i;
                if (sum >= target) {
                    break;
                }
            }
        }
        chosen = chosen < raw->count ? chosen : best;
        index[j] = chosen;
        has_best |= chosen == best;
        total -= weight[chosen];
        weight[chosen] = 0.0;
    }
    if (!has_best) {
        index[count - 1] = best;
    }
}

/* The searches and the buffers of one round of evaluations. */
typedef struct search_group {
    size_t count, active;
    lbfgsb **search;
    size_t *owner; /* row of the round -> search */
    size_t *rank;  /* of each row among the others */
    double *u, *mean, *sd, *dmean, *dsd;
    ds_memory memory;
} search_group;

static void free_group(search_group *s)
{
    for (size_t j = 0; s->search && j < s->count; j++) {
        lbfgsb_destroy(s->search[j]);
    }
    ds_memory_free(&s->memory);
}

static ds_status make_group(size_t d, size_t count, int max_iterations, search_group *s)
{
    lbfgsb_options options = LBFGSB_DEFAULTS;
    options.max_iterations = max_iterations;
    s->count = count;
    s->search = ds_memory_take(&s->memory, count, sizeof(*s->search));
    s->owner = ds_memory_take(&s->memory, count, sizeof(*s->owner));
    s->rank = ds_memory_take(&s->memory, count, sizeof(*s->rank));
    ds_memory_each(&s->memory, count * d, (double **const[]){&s->u, &s->dmean, &s->dsd, NULL});
    ds_memory_each(&s->memory, count, (double **const[]){&s->mean, &s->sd, NULL});
    double *lower = ds_memory_doubles(&s->memory, d), *upper = ds_memory_doubles(&s->memory, d);
    if (s->memory.failed) {
        return DS_E_NOMEM;
    }
    for (size_t k = 0; k < d; k++) {
        upper[k] = 1.0;
    }
    for (size_t j = 0; j < count; j++) {
        s->search[j] = lbfgsb_create(d, lower, upper, &options);
        if (!s->search[j]) {
            return DS_E_NOMEM;
        }
    }
    return DS_OK;
}

/* Keeps the better half of the active searches, in their order. */
static size_t give_up_half(search_group *s, size_t active)
{
    size_t keep = (active + 1) / 2 > RACE_LEAST ? (active + 1) / 2 : RACE_LEAST, kept = 0;
    for (size_t r = 0; r < active; r++) {
        double mine, other;
        size_t better = 0;
        lbfgsb_solution(s->search[s->owner[r]], &mine);
        for (size_t q = 0; q < active; q++) {
            lbfgsb_solution(s->search[s->owner[q]], &other);
            better += other < mine || (other == mine && q < r);
        }
        s->rank[r] = better;
    }
    for (size_t r = 0; r < active; r++) {
        if (s->rank[r] < keep) {
            s->owner[kept++] = s->owner[r];
        }
    }
    return kept;
}

/* Runs all searches to their ends, except for those given up early: in many dimensions a search takes
 * hundreds of rounds, and early rounds show which searches lead somewhere. */
static ds_status run_group(gp *g, const acquisition *a, search_group *s, gp_stop stop, const void *stop_ctx)
{
    size_t d = g->d, active = s->count;
    for (size_t j = 0; j < s->count; j++) {
        s->owner[j] = j;
    }
    for (int round = 0, race = RACE_ROUNDS; active > 0; round++) {
        if (round == race && active > RACE_LEAST) {
            active = give_up_half(s, active);
            race *= 2;
        }
        if (stop && stop(stop_ctx)) {
            return DS_STOPPED;
        }
        for (size_t r = 0; r < active; r++) {
            memcpy(s->u + r * d, lbfgsb_point(s->search[s->owner[r]]), d * sizeof(double));
        }
        ds_status status = gp_predict(g, active, s->u, s->mean, s->sd, s->dmean, s->dsd);
        if (status != DS_OK) {
            return status;
        }
        size_t still = 0;
        for (size_t r = 0; r < active; r++) {
            double d_mean, d_sd;
            double value = acquisition_value(a, s->mean[r], s->sd[r], &d_mean, &d_sd);
            double *gradient = s->dmean + r * d;
            for (size_t k = 0; k < d; k++) {
                gradient[k] = d_mean * gradient[k] + d_sd * s->dsd[r * d + k];
            }
            size_t owner = s->owner[r];
            if (lbfgsb_tell(s->search[owner], value, gradient) == LBFGSB_EVALUATE) {
                s->owner[still++] = owner;
            }
        }
        active = still;
    }
    return DS_OK;
}

static int was_told(const gp *g, const acquisition_search *search, const double *u)
{
    size_t d = g->d;
    double near = search->near * search->near;
    for (size_t i = 0; i < search->told_count; i++) {
        const double *t = search->told + i * d;
        double square = 0.0;
        int same = 1;
        for (size_t k = 0; k < d && (same || square < near); k++) {
            double z = (u[k] - t[k]) / g->hyper.length[k];
            square += z * z;
            same &= fabs(u[k] - t[k]) <= SAME_POINT;
        }
        if (same || square < near) {
            return 1;
        }
    }
    return 0;
}

/* The end point with the least value; where that point is already known, the best raw point that is not. */
static ds_status pick_best(const gp *g, const acquisition_search *search, const search_group *group,
                           const raw_points *raw, double *best_point)
{
    size_t d = g->d;
    double least = INFINITY;
    const double *best = raw->u + best_raw(raw, NULL) * d;
    for (size_t j = 0; j < group->count; j++) {
        double value;
        const double *u = lbfgsb_solution(group->search[j], &value);
        if (value < least) {
            least = value;
            best = u;
        }
    }
    memcpy(best_point, best, d * sizeof(double));
    if (!was_told(g, search, best)) {
        return DS_OK;
    }
    unsigned char *skip = calloc(raw->count, 1);
    if (!skip) {
        return DS_E_NOMEM;
    }
    size_t i;
    while ((i = best_raw(raw, skip)) < raw->count) {
        if (!was_told(g, search, raw->u + i * d)) {
            memcpy(best_point, raw->u + i * d, d * sizeof(double));
            break;
        }
        skip[i] = 1;
    }
    free(skip);
    return DS_OK;
}

ds_status acquisition_minimise(gp *g, const acquisition *a, const acquisition_search *search, ds_random *rng,
                               gp_stop stop, const void *stop_ctx, double *best_point)
{
    raw_points raw = {0};
    search_group group = {0};
    size_t starts = search->starts < search->raw ? search->starts : search->raw;
    size_t *index = calloc(starts, sizeof(*index));
    ds_status status = index ? make_raw(g, a, search, rng, &raw) : DS_E_NOMEM;
    status = status != DS_OK ? status : make_group(g->d, starts, search->max_iterations, &group);
    if (status == DS_OK) {
        draw_starts(&raw, starts, rng, index);
        for (size_t j = 0; j < starts; j++) {
            lbfgsb_start(group.search[j], raw.u + index[j] * g->d);
        }
        status = run_group(g, a, &group, stop, stop_ctx);
    }
    status = status != DS_OK ? status : pick_best(g, search, &group, &raw, best_point);
    free(index);
    free_group(&group);
    ds_memory_free(&raw.memory);
    return status;
}
