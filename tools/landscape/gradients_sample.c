/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_sample.c - estimates, and samples around a point (see gradients.h). Results do not depend on the
 * number of workers, because they arrive in the order of the rows. */
#include "config.h"

#include "landscape/gradients.h"
#include "stats/sample.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- moments and mixing ---- */

/* Keeps the weights defined if both variances are 0; the value of the authors' program. */
#define SMALL_VARIANCE 1e-5

const char *const ds_alpha_case_names[DS_ALPHA_CASES] = {"uncertain", "inside", "hit"};

void ds_moments_begin(ds_moments *m, uint64_t n, double *room)
{
    *m = (ds_moments){.n = n, .mean = room, .m2 = room + n};
    memset(room, 0, 2 * n * sizeof *room);
}

void ds_moments_add(ds_moments *m, const double *z, uint64_t samples)
{
    m->count++;
    m->samples += samples;
    for (uint64_t k = 0; k < m->n; k++) {
        double d = z[k] - m->mean[k];
        m->mean[k] += d / (double)m->count;
        m->m2[k] += d * (z[k] - m->mean[k]);
    }
}

double ds_moments_variance_of(const ds_moments *m, uint64_t k)
{
    double each = m->count > 0 ? (double)m->samples / (double)m->count : 1.0;
    return m->count < 2 ? (double)NAN : each * m->m2[k] / (double)(m->count - 1);
}

double ds_moments_variance(const ds_moments *m)
{
    double sum = m->count < 2 ? (double)NAN : 0.0;
    for (uint64_t k = 0; k < m->n; k++) {
        sum += ds_moments_variance_of(m, k);
    }
    return sum;
}

double ds_distance(const double *a, const double *b, uint64_t n)
{
    double largest = 0, sum = 0;
    for (uint64_t k = 0; k < n; k++) {
        largest = fmax(largest, fabs(a[k] - b[k]));
    }
    for (uint64_t k = 0; k < n && largest > 0; k++) {
        double d = (a[k] - b[k]) / largest;
        sum += d * d;
    }
    return largest * sqrt(sum);
}

ds_alpha ds_alpha_choose(const ds_alpha_rule *rule, double variance1, double variance0, double distance,
                         uint64_t n, uint64_t N)
{
    double words = log(((double)n + 1.0) / rule->chance), count = (double)N;
    ds_alpha a = {.eps = sqrt(2.0 * variance0 * words / count) + 2.0 * rule->largest / (3.0 * count) * words,
                  .which = DS_ALPHA_INSIDE};
    a.alpha = isnan(variance1)   ? 0.0
              : isnan(variance0) ? 1.0
                                 : variance0 / (variance0 + variance1 + SMALL_VARIANCE);
    if (rule->fixed >= 0.0) {
        a.alpha = isnan(variance1) ? 0.0 : isnan(variance0) ? 1.0 : rule->fixed;
    } else if (rule->rule == DS_ALPHA_BIAS && !isnan(variance0)) {
        if (a.eps > rule->gamma) {
            a.alpha = 0.0;
            a.which = DS_ALPHA_UNCERTAIN;
        } else if (a.alpha * distance > rule->gamma - a.eps) {
            a.alpha = (rule->gamma - a.eps) / distance;
            a.which = DS_ALPHA_HIT;
        }
    }
    return a;
}

/* ---- empirical bias ---- */

/* The median of every component. `column`: count values. */
static void medians(const double *z, uint64_t count, uint64_t n, double *column, double *out)
{
    for (uint64_t k = 0; k < n; k++) {
        for (uint64_t i = 0; i < count; i++) {
            column[i] = z[i * n + k];
        }
        ds_sample_sort(column, count);
        out[k] = ds_sorted_quantile(column, count, 0.5);
    }
}

int ds_empirical_bias_of(const double *z, uint64_t count, uint64_t n, const double *mean, double beta,
                         ds_empirical_bias *out)
{
    *out = (ds_empirical_bias){NAN, NAN, NAN, NAN};
    uint64_t outside = (uint64_t)(beta * (double)count), inside = count - outside, taken = 0;
    if (outside == 0 || inside == 0) {
        return 0;
    }
    double *room = malloc((2 * count + 2 * n) * sizeof *room);
    if (room == NULL) {
        return -1;
    }
    double *distance = room, *sorted = room + count, *centre = sorted + count, *zero = centre + n;
    medians(z, count, n, sorted, centre);
    for (uint64_t i = 0; i < count; i++) {
        sorted[i] = distance[i] = ds_distance(z + i * n, centre, n);
    }
    ds_sample_sort(sorted, count);
    double limit = sorted[inside - 1]; /* points at the same distance are all inside: beta becomes smaller */
    memset(centre, 0, n * sizeof *centre);
    memset(zero, 0, n * sizeof *zero);
    for (uint64_t i = 0; i < count; i++) {
        if (distance[i] > limit) {
            continue;
        }
        taken++;
        for (uint64_t k = 0; k < n; k++) {
            centre[k] += (z[i * n + k] - centre[k]) / (double)taken;
        }
    }
    if (taken == count) { /* the farthest samples are no farther than those of the event */
        free(room);
        return 0;
    }
    out->beta = 1.0 - (double)taken / (double)count;
    out->delta = ds_distance(centre, mean, n);
    out->radius = 0;
    for (uint64_t i = 0; i < count; i++) {
        out->radius =
            distance[i] > limit ? out->radius : fmax(out->radius, ds_distance(z + i * n, centre, n));
    }
    double shift = fmax(0.0, (1.0 - out->beta) * out->delta - out->beta * ds_distance(mean, zero, n));
    out->bound = shift * shift / out->beta;
    free(room);
    return 0;
}

enum { CHUNK_NUMBERS = 1 << 20, CHUNK_ROWS = 8192 };

/* ---- samples ---- */

/* State of a call of ds_sample(). */
typedef struct batch {
    const ds_sampler *s;
    ds_sample_set *set;
    uint64_t n, from;     /* first row of the chunk */
    double *x;            /* rows x n */
    unsigned char *moved; /* rows x n: was this number clamped to the box? */
    uint64_t *key;        /* rows: noise keys of the environment */
    double *w, *z, *pair; /* n values each: noise, an estimate, the first of a pair */
    int paired;           /* does `pair` hold one? */
    double *loss;         /* per row; INFINITY = none */
    double *score, *base; /* noise on actions: per row */
} batch;

static uint64_t rounded(const ds_sampler *s, uint64_t count)
{
    return s->antithetic && !s->actions ? count + count % 2 : count;
}

static int open_batch(batch *b, uint64_t rows, ds_error *e)
{
    const uint64_t n = b->n, all = rounded(b->s, b->set->count);
    b->x = malloc(rows * n * sizeof *b->x);
    b->moved = malloc(rows * n);
    b->key = calloc(rows, sizeof *b->key);
    b->w = malloc(3 * n * sizeof *b->w);
    b->loss = malloc(all * sizeof *b->loss);
    b->score = b->s->actions ? malloc(all * (n + 1) * sizeof *b->score) : NULL;
    if (b->x == NULL || b->moved == NULL || b->key == NULL || b->w == NULL || b->loss == NULL ||
        (b->s->actions && b->score == NULL)) {
        return ds_no_memory(e);
    }
    b->z = b->w + n;
    b->pair = b->z + n;
    b->base = b->s->actions ? b->score + all * n : NULL;
    return 0;
}

static void close_batch(batch *b)
{
    free(b->x);
    free(b->moved);
    free(b->key);
    free(b->w);
    free(b->loss);
    free(b->score);
}

/* ---- drawing ---- */

/* Draws the noise of row i; rows must be drawn in order: the second of a pair mirrors the first. */
static void draw(const batch *b, ds_random *r, uint64_t i)
{
    int mirrored = b->s->antithetic && i % 2 == 1;
    for (uint64_t k = 0; k < b->n; k++) {
        b->w[k] = mirrored ? -b->w[k] : b->s->sigma * ds_random_normal(r);
        b->w[k] = b->s->scale[k] > 0 ? b->w[k] : 0; /* fixed variables have none */
    }
}

/* Draws rows from..from + rows of points around x, inside the box. */
static void draw_points(batch *b, ds_random *r, uint64_t rows)
{
    const ds_sampler *s = b->s;
    for (uint64_t i = 0; i < rows; i++) {
        int any = 0;
        draw(b, r, b->from + i);
        for (uint64_t k = 0; k < b->n; k++) {
            double at = s->x[k] + s->scale[k] * b->w[k];
            double kept = fmin(fmax(at, s->env->lower[k]), s->env->upper[k]);
            int moved = kept < at || kept > at;
            b->x[i * b->n + k] = kept;
            b->moved[i * b->n + k] = (unsigned char)moved;
            any |= moved;
        }
        b->set->clamped += (uint64_t)any;
    }
}

/* Draws rows at x, whose noise the environment adds. */
static void draw_keys(batch *b, ds_random *r, uint64_t rows)
{
    memset(b->moved, 0, rows * b->n);
    for (uint64_t i = 0; i < rows; i++) {
        memcpy(b->x + i * b->n, b->s->x, b->n * sizeof *b->x);
        b->key[i] = ds_noise_key_of(ds_random_u32(r), ds_random_u32(r));
    }
}

/* ---- results ---- */

/* Takes a first-order sample, if `usable`. Of a pair both must be usable. */
static void take_first(batch *b, uint64_t row, const double *grad, int usable)
{
    ds_sample_set *set = b->set;
    const int pairs = b->s->antithetic && !b->s->actions;
    const unsigned char *moved = b->moved + (row - b->from) * b->n;
    for (uint64_t k = 0; usable && k < b->n; k++) {
        b->z[k] = moved[k] ? 0.0 : grad[k] * b->s->scale[k]; /* outside the box f does not change */
    }
    if (usable && set->keep != NULL && set->kept < set->keep_rows) {
        memcpy(set->keep + set->kept++ * b->n, b->z, b->n * sizeof *b->z);
    }
    if (!pairs) {
        if (usable) {
            ds_moments_add(&set->first, b->z, 1);
        }
    } else if (row % 2 == 0) {
        b->paired = usable;
        memcpy(b->pair, b->z, b->n * sizeof *b->z);
    } else if (usable && b->paired) {
        for (uint64_t k = 0; k < b->n; k++) {
            b->z[k] = 0.5 * (b->z[k] + b->pair[k]);
        }
        ds_moments_add(&set->first, b->z, 2);
    }
}

static void say_why(const ds_answer *a, char out[DS_SAMPLE_MESSAGE])
{
    snprintf(out, DS_SAMPLE_MESSAGE, "%s%s%.150s", ds_outcome_name(a->outcome),
             a->message[0] != '\0' ? ": " : "", a->message);
}

static int take(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    batch *b = ctx;
    ds_sample_set *set = b->set;
    const uint64_t row = b->from + i;
    const double *score = out;
    int valued = a->outcome <= DS_EVAL_BAD_GRAD;
    if (valued && b->s->actions) {
        memcpy(b->score + row * b->n, score, b->n * sizeof *score);
        b->base[row] = score[b->n];
        valued = isfinite(score[b->n]);
    }
    int graded = valued && a->outcome == DS_EVAL_OK && grad != NULL;
    b->loss[row] = valued ? a->loss : (double)INFINITY;
    set->evaluations++;
    if (valued) {
        ds_moments_add(&set->loss, &a->loss, 1);
    }
    if (!valued || ((set->orders & DS_ORDER_FIRST) != 0 && !graded)) {
        if (set->failed++ == 0) {
            say_why(a, set->message);
        }
    }
    if ((set->orders & DS_ORDER_FIRST) != 0) {
        take_first(b, row, grad, graded);
    }
    return 0;
}

/* ---- the zeroth order, once all losses are known ---- */

/* Mean of all finite losses. */
static double mean_loss(const ds_sample_set *set)
{
    return set->loss.count > 0 ? set->loss.mean[0] : (double)NAN;
}

/* Mean of the losses of the other rows: the row itself and its mirror image would cause a bias. */
static double mean_of_others(const batch *b, uint64_t row)
{
    double count = (double)b->set->loss.count, sum = mean_loss(b->set) * count - b->loss[row];
    const double mirrored = b->s->antithetic && !b->s->actions ? b->loss[row ^ 1] : (double)INFINITY;
    count--;
    if (isfinite(mirrored)) {
        sum -= mirrored;
        count--;
    }
    return sum / count;
}

/* What is subtracted from the loss of a row. */
static double baseline_of(const batch *b, uint64_t row)
{
    switch (b->s->baseline) {
    case DS_BASELINE_MEAN:
        return mean_of_others(b, row);
    case DS_BASELINE_CENTER:
        return b->s->actions ? b->base[row] : b->s->center;
    default:
        return 0.0;
    }
}

/* The zeroth-order sample of a row whose noise is in b->w; returns 0 if there is none. */
static int zeroth_sample(batch *b, uint64_t row, double *z)
{
    const ds_sampler *s = b->s;
    double above = b->loss[row] - baseline_of(b, row);
    for (uint64_t k = 0; s->tilt != NULL && k < b->n; k++) {
        above -= s->tilt[k] * b->w[k];
    }
    if (!isfinite(b->loss[row]) || !isfinite(above)) {
        return 0;
    }
    for (uint64_t k = 0; k < b->n; k++) {
        double w = s->actions ? b->score[row * b->n + k] * s->scale[k] : b->w[k];
        z[k] = above / s->sigma * (w / s->sigma) + (s->tilt != NULL ? s->tilt[k] : 0.0);
    }
    return 1;
}

static void take_zeroth(batch *b)
{
    const uint64_t all = rounded(b->s, b->set->count);
    const int pairs = b->s->antithetic && !b->s->actions;
    ds_random r = ds_random_open(b->s->seed, b->set->stream, b->set->index);
    for (uint64_t i = 0; i < all; i++) {
        if (!b->s->actions) {
            draw(b, &r, i); /* repeats the same random numbers */
        }
        if (!pairs) {
            if (zeroth_sample(b, i, b->z)) {
                ds_moments_add(&b->set->zeroth, b->z, 1);
            }
        } else if (i % 2 == 0) {
            b->paired = zeroth_sample(b, i, b->pair);
        } else if (zeroth_sample(b, i, b->z) && b->paired) {
            for (uint64_t k = 0; k < b->n; k++) {
                b->z[k] = 0.5 * (b->z[k] + b->pair[k]);
            }
            ds_moments_add(&b->set->zeroth, b->z, 2);
        }
    }
}

/* ---- a set of samples ---- */

static int evaluate(batch *b, uint64_t rows_max, ds_error *e)
{
    const ds_sampler *s = b->s;
    const uint64_t all = rounded(s, b->set->count);
    ds_random r = ds_random_open(s->seed, b->set->stream, b->set->index);
    ds_query_layout queries;
    double *in = s->actions ? malloc(rows_max * sizeof *in) : NULL;
    int rc = s->actions && in == NULL ? ds_no_memory(e) : 0;
    if (s->actions) {
        ds_score_query(&queries, b->n, s->baseline == DS_BASELINE_CENTER);
    }
    for (uint64_t i = 0; in != NULL && i < rows_max; i++) {
        in[i] = s->sigma;
    }
    for (b->from = 0; rc == 0 && b->from < all; b->from += rows_max) {
        uint64_t rows = all - b->from < rows_max ? all - b->from : rows_max;
        if (s->actions) {
            draw_keys(b, &r, rows);
        } else {
            draw_points(b, &r, rows);
        }
        const ds_pool_request q = {.count = rows,
                                   .x = b->x,
                                   .want = (b->set->orders & DS_ORDER_FIRST) != 0 ? DS_WANT_GRAD : 0,
                                   .queries = s->actions ? &queries : NULL,
                                   .in = in,
                                   .first = 1,
                                   .key = b->key};
        rc = ds_pool_execute(s->pool, &q, take, b, e);
    }
    free(in);
    return rc;
}

int ds_sample(const ds_sampler *s, ds_sample_set *set, ds_error *e)
{
    const uint64_t n = s->env->info.n, all = rounded(s, set->count);
    uint64_t rows = CHUNK_NUMBERS / n;
    rows = rows > CHUNK_ROWS ? CHUNK_ROWS : rows < 2 ? 2 : rows;
    rows = rows > all ? all : rows - rows % 2;
    batch b = {.s = s, .set = set, .n = n};
    set->kept = set->failed = set->clamped = set->evaluations = 0;
    set->message[0] = '\0';
    ds_moments_begin(&set->loss, 1, set->loss_room);
    if ((set->orders & DS_ORDER_FIRST) != 0) {
        ds_moments_begin(&set->first, n, set->room1);
    }
    if ((set->orders & DS_ORDER_ZEROTH) != 0) {
        ds_moments_begin(&set->zeroth, n, set->room0);
    }
    int rc = open_batch(&b, rows, e);
    rc = rc != 0 ? rc : evaluate(&b, rows, e);
    if (rc == 0 && (set->orders & DS_ORDER_ZEROTH) != 0) {
        take_zeroth(&b);
    }
    close_batch(&b);
    return rc;
}

typedef struct center {
    double *loss;
    char *message;
} center;

static int take_loss(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    center *c = ctx;
    (void)i, (void)grad, (void)out;
    if (a->outcome <= DS_EVAL_BAD_GRAD) {
        *c->loss = a->loss;
    } else {
        say_why(a, c->message);
    }
    return 0;
}

int ds_sample_center(const ds_sampler *s, double *loss, char message[DS_SAMPLE_MESSAGE], ds_error *e)
{
    const uint64_t none = 0; /* without noise */
    const ds_pool_request q = {.count = 1, .x = s->x, .first = 1, .key = &none};
    center c = {loss, message};
    *loss = NAN;
    message[0] = '\0';
    return ds_pool_execute(s->pool, &q, take_loss, &c, e);
}
