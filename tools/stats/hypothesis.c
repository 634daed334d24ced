/* SPDX-License-Identifier: Apache-2.0 */
/* hypothesis.c - rank tests (see hypothesis.h). Exact distributions are counted by the shift algorithm of
 * Streitberg and Roehmel (1986): over doubled ranks, which are whole numbers also where values are tied. */
#include "config.h"

#include "stats/hypothesis.h"

#include <math.h>
#include <stdlib.h>

#include "stats/distribution.h"

enum { EXACT_VALUES = 200, EXACT_PAIRS = 500 };

typedef struct item {
    double value;
    size_t index;
} item;

static int ascending(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int by_value = (x->value > y->value) - (x->value < y->value);
    return by_value != 0 ? by_value : (x->index > y->index) - (x->index < y->index);
}

/* Returns the sum of t^3 - t over groups of t tied values, or NaN without memory. */
static double rank_values(const double *x, size_t n, double *rank)
{
    double ties = 0;
    item *sorted = malloc((n > 0 ? n : 1) * sizeof *sorted);
    if (sorted == NULL) {
        return NAN;
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = (item){x[i], i};
    }
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && sorted[end].value == sorted[i].value) {
            end++;
        }
        const double t = (double)(end - i);
        for (size_t k = i; k < end; k++) {
            rank[sorted[k].index] = 0.5 * (double)(i + 1 + end);
        }
        ties += t * t * t - t;
        i = end;
    }
    free(sorted);
    return ties;
}

void ds_ranks(const double *x, size_t n, double *rank)
{
    rank_values(x, n, rank);
}

/* ---- Mann-Whitney ---- */

/* Two-sided exact p: share of the choices of n of `all` doubled ranks as far from the mean as `sum`. */
static double exact_rank_sum(const double *rank, size_t n, size_t all, double sum)
{
    size_t most = 0; /* doubled sum of all ranks */
    for (size_t i = 0; i < all; i++) {
        most += (size_t)lround(2 * rank[i]);
    }
    /* ways[k * (most + 1) + s]: choices of k of the values seen so far with sum s; binomials up
     * to 1e59 fit. */
    double *ways = calloc((n + 1) * (most + 1), sizeof *ways);
    if (ways == NULL) {
        return NAN;
    }
    ways[0] = 1;
    for (size_t i = 0; i < all; i++) {
        const size_t step = (size_t)lround(2 * rank[i]);
        for (size_t k = (i + 1 < n ? i + 1 : n); k > 0; k--) {
            double *to = ways + k * (most + 1);
            const double *from = ways + (k - 1) * (most + 1);
            for (size_t s = most; s >= step; s--) {
                to[s] += from[s - step];
            }
        }
    }
    const double *last = ways + n * (most + 1);
    const double mean = (double)n * (double)(all + 1), distance = fabs(2 * sum - mean); /* of doubled sums */
    double total = 0, outside = 0;
    for (size_t s = 0; s <= most; s++) {
        total += last[s];
        outside += fabs((double)s - mean) >= distance - 0.25 ? last[s] : 0;
    }
    free(ways);
    return outside / total;
}

ds_mann_whitney ds_mann_whitney_test(const double *x, size_t n, const double *y, size_t m)
{
    ds_mann_whitney t = {NAN, NAN, NAN, 0};
    const size_t all = n + m;
    double *value = malloc((2 * all + 1) * sizeof *value), *rank = value + all;
    if (value == NULL || n == 0 || m == 0) {
        free(value);
        return t;
    }
    for (size_t i = 0; i < all; i++) {
        value[i] = i < n ? x[i] : y[i - n];
    }
    const double ties = rank_values(value, all, rank);
    const double pairs = (double)n * (double)m, nn = (double)all;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += rank[i];
    }
    t.u = pairs + 0.5 * (double)n * (double)(n + 1) - sum;
    t.a12 = t.u / pairs;
    if (all <= EXACT_VALUES) {
        /* The smaller sample has the smaller table. */
        t.p = n <= m ? exact_rank_sum(rank, n, all, sum)
                     : exact_rank_sum(rank, m, all, 0.5 * nn * (nn + 1) - sum);
        t.exact = !isnan(t.p);
    }
    if (!t.exact) {
        const double sd = sqrt(pairs / 12 * (nn + 1 - ties / (nn * (nn - 1))));
        const double z = (fabs(t.u - 0.5 * pairs) - 0.5) / sd;
        t.p = sd > 0 ? fmin(1, 2 * ds_normal_cdf(-z)) : 1;
    }
    free(value);
    return t;
}

/* ---- Wilcoxon ---- */

ds_wilcoxon ds_wilcoxon_test(const double *x, const double *y, size_t n)
{
    ds_wilcoxon t = {0, 0, 1};
    double *size = malloc((2 * n + 1) * sizeof *size), *rank = size + n, *ways = NULL;
    unsigned char *positive = malloc(n + 1);
    double plus = 0, all = 0;
    if (size == NULL || positive == NULL) {
        t.p = NAN;
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i]) { /* also keeps two infinite values out, whose difference is no number */
            positive[t.pairs] = x[i] > y[i];
            size[t.pairs++] = fabs(x[i] - y[i]);
        }
    }
    if (t.pairs == 0) {
        goto done;
    }
    rank_values(size, t.pairs, rank);
    for (size_t i = 0; i < t.pairs; i++) {
        plus += positive[i] ? rank[i] : 0;
        all += rank[i];
    }
    t.w = fmin(plus, all - plus);
    const size_t most = (size_t)lround(2 * all);
    ways = t.pairs <= EXACT_PAIRS ? calloc(most + 1, sizeof *ways) : NULL;
    if (ways == NULL) {
        t.p = NAN;
        goto done;
    }
    ways[0] = 1;
    for (size_t i = 0; i < t.pairs; i++) {
        const size_t step = (size_t)lround(2 * rank[i]);
        for (size_t s = most; s >= step; s--) {
            ways[s] = 0.5 * (ways[s] + ways[s - step]);
        }
        for (size_t s = 0; s < step; s++) {
            ways[s] *= 0.5;
        }
    }
    t.p = 0;
    for (size_t s = 0; s <= most; s++) {
        t.p += fabs((double)s - all) >= fabs(2 * plus - all) - 0.25 ? ways[s] : 0;
    }
    t.p = fmin(1, t.p);
done:
    free(size);
    free(positive);
    free(ways);
    return t;
}

/* ---- families ---- */

void ds_holm(double *p, size_t n)
{
    item *sorted = malloc((n > 0 ? n : 1) * sizeof *sorted);
    double most = 0;
    if (sorted == NULL) {
        for (size_t i = 0; i < n; i++) {
            p[i] = fmin(1, p[i] * (double)n); /* Bonferroni: never too small */
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = (item){p[i], i};
    }
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fmin(1, (double)(n - i) * sorted[i].value));
        p[sorted[i].index] = most;
    }
    free(sorted);
}
