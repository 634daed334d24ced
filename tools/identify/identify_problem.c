/* SPDX-License-Identifier: Apache-2.0 */
/* identify_problem.c - residuals of a problem and their derivatives: from coordinates to the inputs of each
 * recording, from its channel to residuals, and back. */
#include "config.h"

#include "identify/identify.h"

#include "snapshot/episode_scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Half the distance of central differences, in widths of the box, for channels without products. */
static const double difference = 1e-5;

/* ---- coordinates ---- */

double ds_identify_value(const ds_identify_parameter *p, double u)
{
    return fmin(p->upper, fmax(p->lower, p->log ? exp(u) : u));
}

double ds_identify_coordinate(const ds_identify_parameter *p, double value)
{
    return p->log ? log(value) : value;
}

double ds_identify_slope(const ds_identify_parameter *p, double u)
{
    return p->log ? exp(u) : 1;
}

/* Place of a parameter in the problem. */
static size_t place_of(const ds_identify_problem *p, int64_t parameter)
{
    size_t i = 0;
    while (i < p->n && p->parameter[i] != (size_t)parameter) {
        i++;
    }
    return i;
}

static void inputs_of(const ds_identify_problem *p, const ds_identify_recording *r, const double *u,
                      double *x)
{
    for (uint64_t i = 0; i < r->n; i++) {
        x[i] = r->parameter[i] < 0
                   ? r->constant[i]
                   : ds_identify_value(&p->c->parameter[r->parameter[i]], u[place_of(p, r->parameter[i])]);
    }
}

/* Derivative of the inputs along v. */
static void slopes_of(const ds_identify_problem *p, const ds_identify_recording *r, const double *u,
                      const double *v, double *dx)
{
    for (uint64_t i = 0; i < r->n; i++) {
        dx[i] = 0;
        if (r->parameter[i] >= 0) {
            const size_t at = place_of(p, r->parameter[i]);
            dx[i] = v[at] * ds_identify_slope(&p->c->parameter[r->parameter[i]], u[at]);
        }
    }
}

/* ---- the channel ---- */

/* Values of the channel of one recording for `count` inputs, and a product where `op` is one. */
typedef struct channel_call {
    const ds_identify_recording *r;
    uint64_t count, width; /* width: numbers of a product */
    double *value;         /* count x elements */
    double *product;       /* count x width, or NULL */
    int *bad;              /* count */
    uint64_t value_at, product_at;
} channel_call;

static int keep(void *ctx, uint64_t row, const ds_answer *answer, const double *grad, const void *out)
{
    channel_call *c = ctx;
    const int products = answer->outcome == DS_EVAL_OK;
    (void)grad;
    c->bad[row] = answer->outcome > DS_EVAL_BAD_GRAD ? 2 : !products && c->product != NULL ? 1 : 0;
    if (c->bad[row] < 2) {
        memcpy(c->value + row * c->r->elements, (const double *)out + c->value_at,
               c->r->elements * sizeof *c->value);
    }
    if (c->product != NULL && c->bad[row] == 0) {
        memcpy(c->product + row * c->width, (const double *)out + c->product_at,
               c->width * sizeof *c->product);
    }
    return 0;
}

/* Evaluates rows of inputs x (count x r->n); `in` has `op`'s vectors. */
static int call_channel(ds_identify_recording *r, uint32_t op, const double *x, const double *in,
                        channel_call *c, ds_error *e)
{
    const uint64_t n = r->env->info.n;
    char text[DS_QUERY_TEXT];
    uint32_t place[DS_MAX_QUERIES];
    ds_query_layout queries = {
        .count = op == DS_QUERY_VALUE ? 1 : 2,
        .query = {{.op = DS_QUERY_VALUE, .channel = r->channel}, {.op = op, .channel = r->channel}}};
    double *points = malloc(c->count * n * sizeof *points);
    int rc = points == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && ds_query_layout_make(&queries, r->env->channels, n, place, text) != 0) {
        rc = ds_fail(e, DS_EXIT_PLUGIN, "%s", text);
    }
    for (uint64_t i = 0; rc == 0 && i < c->count * n; i++) {
        const uint64_t k = i % n;
        points[i] = fmin(r->env->upper[k], fmax(r->env->lower[k], x[i / n * r->n + k]));
    }
    if (rc == 0) {
        const ds_pool_request q = {.count = c->count, .x = points, .queries = &queries, .in = in, .first = 1};
        c->r = r;
        c->value_at = queries.query[0].out;
        c->product_at = queries.count > 1 ? queries.query[1].out : 0;
        c->width = op == DS_QUERY_JTV ? n : r->elements;
        memset(c->value, 0, c->count * r->elements * sizeof *c->value);
        rc = ds_pool_execute(r->pool, &q, keep, c, e);
        r->evaluations += c->count;
    }
    free(points);
    return rc;
}

/* ---- from the channel to residuals ---- */

/* A signal at a time, from the samples of the channel: cubic between four neighbours (E. Catmull and R. Rom,
 * "A class of local interpolating splines", 1974), the outermost by a parabola; constant before the first and
 * after the last sample. The result is the sum of weight[i] s[at[i]]; slope: of its derivative by time. */
typedef struct tap {
    uint64_t at[4];
    double weight[4], slope[4];
} tap;

/* Tap `out` lies outside: 3 a - 3 b + c continues the parabola of the samples of three others. */
static void extrapolate(tap *t, int out, int a, int b, int c)
{
    for (double *w = t->weight;; w = t->slope) {
        w[a] += 3 * w[out];
        w[b] -= 3 * w[out];
        w[c] += w[out];
        w[out] = 0;
        if (w == t->slope) {
            break;
        }
    }
}

static tap tap_of(const ds_identify_recording *r, uint64_t row, double delay, uint64_t samples)
{
    const uint64_t steps = r->env->info.steps;
    const double dt = r->env->info.dt > 0 ? r->env->info.dt : r->dt > 0 ? r->dt : 1;
    const double time = r->data.value[(row + 1) * r->data.columns - 1] - delay;
    const double at = time / dt - (samples == steps ? 1 : 0), most = (double)(samples - 1);
    const double inside = fmin(most, fmax(0, at));
    const double whole = fmin(floor(inside), fmax(0, most - 1)), f = inside - whole;
    tap t = {{0},
             {(-f + 2 * f * f - f * f * f) / 2, (2 - 5 * f * f + 3 * f * f * f) / 2,
              (f + 4 * f * f - 3 * f * f * f) / 2, (-f * f + f * f * f) / 2},
             {(-1 + 4 * f - 3 * f * f) / 2 / dt, (-10 * f + 9 * f * f) / 2 / dt,
              (1 + 8 * f - 9 * f * f) / 2 / dt, (-2 * f + 3 * f * f) / 2 / dt}};
    for (int k = 0; k < 4; k++) {
        t.at[k] = (uint64_t)fmin(most, fmax(0, whole + k - 1));
        t.slope[k] = at < 0 || at > most ? 0 : t.slope[k];
    }
    if (samples >= 3 && whole < 1) {
        extrapolate(&t, 0, 1, 2, 3);
    } else if (samples >= 3 && whole + 2 > most) {
        extrapolate(&t, 3, 2, 1, 0);
    }
    return t;
}

static double tapped(const tap *t, const double *weight, const ds_identify_element *x, const double *s)
{
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        sum += weight[k] * s[x->offset + t->at[k] * x->stride];
    }
    return sum;
}

static void residuals_of(const ds_identify_recording *r, const double *x, const double *s, double *out)
{
    if (r->signals == 0) {
        memcpy(out, s, r->m * sizeof *out);
        return;
    }
    for (uint64_t q = 0; q < r->signals; q++) {
        const double *extra = x + r->env->info.n + 3 * q;
        const ds_identify_element *e = &r->element[q];
        for (uint64_t i = 0; i < r->rows; i++) {
            const tap t = tap_of(r, i, extra[2], r->elements / e->stride);
            const double recorded = r->data.value[i * r->data.columns + q];
            out[i * r->width + q] =
                isnan(recorded) ? 0 : extra[0] * tapped(&t, t.weight, e, s) + extra[1] - recorded;
        }
    }
}

/* out = derivative of the residuals along dx, from the channel s and its derivative ds along dx. */
static void residual_slopes_of(const ds_identify_recording *r, const double *x, const double *dx,
                               const double *s, const double *ds, double *out)
{
    if (r->signals == 0) {
        memcpy(out, ds, r->m * sizeof *out);
        return;
    }
    for (uint64_t q = 0; q < r->signals; q++) {
        const double *extra = x + r->env->info.n + 3 * q, *d = dx + r->env->info.n + 3 * q;
        const ds_identify_element *e = &r->element[q];
        for (uint64_t i = 0; i < r->rows; i++) {
            const tap t = tap_of(r, i, extra[2], r->elements / e->stride);
            const int missing = isnan(r->data.value[i * r->data.columns + q]);
            out[i * r->width + q] = missing ? 0
                                            : extra[0] * tapped(&t, t.weight, e, ds) +
                                                  d[0] * tapped(&t, t.weight, e, s) + d[1] -
                                                  extra[0] * d[2] * tapped(&t, t.slope, e, s);
        }
    }
}

/* ---- residuals of a recording ---- */

static void remember(ds_identify_recording *r, const double *x, const double *s, const double *res)
{
    memcpy(r->last_x, x, r->n * sizeof *x);
    memcpy(r->last_s, s, r->elements * sizeof *s);
    memcpy(r->last_r, res, r->m * sizeof *res);
    r->known = 1;
}

static int is_last(const ds_identify_recording *r, const double *x)
{
    return r->known && memcmp(r->last_x, x, r->n * sizeof *x) == 0;
}

/* Unweighted residuals (count x m); bad[row] = 2 where the simulation fails. The last point is not simulated
 * again. */
static int recording_residuals(ds_identify_recording *r, uint64_t count, const double *x, double *out,
                               int *bad, ds_error *e)
{
    if (count == 1 && is_last(r, x)) {
        memcpy(out, r->last_r, r->m * sizeof *out);
        bad[0] = 0;
        return 0;
    }
    double *value = malloc(count * r->elements * sizeof *value);
    channel_call c = {.count = count, .value = value, .bad = bad};
    int rc = value == NULL ? ds_no_memory(e) : call_channel(r, DS_QUERY_VALUE, x, NULL, &c, e);
    for (uint64_t k = 0; rc == 0 && k < count; k++) {
        residuals_of(r, x + k * r->n, value + k * r->elements, out + k * r->m);
        if (bad[k] == 0) {
            remember(r, x + k * r->n, value + k * r->elements, out + k * r->m);
        }
    }
    free(value);
    return rc;
}

/* Derivatives of the channel along dx by the environment. */
static int channel_slopes(ds_identify_recording *r, uint64_t count, const double *x, const double *dx,
                          double *value, double *slope, int *bad, ds_error *e)
{
    const uint64_t n = r->env->info.n;
    double *in = malloc(count * n * sizeof *in);
    channel_call c = {.count = count, .value = value, .product = slope, .bad = bad};
    int rc = in == NULL ? ds_no_memory(e) : 0;
    for (uint64_t i = 0; rc == 0 && i < count * n; i++) {
        in[i] = dx[i / n * r->n + i % n];
    }
    rc = rc != 0 ? rc : call_channel(r, DS_QUERY_JV, x, in, &c, e);
    free(in);
    return rc;
}

/* The same by central differences, which stay inside the bounds: three evaluations a row, the middle one for
 * the value. */
static int channel_differences(ds_identify_recording *r, uint64_t count, const double *x, const double *dx,
                               double *value, double *slope, int *bad, ds_error *e)
{
    const uint64_t n = r->env->info.n, all = 3 * count;
    double *points = malloc(all * r->n * sizeof *points),
           *values = malloc(all * r->elements * sizeof *values);
    double *half = calloc(2 * count, sizeof *half);
    int *lost = calloc(all, sizeof *lost);
    channel_call c = {.count = all, .value = values, .bad = lost};
    int rc = points == NULL || values == NULL || half == NULL || lost == NULL ? ds_no_memory(e) : 0;
    for (uint64_t k = 0; rc == 0 && k < count; k++) {
        const double *x0 = x + k * r->n, *d = dx + k * r->n;
        double size = 0, up = INFINITY, down = INFINITY;
        for (uint64_t i = 0; i < n; i++) {
            const double wide = r->env->upper[i] - r->env->lower[i];
            size = wide > 0 ? fmax(size, fabs(d[i]) / wide) : size;
            if (fabs(d[i]) > 0) {
                const double above = (r->env->upper[i] - x0[i]) / fabs(d[i]),
                             below = (x0[i] - r->env->lower[i]) / fabs(d[i]);
                up = fmin(up, d[i] > 0 ? above : below);
                down = fmin(down, d[i] > 0 ? below : above);
            }
        }
        const double h = size > 0 ? difference / size : 0;
        half[2 * k] = fmin(h, up);
        half[2 * k + 1] = fmin(h, down);
        for (uint64_t i = 0; i < r->n; i++) {
            points[3 * k * r->n + i] = x0[i];
            points[(3 * k + 1) * r->n + i] = x0[i] + half[2 * k] * (i < n ? d[i] : 0);
            points[(3 * k + 2) * r->n + i] = x0[i] - half[2 * k + 1] * (i < n ? d[i] : 0);
        }
    }
    rc = rc != 0 ? rc : call_channel(r, DS_QUERY_VALUE, points, NULL, &c, e);
    for (uint64_t k = 0; rc == 0 && k < count; k++) {
        const double wide = half[2 * k] + half[2 * k + 1];
        const double *plus = values + (3 * k + 1) * r->elements, *minus = plus + r->elements;
        bad[k] = lost[3 * k] > 0 ? 2 : lost[3 * k + 1] > 0 || lost[3 * k + 2] > 0;
        memcpy(value + k * r->elements, values + 3 * k * r->elements, r->elements * sizeof *value);
        for (uint64_t i = 0; i < r->elements; i++) {
            slope[k * r->elements + i] = wide > 0 && bad[k] == 0 ? (plus[i] - minus[i]) / wide : 0;
        }
    }
    free(points);
    free(values);
    free(half);
    free(lost);
    return rc;
}

/* Derivatives of the unweighted residuals along dx (count x n), out (count x m), and the residuals, res. A
 * direction that no input of the environment follows costs no evaluation where the point is the last one. */
static int recording_slopes(ds_identify_recording *r, uint64_t count, const double *x, const double *dx,
                            double *out, double *res, int *bad, ds_error *e)
{
    const uint64_t n = r->env->info.n;
    double *value = calloc(count * r->elements, sizeof *value),
           *slope = calloc(count * r->elements, sizeof *slope);
    double *points = malloc(count * r->n * sizeof *points), *along = malloc(count * r->n * sizeof *along);
    int *lost = calloc(count, sizeof *lost);
    uint64_t asked = 0, *row = malloc(count * sizeof *row);
    int rc = value == NULL || slope == NULL || points == NULL || along == NULL || lost == NULL || row == NULL
                 ? ds_no_memory(e)
                 : 0;
    for (uint64_t k = 0; rc == 0 && k < count; k++) {
        int moves = !is_last(r, x + k * r->n);
        for (uint64_t i = 0; i < n; i++) {
            moves |= fabs(dx[k * r->n + i]) > 0;
        }
        bad[k] = 0;
        if (moves) {
            memcpy(points + asked * r->n, x + k * r->n, r->n * sizeof *points);
            memcpy(along + asked * r->n, dx + k * r->n, r->n * sizeof *along);
            row[asked++] = k;
        } else {
            memcpy(res + k * r->m, r->last_r, r->m * sizeof *res);
            double *none = slope + (count - 1) * r->elements; /* zeros: fewer than `count` rows are asked */
            residual_slopes_of(r, x + k * r->n, dx + k * r->n, r->last_s, none, out + k * r->m);
        }
    }
    if (rc == 0 && asked > 0) {
        rc = (r->ops & DS_CAN(DS_QUERY_JV)) != 0
                 ? channel_slopes(r, asked, points, along, value, slope, lost, e)
                 : channel_differences(r, asked, points, along, value, slope, lost, e);
    }
    for (uint64_t j = 0; rc == 0 && j < asked; j++) {
        const uint64_t k = row[j];
        bad[k] = lost[j];
        if (bad[k] < 2) {
            residuals_of(r, points + j * r->n, value + j * r->elements, res + k * r->m);
        }
        if (bad[k] == 0) {
            residual_slopes_of(r, points + j * r->n, along + j * r->n, value + j * r->elements,
                               slope + j * r->elements, out + k * r->m);
        } else {
            memset(out + k * r->m, 0, r->m * sizeof *out);
        }
    }
    free(value);
    free(slope);
    free(points);
    free(along);
    free(lost);
    free(row);
    return rc;
}

/* ---- residuals of a problem ---- */

static void count_evaluations(ds_identify_problem *p, const uint64_t *before)
{
    uint64_t most = 0;
    for (size_t k = 0; k < p->recordings; k++) {
        const uint64_t made = p->c->recording[p->recording[k]].evaluations - before[k];
        most = made > most ? made : most;
    }
    p->evaluations += most;
}

static void note_evaluations(const ds_identify_problem *p, uint64_t *before)
{
    for (size_t k = 0; k < p->recordings; k++) {
        before[k] = p->c->recording[p->recording[k]].evaluations;
    }
}

/* Sum of squares of the weighted residuals, and the residuals in r, which may be NULL. */
static double weigh(const ds_identify_recording *q, const double *own, double *r)
{
    double sum = 0;
    for (uint64_t j = 0; j < q->m; j++) {
        const double v = q->weight[j] * (own[j] + (q->shift != NULL ? q->shift[j] : 0));
        sum += v * v;
        if (r != NULL) {
            r[j] = v;
        }
    }
    return sum;
}

int ds_identify_residuals(ds_identify_problem *p, uint64_t count, const double *u, double *r, double *loss,
                          ds_error *e)
{
    uint64_t before[DS_IDENTIFY_RECORDINGS], at = 0;
    int rc = 0;
    note_evaluations(p, before);
    memset(loss, 0, count * sizeof *loss);
    for (size_t k = 0; rc == 0 && k < p->recordings; k++) {
        ds_identify_recording *q = &p->c->recording[p->recording[k]];
        double *x = malloc(count * q->n * sizeof *x), *own = malloc(count * q->m * sizeof *own);
        int *bad = calloc(count, sizeof *bad);
        rc = x == NULL || own == NULL || bad == NULL ? ds_no_memory(e) : 0;
        for (uint64_t i = 0; rc == 0 && i < count; i++) {
            inputs_of(p, q, u + i * p->n, x + i * q->n);
        }
        rc = rc != 0 ? rc : recording_residuals(q, count, x, own, bad, e);
        for (uint64_t i = 0; rc == 0 && i < count; i++) {
            double *to = r != NULL ? r + i * p->m + at : NULL;
            loss[i] += bad[i] < 2 ? weigh(q, own + i * q->m, to) : (double)INFINITY;
            if (bad[i] == 2 && to != NULL) {
                memset(to, 0, q->m * sizeof *to);
            }
        }
        at += q->m;
        free(x);
        free(own);
        free(bad);
    }
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        loss[i] = isfinite(loss[i]) ? loss[i] : (double)INFINITY;
    }
    count_evaluations(p, before);
    return rc;
}

int ds_identify_products(ds_identify_problem *p, uint64_t count, const double *u, const double *v,
                         double *out, double *r, double *loss, int *failed, ds_error *e)
{
    uint64_t before[DS_IDENTIFY_RECORDINGS], at = 0;
    int rc = 0;
    note_evaluations(p, before);
    memset(failed, 0, count * sizeof *failed);
    memset(loss, 0, count * sizeof *loss);
    for (size_t k = 0; rc == 0 && k < p->recordings; k++) {
        ds_identify_recording *q = &p->c->recording[p->recording[k]];
        double *x = malloc(2 * count * q->n * sizeof *x), *dx = x != NULL ? x + count * q->n : NULL;
        double *own = malloc(2 * count * q->m * sizeof *own), *res = own != NULL ? own + count * q->m : NULL;
        int *bad = calloc(count, sizeof *bad);
        rc = x == NULL || own == NULL || bad == NULL ? ds_no_memory(e) : 0;
        for (uint64_t i = 0; rc == 0 && i < count; i++) {
            inputs_of(p, q, u + i * p->n, x + i * q->n);
            slopes_of(p, q, u + i * p->n, v + i * p->n, dx + i * q->n);
        }
        rc = rc != 0 ? rc : recording_slopes(q, count, x, dx, own, res, bad, e);
        for (uint64_t i = 0; rc == 0 && i < count; i++) {
            failed[i] |= bad[i] > 0;
            loss[i] += bad[i] < 2 ? weigh(q, res + i * q->m, r != NULL ? r + i * p->m + at : NULL)
                                  : (double)INFINITY;
            for (uint64_t j = 0; j < q->m; j++) {
                out[i * p->m + at + j] = q->weight[j] * own[i * q->m + j];
            }
        }
        at += q->m;
        free(x);
        free(own);
        free(bad);
    }
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        if (failed[i]) {
            memset(out + i * p->m, 0, p->m * sizeof *out);
        }
    }
    count_evaluations(p, before);
    return rc;
}

/* bar (elements of the channel) = derivatives of w . residuals by the channel s; adds those by gain, offset
 * and delay to extra (3 for each signal). */
static void residual_bars_of(const ds_identify_recording *r, const double *x, const double *s,
                             const double *w, double *bar, double *extra)
{
    if (r->signals == 0) {
        memcpy(bar, w, r->m * sizeof *bar);
        return;
    }
    memset(bar, 0, r->elements * sizeof *bar);
    for (uint64_t q = 0; q < r->signals; q++) {
        const double *own = x + r->env->info.n + 3 * q;
        const ds_identify_element *e = &r->element[q];
        for (uint64_t i = 0; i < r->rows; i++) {
            const double v = w[i * r->width + q];
            if (isnan(r->data.value[i * r->data.columns + q])) {
                continue;
            }
            const tap t = tap_of(r, i, own[2], r->elements / e->stride);
            for (int k = 0; k < 4; k++) {
                bar[e->offset + t.at[k] * e->stride] += v * own[0] * t.weight[k];
            }
            extra[3 * q] += v * tapped(&t, t.weight, e, s);
            extra[3 * q + 1] += v;
            extra[3 * q + 2] -= v * own[0] * tapped(&t, t.slope, e, s);
        }
    }
}

/* J' w of one recording by the environment, added to out (n coordinates); w (m) has the weights in it. With
 * signals the derivatives by gain and delay need the channel, which is that of the last point. */
static int transposed(ds_identify_problem *p, ds_identify_recording *q, const double *u, const double *w,
                      double *out, int *failed, ds_error *e)
{
    const uint64_t n = q->env->info.n;
    double *x = calloc(2 * q->n + 2 * q->elements + q->m, sizeof *x);
    int bad = 0;
    if (x == NULL) {
        return ds_no_memory(e);
    }
    double *by = x + q->n, *bar = by + q->n, *value = bar + q->elements, *res = value + q->elements;
    channel_call c = {.count = 1, .value = value, .product = by, .bad = &bad};
    inputs_of(p, q, u, x);
    int rc = q->signals > 0 ? recording_residuals(q, 1, x, res, &bad, e) : 0;
    if (rc == 0 && bad == 0) {
        residual_bars_of(q, x, q->last_s, w, bar, by + n);
        rc = call_channel(q, DS_QUERY_JTV, x, bar, &c, e);
    }
    for (uint64_t i = 0; rc == 0 && i < q->n; i++) {
        if (q->parameter[i] >= 0) {
            const size_t at = place_of(p, q->parameter[i]);
            out[at] += by[i] * ds_identify_slope(&p->c->parameter[q->parameter[i]], u[at]);
        }
    }
    *failed |= bad > 0;
    free(x);
    return rc;
}

int ds_identify_transposed(ds_identify_problem *p, const double *u, const double *w, double *out, int *failed,
                           ds_error *e)
{
    int direct = 1, rc = 0;
    uint64_t at = 0;
    memset(out, 0, p->n * sizeof *out);
    for (size_t k = 0; k < p->recordings; k++) {
        const ds_identify_recording *q = &p->c->recording[p->recording[k]];
        direct &= (q->ops & DS_CAN(DS_QUERY_JTV)) != 0;
    }
    if (direct) {
        uint64_t before[DS_IDENTIFY_RECORDINGS];
        note_evaluations(p, before);
        for (size_t k = 0; rc == 0 && k < p->recordings; k++) {
            ds_identify_recording *q = &p->c->recording[p->recording[k]];
            double *own = malloc(q->m * sizeof *own);
            rc = own == NULL ? ds_no_memory(e) : 0;
            for (uint64_t j = 0; rc == 0 && j < q->m; j++) {
                own[j] = q->weight[j] * w[at + j];
            }
            rc = rc != 0 ? rc : transposed(p, q, u, own, out, failed, e);
            at += q->m;
            free(own);
        }
        count_evaluations(p, before);
        return rc;
    }
    double *j = malloc(p->m * p->n * sizeof *j);
    rc = j == NULL ? ds_no_memory(e) : ds_identify_jacobian(p, u, j, failed, e);
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        for (uint64_t k = 0; k < p->m; k++) {
            out[i] += j[i * p->m + k] * w[k];
        }
    }
    free(j);
    return rc;
}

int ds_identify_jacobian(ds_identify_problem *p, const double *u, double *j, int *failed, ds_error *e)
{
    const size_t n = p->n;
    double *points = calloc((2 * n + 1) * n, sizeof *points), *unit = points != NULL ? points + n * n : NULL;
    int *lost = calloc(n, sizeof *lost);
    int rc = points == NULL || lost == NULL ? ds_no_memory(e) : 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        memcpy(points + i * n, u, n * sizeof *u);
        memset(unit + i * n, 0, n * sizeof *unit);
        unit[i * n + i] = 1;
    }
    rc = rc != 0 ? rc : ds_identify_products(p, n, points, unit, j, NULL, unit + n * n, lost, e);
    *failed = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        *failed |= lost[i];
    }
    free(points);
    free(lost);
    return rc;
}

/* ---- windows ---- */

uint64_t ds_identify_fitted(const ds_identify_problem *p)
{
    uint64_t most = 0;
    for (size_t k = 0; k < p->recordings; k++) {
        const uint64_t rows = p->c->recording[p->recording[k]].fitted;
        most = rows > most ? rows : most;
    }
    return most;
}

void ds_identify_window(ds_identify_problem *p, uint64_t window)
{
    for (size_t k = 0; k < p->recordings; k++) {
        ds_identify_recording *r = &p->c->recording[p->recording[k]];
        const uint64_t rows = window < r->fitted ? window : r->fitted;
        for (uint64_t i = 0; i < r->m; i++) {
            const double noise = r->signals > 0 ? r->element[i % r->width].noise : 0;
            r->weight[i] = i / r->width >= rows && i / r->width < r->rows ? 0 : noise > 0 ? 1 / noise : 1;
        }
    }
}

/* ---- errors ---- */

uint64_t ds_identify_columns(const ds_identify_recording *r)
{
    return r->signals > 0 ? r->signals : r->timed && r->width <= DS_IDENTIFY_SIGNALS ? r->width : 1;
}

void ds_identify_column_name(const ds_identify_recording *r, uint64_t column, char out[DS_IDENTIFY_NAME])
{
    if (r->signals > 0) {
        snprintf(out, DS_IDENTIFY_NAME, "%s", r->element[column].name);
    } else if (ds_identify_columns(r) > 1) {
        snprintf(out, DS_IDENTIFY_NAME, "residual %llu", (unsigned long long)column + 1);
    } else {
        snprintf(out, DS_IDENTIFY_NAME, "residuals");
    }
}

int ds_identify_errors_of(ds_identify_problem *p, size_t k, const double *u, int64_t column,
                          ds_identify_errors *out, ds_error *e)
{
    ds_identify_recording *q = &p->c->recording[p->recording[k]];
    const uint64_t columns = ds_identify_columns(q);
    double *x = malloc((q->n + q->m) * sizeof *x), *r = x != NULL ? x + q->n : NULL;
    int bad = 0, rc = x == NULL ? ds_no_memory(e) : 0;
    *out = (ds_identify_errors){{0, 0}, {0, 0}};
    if (rc == 0) {
        inputs_of(p, q, u, x);
        rc = recording_residuals(q, 1, x, r, &bad, e);
    }
    for (uint64_t i = 0; rc == 0 && i < q->rows * q->width && i < q->m; i++) {
        const int which = i / q->width >= q->fitted;
        if (column < 0 || columns == 1 || i % q->width == (uint64_t)column) {
            const double v = r[i] + (q->shift != NULL ? q->shift[i] : 0);
            out->sum[which] += bad < 2 ? v * v : (double)INFINITY;
            out->count[which] += fabs(v) > 0;
        }
    }
    free(x);
    return rc;
}

double ds_identify_rmse(const ds_identify_errors *v, int held_out)
{
    return v->count[held_out] > 0 ? sqrt(v->sum[held_out] / (double)v->count[held_out]) : (double)NAN;
}

/* ---- recorded and simulated series ---- */

static ds_identify_pair *add_pair(ds_identify_pair *pair, size_t *count, const char *name, uint64_t rows)
{
    ds_identify_pair *p = &pair[*count];
    *p = (ds_identify_pair){.rows = rows, .recorded = calloc(2 * rows + 1, sizeof *p->recorded)};
    snprintf(p->name, sizeof p->name, "%s", name);
    p->simulated = p->recorded != NULL ? p->recorded + rows : NULL;
    *count += p->recorded != NULL;
    return p->recorded != NULL ? p : NULL;
}

static const ds_snapshot_metric *metric_of(const ds_snapshot *s, const char *name)
{
    for (uint64_t k = 0; k < s->metrics; k++) {
        if (strcmp(s->metric[k].name, name) == 0) {
            return &s->metric[k];
        }
    }
    return NULL;
}

static int add_metrics(const ds_identify_recording *r, ds_identify_pair *pair, size_t *count, ds_error *e)
{
    static const char prefix[] = "recorded_";
    ds_scene_source source = {.pool = r->pool};
    ds_snapshot *scene = NULL;
    ds_answer answer;
    int rc = ds_episode_scene(&source, r->last_x, ds_pool_noise_key(source.pool, 1, 0), DS_KEEP_METRICS,
                              &answer, &scene, e);
    for (uint64_t k = 0; rc == 0 && scene != NULL && k < scene->metrics && *count < DS_IDENTIFY_SIGNALS;
         k++) {
        const ds_snapshot_metric *m = &scene->metric[k], *simulated;
        if (strncmp(m->name, prefix, strlen(prefix)) == 0 &&
            (simulated = metric_of(scene, m->name + strlen(prefix))) != NULL) {
            ds_identify_pair *p = add_pair(pair, count, simulated->name, scene->frames);
            rc = p == NULL ? ds_no_memory(e) : 0;
            for (uint64_t i = 0; rc == 0 && i < p->rows; i++) {
                p->step = scene->dt;
                p->recorded[i] = m->values[i];
                p->simulated[i] = simulated->values[i];
            }
        }
    }
    ds_snapshot_free(scene);
    source.pool = NULL; /* the pool goes on */
    ds_scene_source_close(&source);
    return rc;
}

int ds_identify_pairs(const ds_identify_recording *r, ds_identify_pair *pair, size_t *count, ds_error *e)
{
    *count = 0;
    if (r->signals == 0) {
        return add_metrics(r, pair, count, e);
    }
    for (uint64_t s = 0; s < r->signals; s++) {
        ds_identify_pair *p = add_pair(pair, count, r->element[s].name, r->rows);
        if (p == NULL) {
            return ds_no_memory(e);
        }
        for (uint64_t i = 0; i < r->rows; i++) { /* residual + recorded = simulated, with gain and offset */
            p->recorded[i] = r->data.value[i * r->data.columns + s];
            p->simulated[i] = p->recorded[i] + r->last_r[i * r->width + s];
        }
    }
    return 0;
}

void ds_identify_pairs_clear(ds_identify_pair *pair, size_t *count)
{
    for (size_t k = 0; k < *count; k++) {
        free(pair[k].recorded);
    }
    *count = 0;
}
