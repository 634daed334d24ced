/* SPDX-License-Identifier: Apache-2.0 */
/* cma_bounds.c - boundary handling of CMA-ES on [-1, 1]^n. Hansen et al., IEEE Trans. Evol. Comput. 13(1),
 * 2009 (penalty); c-cmaes boundary_transformation; pycma. */
#include "methods/cma/cma_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Width of the margin in which the map bends: min((h - l)/2, (1 + |l|)/20) of c-cmaes for l = -1, h = 1. */
static const double margin = 0.1;
static const double box_width = 2;
enum { MAX_REDRAWS = 100 };

int cma_bounds_start(cma_bounds *b, int method, const cma *c)
{
    cma_bounds_free(b);
    memset(b, 0, sizeof *b);
    b->method = method;
    b->n = c->k.n;
    if (method != CMA_BOUNDS_PENALTY) {
        return 0;
    }
    b->window = 20 + (uint64_t)(3 * (double)c->k.n / (double)c->k.lambda);
    uint64_t scratch = b->window > c->k.lambda ? b->window : c->k.lambda;
    b->gamma = ds_memory_doubles(&b->memory, b->n);
    b->history = ds_memory_doubles(&b->memory, b->window);
    b->scratch = ds_memory_doubles(&b->memory, scratch);
    return b->memory.failed ? -1 : 0;
}

void cma_bounds_free(cma_bounds *b)
{
    ds_memory_free(&b->memory);
}

/* ---- transformation ---- */

/* The map repeats itself after `period`: brings x near the box, then mirrors at -1.1 and 1.1. */
static double fold_far(double x)
{
    const double period = 2 * (box_width + 2 * margin), inner = 1 - margin, outer = 1 + margin;
    const double least = -1 - 2 * margin - 0.5 * box_width;
    if (x < least || x >= least + period) {
        x -= period * floor((x - least) / period);
    }
    if (x < -outer) {
        x += 2 * (-outer - x);
    }
    if (x > outer) {
        x -= 2 * (x - outer);
    }
    double y = x;
    if (x < -inner) {
        y = -1 + (x + outer) * (x + outer) / (4 * margin);
    } else if (x > inner) {
        y = 1 - (x - outer) * (x - outer) / (4 * margin);
    }
    return fmin(fmax(y, -1), 1);
}

/* The same bits as fold_far() for |x| < 2, without branches that a random x would mispredict: the map is odd.
 */
static inline double fold(double x)
{
    const double inner = 1 - margin, outer = 1 + margin;
    double a = fabs(x);
    if (!(a < 2)) {
        return fold_far(x);
    }
    a = a > outer ? a - 2 * (a - outer) : a;
    const double bent = 1 - (a - outer) * (a - outer) / (4 * margin);
    return copysign(a > inner ? bent : a, x);
}

double cma_bounds_fold(double x)
{
    return fold(x);
}

double cma_bounds_unfold(double v)
{
    const double inner = 1 - margin, outer = 1 + margin;
    if (v < -inner) {
        return -outer + 2 * sqrt(margin * (v + 1));
    }
    if (v > inner) {
        return outer - 2 * sqrt(margin * (1 - v));
    }
    return v;
}

/* ---- what is evaluated ---- */

static double clip(double x)
{
    return fmin(fmax(x, -1), 1);
}

static int inside(const double *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (!(x[i] >= -1 && x[i] <= 1)) {
            return 0;
        }
    }
    return 1;
}

static void resample(cma_bounds *b, cma *c, ds_random *random, double *x, uint64_t k)
{
    double *row = x + k * b->n;
    for (int i = 0; i < MAX_REDRAWS + 1 && !inside(row, b->n); i++) {
        cma_redraw(c, random, k, x);
    }
    if (!inside(row, b->n)) {
        for (uint64_t i = 0; i < b->n; i++) {
            row[i] = clip(row[i]);
        }
        c->repaired[k] = 1;
    }
}

uint64_t cma_bounds_apply(cma_bounds *b, cma *c, ds_random *random, double *x, double *v)
{
    uint64_t lambda = c->k.lambda, n = b->n, clipped = 0;
    for (uint64_t k = 0; k < lambda && b->method == CMA_BOUNDS_RESAMPLE; k++) {
        resample(b, c, random, x, k);
    }
    for (uint64_t i = 0; i < lambda * n; i++) {
        v[i] = b->method == CMA_BOUNDS_TRANSFORM ? fold(x[i]) : clip(x[i]);
        clipped += b->method != CMA_BOUNDS_TRANSFORM && v[i] != x[i];
    }
    return clipped;
}

/* ---- penalty ---- */

void cma_bounds_penalise(cma_bounds *b, const double *x, const double *v, const double *f, uint64_t lambda,
                         double *g)
{
    memcpy(g, f, lambda * sizeof(double));
    if (b->method != CMA_BOUNDS_PENALTY || !b->weights_set) {
        return;
    }
    for (uint64_t k = 0; k < lambda; k++) {
        double sum = 0;
        for (uint64_t i = 0; i < b->n; i++) {
            double d = v[k * b->n + i] - x[k * b->n + i];
            sum += b->gamma[i] * d * d;
        }
        g[k] += sum / (double)b->n;
    }
}

static int by_value(const void *p, const void *q)
{
    double a = *(const double *)p, b = *(const double *)q;
    return a < b ? -1 : a > b;
}

/* Remembers the interquartile range of the losses over the mean variance of the samples. */
static void note_range(cma_bounds *b, const cma *c, const double *f)
{
    uint64_t finite = 0;
    for (uint64_t k = 0; k < c->k.lambda; k++) {
        if (isfinite(f[k])) {
            b->scratch[finite++] = f[k];
        }
    }
    if (finite < 2) {
        return;
    }
    qsort(b->scratch, finite, sizeof(double), by_value);
    uint64_t low = (finite + 1) / 4, high = 3 * (finite + 1) / 4;
    double range = b->scratch[high < finite ? high : finite - 1] - b->scratch[low], variance = 0;
    for (uint64_t i = 0; i < b->n; i++) {
        double s = c->sigma * cma_deviation(c, i);
        variance += s * s / (double)b->n;
    }
    double value = range / variance;
    if (value > 0 && isfinite(value)) {
        b->history[b->next] = value;
        b->next = (b->next + 1) % b->window;
        b->filled += b->filled < b->window;
    }
}

static double median_range(cma_bounds *b)
{
    memcpy(b->scratch, b->history, b->filled * sizeof(double));
    qsort(b->scratch, b->filled, sizeof(double), by_value);
    return 0.5 * (b->scratch[(b->filled - 1) / 2] + b->scratch[b->filled / 2]);
}

/* The further the mean lies outside in its own standard deviations, the faster a weight grows; weights far
 * above the scale of the losses shrink again. */
static void adapt_weights(cma_bounds *b, const cma *c, double dfit)
{
    double n = (double)b->n, mueff = c->k.mueff, damp = fmin(1, mueff / (10 * n));
    for (uint64_t i = 0; i < b->n && !b->weights_set; i++) {
        b->weights_set = clip(c->m[i]) != c->m[i];
    }
    if (!b->weights_set) {
        return;
    }
    for (uint64_t i = 0; i < b->n; i++) {
        if (b->gamma[i] == 0) {
            b->gamma[i] = 2 * dfit;
        }
        double outside = fabs(c->m[i] - clip(c->m[i])) / (c->sigma * cma_deviation(c, i));
        double excess = outside - 3 * fmax(1, sqrt(n) / mueff);
        b->gamma[i] *= pow(exp(tanh(fmax(0, excess) / 3) / 2), damp);
        if (b->gamma[i] > 5 * dfit) {
            b->gamma[i] *= pow(exp(-1.0 / 3), damp);
        }
    }
}

static void limit_deviations(cma *c)
{
    for (uint64_t i = 0; i < c->k.n; i++) {
        double deviation = c->sigma * cma_deviation(c, i);
        if (deviation > box_width / 3) {
            cma_scale_axis(c, i, box_width / 3 / deviation);
        }
    }
}

void cma_bounds_adapt(cma_bounds *b, cma *c, const double *f)
{
    if (b->method == CMA_BOUNDS_PENALTY) {
        note_range(b, c, f);
        if (b->filled > 0) {
            adapt_weights(b, c, median_range(b));
        }
    }
    if (b->method == CMA_BOUNDS_TRANSFORM || b->method == CMA_BOUNDS_PENALTY) {
        limit_deviations(c);
    }
}
