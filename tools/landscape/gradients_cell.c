/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_cell.c - the estimates at one place with one setting: repeated, mixed, and compared with a long
 * run. */
#include "config.h"

#include "landscape/gradients.h"
#include "stats/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const ds_estimate_names[DS_ESTIMATES] = {"first", "zeroth", "alpha"};

enum {
    KEPT_NUMBERS = 1 << 20, /* of first-order samples of the long run, for the empirical bias */
    BATCHES = 20            /* of the long run */
};

/* Blocks of n numbers in g->work. */
enum {
    REFERENCE = 0,   /* 2: mean of the long run, and its scatter */
    ROOM_FIRST = 2,  /* 2: moments of one estimate */
    ROOM_ZEROTH = 4, /* 2 */
    LONG_FIRST = 6,  /* 2: moments of first-order samples of the long run */
    MEANS = 8,       /* 2 for each estimate: moments over the repeats */
    MIXED = 14,
    DIRECTION = 15,
    TILT = 16,
    BLOCKS = 17
};

/* Columns of results per repeat. */
enum { SLOPE = 0, SQUARE = 3, VARIANCE = 6, DISTANCE = 8, EPS, WEIGHT, SMOOTHED, COLUMNS };

/* A cell in progress. */
typedef struct cell_work {
    ds_gradients *g;
    ds_cell *c;
    uint64_t n;
    ds_sampler sampler;
    double *column; /* COLUMNS x repeats */
    ds_moments mean[DS_ESTIMATES];
    uint64_t samples, failed, clamped; /* of all repeats */
    uint64_t which[DS_ALPHA_CASES];
    double within[DS_ESTIMATES]; /* of the last estimate: variance of its slope, from its own samples */
} cell_work;

void ds_gradients_index(const ds_gradients *g, uint64_t k, uint64_t at[DS_DIMS_MAX])
{
    for (int d = g->dims - 1; d >= 0; d--) {
        at[d] = k % g->dim[d].count;
        k /= g->dim[d].count;
    }
}

uint64_t ds_gradients_room(uint64_t n)
{
    return BLOCKS * n;
}

static double *block(const cell_work *w, int k)
{
    return w->g->work + (uint64_t)k * w->n;
}

static double slope_of(const cell_work *w, const double *gradient)
{
    const double *d = block(w, DIRECTION);
    double sum = 0;
    for (uint64_t k = 0; k < w->n; k++) {
        sum += d[k] < 0 || d[k] > 0 ? gradient[k] * d[k] : 0;
    }
    return sum;
}

static ds_stat none(void)
{
    return (ds_stat){NAN, NAN, NAN};
}

static ds_stat around(double mean, double half)
{
    return (ds_stat){mean, mean - half, mean + half};
}

/* Half the width of the interval of a mean with this variance. */
static double half_width(const cell_work *w, double variance, uint64_t count)
{
    return count < 2
               ? (double)NAN
               : ds_student_quantile(0.5 + 0.5 * w->g->wish.level, (double)(count - 1)) * sqrt(variance);
}

/* The mean of the finite values and its interval; a single value has none. */
static ds_stat stat_of(const cell_work *w, double *v, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (isfinite(v[i])) {
            v[kept++] = v[i];
        }
    }
    ds_interval t = ds_student_interval(v, kept, w->g->wish.level);
    return kept == 0 ? none() : (ds_stat){ds_sample_mean(v, kept), t.low, t.high};
}

/* ---- the long run ---- */

/* Chooses the direction of slopes: the axis of the slice, the gradient of the long run (`reference`), or the
 * first variable. */
static void choose_direction(cell_work *w, const double *reference)
{
    double *d = block(w, DIRECTION), length = 0;
    memset(d, 0, w->n * sizeof *d);
    if (w->g->wish.slice) {
        for (uint64_t k = 0; k < w->n; k++) {
            d[k] = w->g->scale[k] > 0 ? w->g->axis[k] / w->g->scale[k] : 0;
        }
        return;
    }
    for (uint64_t k = 0; w->n > 1 && reference != NULL && k < w->n; k++) {
        length = hypot(length, reference[k]);
    }
    for (uint64_t k = 0; length > 0 && isfinite(length) && k < w->n; k++) {
        d[k] = reference[k] / length;
    }
    if (!(length > 0 && isfinite(length))) {
        d[0] = 1;
    }
}

/* Scatter of the long run's slope, from its batches. */
static void measure_slope(cell_work *w, const double *batch, uint64_t count)
{
    double slope[BATCHES];
    for (uint64_t b = 0; b < count; b++) {
        slope[b] = slope_of(w, batch + b * w->n);
    }
    double sd = ds_sample_sd(slope, count);
    w->g->reference.slope_variance = sd * sd / (double)count;
    w->g->reference.slope =
        around(ds_sample_mean(slope, count), half_width(w, w->g->reference.slope_variance, count));
}

/* Direction and slope of the long run. The slope of a noisy gradient along itself would be too large, so one
 * half of the batches gives the direction, the other half the slope. */
static void choose_ways(cell_work *w, const double *batch)
{
    const uint64_t half = BATCHES / 2;
    double *mean = block(w, MIXED);
    if (w->g->wish.slice || w->n == 1) {
        choose_direction(w, NULL);
        measure_slope(w, batch, BATCHES);
        return;
    }
    for (uint64_t k = 0; k < w->n; k++) {
        mean[k] = 0;
        for (uint64_t b = 0; b < half; b++) {
            mean[k] += batch[b * w->n + k] / (double)half;
        }
    }
    choose_direction(w, mean);
    measure_slope(w, batch + half * w->n, BATCHES - half);
}

static void keep_message(ds_gradients *g, const char message[DS_SAMPLE_MESSAGE])
{
    if (message[0] != '\0' && g->message[0] == '\0') {
        memcpy(g->message, message, sizeof g->message);
    }
}

/* Counts evaluations of the cell, and failures of all cells. */
static void count_all(cell_work *w, const ds_sample_set *set)
{
    w->c->evaluations += set->evaluations;
    w->g->failed += set->failed;
    keep_message(w->g, set->message);
}

/* The same for x itself. */
static void count_center(cell_work *w, const char message[DS_SAMPLE_MESSAGE])
{
    w->c->evaluations++;
    w->g->failed += isnan(w->c->loss);
    keep_message(w->g, message);
}

/* One batch: its mean goes to `mean`; first-order samples are appended in `set`. Returns 0 without an
 * estimate. */
static int refer_batch(cell_work *w, uint64_t place, uint64_t b, ds_sample_set *set, double *mean,
                       ds_error *e)
{
    const ds_gradients *g = w->g;
    const int first = g->has_gradient && g->wish.reference_order == DS_REFERENCE_FIRST;
    ds_sampler s = w->sampler;
    s.antithetic = !s.actions;
    s.tilt = g->has_gradient && !s.actions ? block(w, TILT) : NULL;
    set->index = (place - 1) * BATCHES + b;
    int rc = ds_sample(&s, set, e);
    if (rc == 0) {
        const ds_moments *m = first ? &set->first : &set->zeroth;
        for (uint64_t k = 0; k < w->n; k++) {
            mean[k] = m->count > 0 ? m->mean[k] : (double)NAN;
        }
        count_all(w, set);
    }
    return rc;
}

/* The control variate of the long run's zeroth order: an estimate of the gradient from samples that the long
 * run does not use, both orders by inverse variances, shrunk according to its uncertainty (W. James and C.
 * Stein, 1961). Any vector would be correct; a noisy one would be worse than none. */
static void make_tilt(cell_work *w, const ds_sample_set *set)
{
    const double V1 = ds_moments_variance(&set->first) / (double)set->first.samples;
    const double V0 = ds_moments_variance(&set->zeroth) / (double)set->zeroth.samples;
    const double alpha = V0 + V1 > 0 ? V0 / (V0 + V1) : 1;
    double *tilt = block(w, TILT), square = 0;
    for (uint64_t k = 0; k < w->n; k++) {
        tilt[k] = alpha * set->first.mean[k] + (1 - alpha) * set->zeroth.mean[k];
        square += tilt[k] * tilt[k];
    }
    double shrink = square > 0 ? fmax(0.0, 1 - (1 - alpha) * V0 / square) : 0;
    shrink = isfinite(shrink) ? shrink : 0;
    for (uint64_t k = 0; k < w->n; k++) {
        tilt[k] = shrink > 0 ? shrink * tilt[k] : 0.0;
    }
}

static int find_tilt(cell_work *w, uint64_t place, ds_error *e)
{
    ds_sample_set set = {.stream = "gradients.tilt",
                         .index = place,
                         .count = w->g->wish.reference / BATCHES,
                         .orders = DS_ORDER_FIRST | DS_ORDER_ZEROTH,
                         .room1 = block(w, ROOM_FIRST),
                         .room0 = block(w, ROOM_ZEROTH)};
    memset(block(w, TILT), 0, w->n * sizeof(double));
    if (!w->g->has_gradient || w->g->actions) {
        return 0;
    }
    int rc = ds_sample(&w->sampler, &set, e);
    if (rc == 0 && set.first.count > 1 && set.zeroth.count > 1) {
        make_tilt(w, &set);
    }
    count_all(w, &set);
    return rc;
}

/* Empirical bias and variance of one sample, from single first-order samples. */
static int judge_rare(cell_work *w, const double *z, uint64_t count, ds_error *e)
{
    ds_reference *r = &w->g->reference;
    ds_moments m;
    ds_moments_begin(&m, w->n, block(w, LONG_FIRST));
    for (uint64_t i = 0; i < count; i++) {
        ds_moments_add(&m, z + i * w->n, 1);
    }
    r->rare_variance = ds_moments_variance(&m);
    return ds_empirical_bias_of(z, count, w->n, m.mean, w->g->wish.beta, &r->rare) != 0 ? ds_no_memory(e) : 0;
}

static int refer_all(cell_work *w, uint64_t place, double *batch, double *keep, uint64_t rows, ds_error *e)
{
    ds_gradients *g = w->g;
    ds_reference *r = &g->reference;
    ds_moments means;
    uint64_t kept = 0;
    int rc = find_tilt(w, place, e);
    *r = (ds_reference){.place = place, .rare = {NAN, NAN, NAN, NAN}, .rare_variance = NAN};
    ds_moments_begin(&means, w->n, block(w, REFERENCE));
    for (uint64_t b = 0; b < BATCHES && rc == 0; b++) {
        ds_sample_set set = {.stream = "gradients.reference",
                             .count = g->wish.reference / BATCHES,
                             .orders = DS_ORDER_ZEROTH | (g->has_gradient ? DS_ORDER_FIRST : 0),
                             .room1 = block(w, ROOM_FIRST),
                             .room0 = block(w, ROOM_ZEROTH),
                             .keep = keep != NULL ? keep + kept * w->n : NULL,
                             .keep_rows = rows - kept};
        rc = refer_batch(w, place, b, &set, batch + b * w->n, e);
        kept += rc == 0 ? set.kept : 0;
        if (rc == 0) {
            ds_moments_add(&means, batch + b * w->n, set.count);
        }
    }
    if (rc == 0) {
        double sum = 0;
        for (uint64_t k = 0; k < w->n; k++) {
            sum += means.m2[k] / (BATCHES - 1.0) / BATCHES;
        }
        r->total = sum;
        choose_ways(w, batch);
    }
    return rc == 0 && kept > 1 ? judge_rare(w, keep, kept, e) : rc;
}

/* Makes the long run, unless the current one belongs to this place. */
static int refer(cell_work *w, uint64_t place, ds_error *e)
{
    ds_gradients *g = w->g;
    int rc = 0;
    if (g->wish.reference == 0) {
        g->reference = (ds_reference){.slope = none(),
                                      .rare = {NAN, NAN, NAN, NAN},
                                      .rare_variance = NAN,
                                      .total = NAN,
                                      .slope_variance = NAN};
        choose_direction(w, NULL);
    } else if (g->reference.place != place) {
        uint64_t rows = KEPT_NUMBERS / w->n;
        rows = !g->has_gradient || g->wish.beta <= 0 ? 0
               : rows < g->wish.reference            ? rows
                                                     : g->wish.reference;
        double *batch = malloc((BATCHES + rows) * w->n * sizeof *batch);
        rc = batch == NULL ? ds_no_memory(e)
                           : refer_all(w, place, batch, rows > 0 ? batch + BATCHES * w->n : NULL, rows, e);
        free(batch);
    }
    w->c->reference = g->reference.slope;
    w->c->reference_error = sqrt(g->reference.total);
    w->c->rare = g->reference.rare;
    w->c->rare_variance = g->reference.rare_variance;
    return rc;
}

/* ---- repeats ---- */

static void put(const cell_work *w, int column, uint64_t repeat, double value)
{
    w->column[(uint64_t)column * w->g->wish.repeats + repeat] = value;
}

static void count_in(cell_work *w, const ds_sample_set *set)
{
    w->samples += set->evaluations;
    w->failed += set->failed;
    w->clamped += set->clamped;
    count_all(w, set);
}

/* Variance of the slope of an estimate, from its samples; NAN along several variables, whose covariances are
 * not kept. */
static double variance_within(const cell_work *w, const ds_moments *m)
{
    const double *d = block(w, DIRECTION);
    double sum = 0;
    int along = 0;
    for (uint64_t k = 0; k < w->n; k++) {
        along += d[k] < 0 || d[k] > 0;
        sum += d[k] < 0 || d[k] > 0 ? d[k] * d[k] * ds_moments_variance_of(m, k) / (double)m->samples : 0;
    }
    return along == 1 ? sum : (double)NAN;
}

/* Records one estimate of all three kinds. */
static void note(cell_work *w, uint64_t repeat, const ds_moments *first, const ds_moments *zeroth)
{
    const ds_gradients *g = w->g;
    const int has[2] = {first != NULL && first->count > 1, zeroth->count > 1};
    const double variance1 = has[0] ? ds_moments_variance(first) : (double)NAN;
    const double variance0 = has[1] ? ds_moments_variance(zeroth) : (double)NAN;
    ds_alpha_rule rule = g->wish.rule;
    rule.gamma = w->c->gamma;
    double distance = has[0] && has[1] ? ds_distance(first->mean, zeroth->mean, w->n) : (double)NAN;
    ds_alpha a = ds_alpha_choose(&rule, variance1, variance0, distance, w->n, zeroth->samples);
    double *mixed = block(w, MIXED);
    for (uint64_t k = 0; k < w->n; k++) {
        mixed[k] =
            (has[0] ? a.alpha * first->mean[k] : 0.0) + (has[1] ? (1 - a.alpha) * zeroth->mean[k] : 0.0);
    }
    const double *estimate[DS_ESTIMATES] = {has[0] ? first->mean : NULL, has[1] ? zeroth->mean : NULL,
                                            has[0] || has[1] ? mixed : NULL};
    for (int k = 0; k < DS_ESTIMATES; k++) {
        double off = estimate[k] != NULL && g->wish.reference > 0
                         ? ds_distance(estimate[k], block(w, REFERENCE), w->n)
                         : (double)NAN;
        put(w, SLOPE + k, repeat, estimate[k] != NULL ? slope_of(w, estimate[k]) : (double)NAN);
        put(w, SQUARE + k, repeat, off * off);
        if (estimate[k] != NULL) {
            ds_moments_add(&w->mean[k], estimate[k], 1);
        }
    }
    const double v1 = has[0] ? variance_within(w, first) : 0, v0 = has[1] ? variance_within(w, zeroth) : 0;
    w->within[DS_FIRST] = has[0] ? v1 : (double)NAN;
    w->within[DS_ZEROTH] = has[1] ? v0 : (double)NAN;
    w->within[DS_ALPHA] =
        g->wish.shared ? (double)NAN : a.alpha * a.alpha * v1 + (1 - a.alpha) * (1 - a.alpha) * v0;
    put(w, VARIANCE, repeat, variance1);
    put(w, VARIANCE + 1, repeat, variance0);
    put(w, DISTANCE, repeat, distance);
    put(w, EPS, repeat, a.eps);
    put(w, WEIGHT, repeat, has[0] || has[1] ? a.alpha : (double)NAN);
    w->which[a.which] += has[0] || has[1];
}

/* Draws the samples of both orders for one repeat. */
static int repeat_once(cell_work *w, uint64_t k, uint64_t repeat, ds_error *e)
{
    const ds_gradients *g = w->g;
    const uint64_t index = k * g->wish.repeats + repeat;
    const int both = g->wish.shared && g->has_gradient;
    ds_sample_set zeroth = {.stream = "gradients.zeroth",
                            .index = index,
                            .count = w->c->samples,
                            .orders = DS_ORDER_ZEROTH | (both ? DS_ORDER_FIRST : 0),
                            .room1 = block(w, ROOM_FIRST),
                            .room0 = block(w, ROOM_ZEROTH)};
    ds_sample_set first = {.stream = "gradients.first",
                           .index = index,
                           .count = w->c->samples,
                           .orders = DS_ORDER_FIRST,
                           .room1 = block(w, ROOM_FIRST)};
    int rc = ds_sample(&w->sampler, &zeroth, e);
    if (rc == 0 && g->has_gradient && !both) {
        rc = ds_sample(&w->sampler, &first, e);
        count_in(w, &first);
    }
    if (rc == 0) {
        count_in(w, &zeroth);
        put(w, SMOOTHED, repeat, zeroth.loss.count > 0 ? zeroth.loss.mean[0] : (double)NAN);
        note(w, repeat, !g->has_gradient ? NULL : both ? &zeroth.first : &first.first, &zeroth.zeroth);
    }
    return rc;
}

/* ---- results of a cell ---- */

/* Root of a mean square minus its noise; NAN if either is not known. */
static double root_without(double square, double noise)
{
    double left = square - noise;
    return isnan(left) ? left : sqrt(fmax(0.0, left));
}

/* Bias of the slope, length of the bias of the whole gradient, and error of estimate k. */
static void judge(cell_work *w, int k)
{
    const ds_gradients *g = w->g;
    ds_cell *c = w->c;
    const uint64_t repeats = g->wish.repeats;
    const double count = (double)w->mean[k].count, between = g->reference.slope_variance;
    double *slope = w->column + (uint64_t)(SLOPE + k) * repeats;
    double *square = w->column + (uint64_t)(SQUARE + k) * repeats;
    c->slope[k] = stat_of(w, slope, repeats);
    if (repeats == 1 && isfinite(w->within[k])) { /* only the scatter of its samples is known */
        c->slope[k] = around(c->slope[k].mean, half_width(w, w->within[k], c->samples));
    }
    c->bias[k] = c->error[k] = none();
    c->off[k] = NAN;
    if (g->wish.reference == 0 || w->mean[k].count == 0) {
        return;
    }
    double sd = w->mean[k].count > 1 ? ds_sample_sd(slope, w->mean[k].count) : (double)NAN;
    c->bias[k] = around(c->slope[k].mean - c->reference.mean,
                        half_width(w, sd * sd / count + between, w->mean[k].count));
    double noise = ds_moments_variance(&w->mean[k]) / count + g->reference.total;
    double length = ds_distance(w->mean[k].mean, block(w, REFERENCE), w->n);
    c->off[k] = root_without(length * length, noise);
    ds_stat s = stat_of(w, square, repeats);
    c->error[k] = (ds_stat){root_without(s.mean, g->reference.total), root_without(s.low, g->reference.total),
                            root_without(s.high, g->reference.total)};
}

/* All components, for a single cell. */
static int keep_vectors(cell_work *w, ds_error *e)
{
    const uint64_t n = w->n;
    double *v = malloc(2 * (DS_ESTIMATES + 1) * n * sizeof *v);
    if (v == NULL) {
        return ds_no_memory(e);
    }
    for (int k = 0; k <= DS_ESTIMATES; k++) {
        for (uint64_t i = 0; i < n; i++) {
            const ds_moments *m = k < DS_ESTIMATES ? &w->mean[k] : NULL;
            double scatter = m != NULL ? ds_moments_variance_of(m, i) / (double)m->count
                                       : block(w, REFERENCE)[n + i] / (BATCHES - 1.0) / BATCHES;
            uint64_t count = m != NULL ? m->count : w->g->wish.reference > 0 ? BATCHES : 0;
            v[2 * (uint64_t)k * n + i] = count == 0  ? (double)NAN
                                         : m != NULL ? m->mean[i]
                                                     : block(w, REFERENCE)[i];
            v[(2 * (uint64_t)k + 1) * n + i] = half_width(w, scatter, count);
        }
    }
    w->c->vector = v;
    return 0;
}

static void finish(cell_work *w)
{
    ds_cell *c = w->c;
    const uint64_t repeats = w->g->wish.repeats;
    const struct {
        int column;
        ds_stat *to;
    } part[] = {{VARIANCE, &c->variance[0]}, {VARIANCE + 1, &c->variance[1]},
                {DISTANCE, &c->distance},    {EPS, &c->eps},
                {WEIGHT, &c->alpha},         {SMOOTHED, &c->smoothed}};
    for (size_t k = 0; k < sizeof part / sizeof part[0]; k++) {
        *part[k].to = stat_of(w, w->column + (uint64_t)part[k].column * repeats, repeats);
        if (part[k].column != SMOOTHED &&
            isfinite(part[k].to->low)) { /* the interval of a non-negative number has no negative end */
            part[k].to->low = fmax(0.0, part[k].to->low);
        }
    }
    c->alpha.high = isfinite(c->alpha.high) ? fmin(1.0, c->alpha.high) : c->alpha.high;
    for (int k = 0; k < DS_ESTIMATES; k++) {
        judge(w, k);
    }
    for (int k = 0; k < DS_ALPHA_CASES; k++) {
        c->share[k] = (double)w->which[k] / (double)repeats;
    }
    c->failed = (double)w->failed / (double)w->samples;
    c->clamped = (double)w->clamped / (double)w->samples;
    w->g->evaluations += c->evaluations;
}

int ds_gradients_cell(ds_gradients *g, uint64_t k, uint64_t place, ds_error *e)
{
    const uint64_t repeats = g->wish.repeats;
    cell_work w = {.g = g,
                   .c = &g->cell[k],
                   .n = g->env->info.n,
                   .sampler = {.pool = g->pool,
                               .env = g->env,
                               .seed = g->run.seed,
                               .x = g->x,
                               .scale = g->scale,
                               .sigma = g->cell[k].sigma,
                               .actions = g->actions,
                               .antithetic = g->wish.antithetic && !g->actions,
                               .baseline = g->wish.baseline}};
    w.column = calloc(COLUMNS * repeats, sizeof *w.column);
    if (w.column == NULL) {
        return ds_no_memory(e);
    }
    for (int i = 0; i < DS_ESTIMATES; i++) {
        ds_moments_begin(&w.mean[i], w.n, block(&w, MEANS + 2 * i));
    }
    char message[DS_SAMPLE_MESSAGE];
    int rc = ds_sample_center(&w.sampler, &w.c->loss, message, e);
    w.sampler.center = w.c->loss;
    count_center(&w, message);
    rc = rc != 0 ? rc : refer(&w, place, e);
    for (uint64_t r = 0; r < repeats && rc == 0; r++) {
        rc = repeat_once(&w, k, r, e);
    }
    if (rc == 0) {
        finish(&w);
        rc = g->cells == 1 ? keep_vectors(&w, e) : 0;
    }
    free(w.column);
    return rc;
}
