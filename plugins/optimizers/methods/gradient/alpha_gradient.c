/* SPDX-License-Identifier: Apache-2.0 */
/* alpha_gradient.c - mixture of first- and zeroth-order gradients, see alpha_gradient.h. */
#include "methods/gradient/alpha_gradient.h"

#include <diffsim/base.h>
#include <math.h>
#include <string.h>

/* Independent estimates of the gradient, one per row: single samples or means of antithetic pairs. */
typedef struct estimates {
    double *row;
    size_t count, samples;
} estimates;

/* The losses of the zeroth order: subtracts `base` from the loss of sample i, or, where that is NAN, the mean
 * of the others. */
typedef struct baseline {
    double base, sum, finite;
} baseline;

static baseline baseline_of(const alpha_samples *s)
{
    baseline b = {s->base, 0.0, 0.0};
    for (size_t i = 0; i < s->count; i++) {
        int finite = isfinite(s->loss[i]) != 0;
        b.sum += finite ? s->loss[i] : 0.0;
        b.finite += finite;
    }
    return b;
}

/* The mean of the losses except for sample i and its mirror image: those depend on the noise that they are
 * multiplied with, which would cause a bias. NAN = there are no others. */
static double mean_of_others(const alpha_rule *rule, const alpha_samples *s, const baseline *b, size_t i)
{
    const size_t half = s->count / 2;
    double sum = b->sum - s->loss[i], count = b->finite - 1.0;
    if (rule->antithetic && i < 2 * half && isfinite(s->loss[(i + half) % (2 * half)])) {
        sum -= s->loss[(i + half) % (2 * half)];
        count--;
    }
    return count > 0.0 ? sum / count : (double)NAN;
}

/* Adds sample i to row: its estimate of zeroth or first order. 0 = it has none. */
static int add_sample(double *row, const alpha_rule *rule, const alpha_samples *s, const baseline *b,
                      size_t i, int order)
{
    const double loss = s->loss[i], *w = s->w + i * s->n;
    if (!isfinite(loss) || (order == 1 && s->outcome[i] != DS_EVAL_OK)) {
        return 0;
    }
    if (order == 1) {
        for (size_t k = 0; k < s->n; k++) {
            row[k] += s->gradient[i * s->n + k];
        }
        return 1;
    }
    double base = isnan(b->base) ? mean_of_others(rule, s, b, i) : b->base;
    for (size_t k = 0; !isnan(base) && k < s->n; k++) {
        row[k] += (loss - base) / rule->s * (w[k] / rule->s);
    }
    return !isnan(base);
}

/* Estimates of all samples, or pairs of them. */
static void add_all(estimates *e, const alpha_rule *rule, const alpha_samples *s, int order)
{
    const baseline b = baseline_of(s);
    size_t half = s->count / 2, units = rule->antithetic ? half : s->count;
    for (size_t u = 0; u < units; u++) {
        double *row = e->row + e->count * s->n;
        memset(row, 0, s->n * sizeof(double));
        int used = add_sample(row, rule, s, &b, u, order);
        used += rule->antithetic ? add_sample(row, rule, s, &b, u + half, order) : 0;
        for (size_t k = 0; used > 1 && k < s->n; k++) {
            row[k] *= 0.5;
        }
        e->count += used > 0;
        e->samples += (size_t)used;
    }
}

/* Mean of the estimates for variables [from, to) and the variance of that mean, summed over the variables;
 * infinite where there are fewer than two. */
static double mean_and_variance(const estimates *e, size_t n, size_t from, size_t to, double *mean)
{
    double sum = 0.0, m = (double)e->count;
    for (size_t k = from; k < to; k++) {
        mean[k] = 0.0;
        for (size_t i = 0; i < e->count; i++) {
            mean[k] += e->row[i * n + k] / m;
        }
        for (size_t i = 0; i < e->count; i++) {
            double d = e->row[i * n + k] - mean[k];
            sum += d * d;
        }
    }
    return e->count < 2 || !isfinite(sum) ? (double)INFINITY : sum / (m - 1.0) / m;
}

/* Weight of the first order, from V0, V1: variances of the means; d: variables; distance: |g1 - g0|. Notes
 * alpha, eps and the case. */
static double weight(const alpha_rule *r, double V0, double V1, double d, double count, double distance,
                     alpha_report *out)
{
    double log_term = log((d + 1.0) / r->chance), total = V0 + V1 + r->small / count;
    /* vector Bernstein bound of |g0 - E g0|, which g1 - g0 is compared with */
    out->eps = sqrt(2.0 * V0 * log_term) + 2.0 * r->largest / (3.0 * count) * log_term;
    out->which = ALPHA_INSIDE;
    if (isinf(V1)) {
        return 0.0;
    }
    double alpha = isinf(V0) ? 1.0 : total > 0.0 ? V0 / total : 1.0;
    if (r->fixed >= 0.0) {
        return r->fixed;
    }
    if (r->rule == ALPHA_BIAS) {
        if (out->eps > r->gamma) {
            out->which = ALPHA_UNCERTAIN;
            return 0.0; /* g0 is too uncertain to show whether g1 is biased */
        }
        if (alpha * distance > r->gamma - out->eps) {
            out->which = ALPHA_HIT;
            alpha = (r->gamma - out->eps) / distance;
        }
    }
    return alpha;
}

/* Variables [from, to) of g: the zeroth order is in g, the first in g1. */
static void mix_block(const alpha_rule *rule, const estimates *zeroth, const estimates *first, size_t n,
                      size_t from, size_t to, double *g1, double *g, alpha_report *out)
{
    double distance = 0.0, share = (double)(to - from) / (double)n;
    double V0 = zeroth->count > 0 ? mean_and_variance(zeroth, n, from, to, g) : (double)INFINITY;
    double V1 = first->count > 0 ? mean_and_variance(first, n, from, to, g1) : (double)INFINITY;
    for (size_t k = from; isfinite(V0) && isfinite(V1) && k < to; k++) {
        distance = hypot(distance, g1[k] - g[k]);
    }
    double a = zeroth->count == 0
                   ? 1.0
                   : weight(rule, V0, V1, (double)(to - from), (double)zeroth->count, distance, out);
    for (size_t k = from; a > 0.0 && k < to; k++) {
        g[k] = a < 1.0 ? a * g1[k] + (1.0 - a) * g[k] : g1[k];
    }
    out->alpha += a * share;
    out->distance += distance * share;
    out->v0 += zeroth->samples > 0 ? V0 * (double)zeroth->samples : (double)INFINITY;
    out->v1 += first->samples > 0 ? V1 * (double)first->samples : (double)INFINITY;
}

int alpha_gradient(const alpha_rule *rule, const alpha_samples *first_samples,
                   const alpha_samples *zeroth_samples, double *work, double *g, alpha_report *report)
{
    const alpha_samples *any = zeroth_samples ? zeroth_samples : first_samples;
    size_t n = any->n, zeroths = zeroth_samples ? zeroth_samples->count : 0,
           firsts = first_samples ? first_samples->count : 0;
    estimates zeroth = {work, 0, 0}, first = {work + zeroths * n, 0, 0};
    double *g1 = work + (zeroths + firsts) * n;
    alpha_report out = {.which = ALPHA_INSIDE};
    if (zeroth_samples) {
        add_all(&zeroth, rule, zeroth_samples, 0);
    }
    if (first_samples) {
        add_all(&first, rule, first_samples, 1);
    }
    if (zeroth.count < 2 && (zeroth_samples || first.count < 2)) {
        return 0;
    }
    size_t block = rule->block > 0 && rule->block < n ? rule->block : n;
    for (size_t from = 0; from < n; from += block) {
        mix_block(rule, &zeroth, &first, n, from, from + block < n ? from + block : n, g1, g, &out);
    }
    for (size_t k = 0; k < n; k++) {
        g[k] = isfinite(g[k]) ? g[k] : 0.0;
    }
    if (report) {
        *report = out;
    }
    return 1;
}
