/* SPDX-License-Identifier: Apache-2.0 */
/* alpha_gradient.c - mixture of first- and zeroth-order gradients, see alpha_gradient.h. */
#include "methods/gradient/alpha_gradient.h"

#include <diffsim/base.h>
#include <math.h>
#include <string.h>

/* Independent estimates of the gradient, one per row: single samples or means of antithetic pairs. */
typedef struct estimates {
    double *row;
    size_t count;
} estimates;

/* Adds the estimate from samples a and b (a = b: a single one): zeroth order, or first order. */
static void add_estimate(estimates *e, const alpha_rule *rule, const alpha_samples *s, size_t a, size_t b,
                         int order)
{
    double *row = e->row + e->count * s->n;
    int used = 0;
    memset(row, 0, s->n * sizeof(double));
    for (size_t i = a;; i = b) {
        int valid = isfinite(s->loss[i]) && (order == 0 || s->outcome[i] == DS_EVAL_OK);
        for (size_t k = 0; valid && k < s->n; k++) {
            size_t ik = i * s->n + k;
            row[k] += order == 1 ? s->gradient[ik] : (s->loss[i] - s->base) / rule->s * (s->w[ik] / rule->s);
        }
        used += valid;
        if (i == b) {
            break;
        }
    }
    for (size_t k = 0; used > 1 && k < s->n; k++) {
        row[k] *= 0.5;
    }
    e->count += used > 0;
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

/* Weight of the first order. V0, V1: variances of the means; d: variables; distance: |g1 - g0|. */
static double weight(const alpha_rule *r, double V0, double V1, double d, double count, double distance)
{
    if (isinf(V1)) {
        return 0.0;
    }
    double alpha = isinf(V0) ? 1.0 : (V0 + V1 > 0.0 ? V0 / (V0 + V1) : 1.0);
    if (r->rule == ALPHA_BIAS) {
        /* vector Bernstein bound of |g0 - E g0|, which g1 - g0 is compared with */
        double log_term = log((d + 1.0) / r->delta);
        double eps = sqrt(2.0 * V0 * log_term) + 2.0 * r->largest / (3.0 * count) * log_term;
        if (eps > r->gamma) {
            return 0.0; /* g0 is too uncertain to tell whether g1 is biased */
        }
        if (alpha * distance > r->gamma - eps) {
            alpha = (r->gamma - eps) / distance;
        }
    }
    return alpha;
}

int alpha_gradient(const alpha_rule *rule, const alpha_samples *s, double *work, double *g, double *alpha)
{
    size_t n = s->n, half = s->count / 2, units = rule->antithetic ? half : s->count;
    estimates zeroth = {work, 0}, first = {work + s->count * n, 0};
    for (size_t u = 0; u < units; u++) {
        size_t other = rule->antithetic ? u + half : u;
        add_estimate(&zeroth, rule, s, u, other, 0);
        if (s->gradient) {
            add_estimate(&first, rule, s, u, other, 1);
        }
    }
    if (zeroth.count < 2) {
        return 0;
    }
    size_t block = rule->block > 0 && rule->block < n ? rule->block : n;
    *alpha = 0.0;
    for (size_t from = 0; from < n; from += block) {
        size_t to = from + block < n ? from + block : n;
        double distance = 0.0;
        double *g1 = work + 2 * s->count * n;
        double V0 = mean_and_variance(&zeroth, n, from, to, g);
        double V1 = first.count > 0 ? mean_and_variance(&first, n, from, to, g1) : (double)INFINITY;
        for (size_t k = from; isfinite(V1) && k < to; k++) {
            distance = hypot(distance, g1[k] - g[k]);
        }
        double a = weight(rule, V0, V1, (double)(to - from), (double)zeroth.count, distance);
        for (size_t k = from; a > 0.0 && k < to; k++) {
            g[k] = a * g1[k] + (1.0 - a) * g[k];
        }
        *alpha += a * (double)(to - from) / (double)n;
    }
    for (size_t k = 0; k < n; k++) {
        g[k] = isfinite(g[k]) ? g[k] : 0.0;
    }
    return 1;
}
