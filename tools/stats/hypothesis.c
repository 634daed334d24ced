/* SPDX-License-Identifier: Apache-2.0 */
/* hypothesis.c - rank tests (see hypothesis.h). Exact distributions use the shift algorithm of Streitberg and
 * Roehmel (1986) on doubled ranks, which are integers even with ties. */
#include "config.h"

#include "stats/hypothesis.h"

#include "stats/sample.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_VALUES = 200, EXACT_PAIRS = 500, EXACT_SCALE = 20000 };

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

size_t ds_equal_groups(double *value, size_t n, double tolerance)
{
    size_t groups = 0;
    ds_sample_sort(value, n);
    for (size_t k = 0; k < n; k++) {
        const double low = groups > 0 ? value[groups - 1] : (double)NAN;
        if (!(value[k] == low || value[k] - low <= tolerance)) {
            value[groups++] = value[k];
        }
    }
    return groups;
}

double ds_equal_value(const double *group, size_t groups, double value)
{
    size_t low = 0, high = groups; /* last group that begins at or below the value */
    while (low + 1 < high) {
        const size_t middle = (low + high) / 2;
        *(group[middle] <= value ? &low : &high) = middle;
    }
    return groups > 0 ? group[low] : value;
}

/* ---- Mann-Whitney ---- */

/* Permutation distribution of the doubled sum of n of `all` doubled ranks: out[s] is the probability of s, up
 * to *most. To be freed; NULL without memory. */
static double *rank_sums(const double *rank, size_t n, size_t all, size_t *most)
{
    size_t sum = 0; /* doubled sum of all ranks */
    for (size_t i = 0; i < all; i++) {
        sum += (size_t)lround(2 * rank[i]);
    }
    /* ways[k * (sum + 1) + s]: number of ways to choose k of the values seen so far with sum s. Binomials up
     * to 1e59 fit. */
    double *ways = calloc((n + 1) * (sum + 1), sizeof *ways), total = 0;
    if (ways == NULL) {
        return NULL;
    }
    ways[0] = 1;
    for (size_t i = 0; i < all; i++) {
        const size_t step = (size_t)lround(2 * rank[i]);
        for (size_t k = (i + 1 < n ? i + 1 : n); k > 0; k--) {
            double *to = ways + k * (sum + 1);
            const double *from = ways + (k - 1) * (sum + 1);
            for (size_t s = sum; s >= step; s--) {
                to[s] += from[s - step];
            }
        }
    }
    memmove(ways, ways + n * (sum + 1), (sum + 1) * sizeof *ways);
    for (size_t s = 0; s <= sum; s++) {
        total += ways[s];
    }
    for (size_t s = 0; s <= sum; s++) {
        ways[s] /= total;
    }
    *most = sum;
    return ways;
}

/* Two-sided exact p: share of the choices of n of `all` ranks that are at least as far from the mean as
 * `sum`. */
static double exact_rank_sum(const double *rank, size_t n, size_t all, double sum)
{
    size_t most = 0;
    double *share = rank_sums(rank, n, all, &most), outside = 0;
    const double mean = (double)n * (double)(all + 1), distance = fabs(2 * sum - mean); /* of doubled sums */
    for (size_t s = 0; share != NULL && s <= most; s++) {
        outside += fabs((double)s - mean) >= distance - 0.25 ? share[s] : 0;
    }
    const int done = share != NULL;
    free(share);
    return done ? fmin(1, outside) : (double)NAN;
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
        /* The smaller sample gives the smaller table. */
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

double ds_mann_whitney_least_p(size_t n, size_t m)
{
    double p = 2; /* two of the (n + m over n) orders are as extreme as possible */
    for (size_t i = 1; i <= n; i++) {
        p *= (double)i / (double)(m + i);
    }
    return n > 0 && m > 0 ? fmin(1, p) : (double)NAN;
}

size_t ds_runs_needed(size_t tests, double level)
{
    size_t n = 1;
    while ((double)tests * ds_mann_whitney_least_p(n, n) >= level) {
        n++;
    }
    return n;
}

/* ---- over tasks ---- */

/* One task: ranks, a12, and the variance of a12 when all orders are equally likely. */
typedef struct stratum {
    double *rank; /* of a's values, then b's */
    double sum;   /* of a's ranks */
    double a12, variance;
} stratum;

static int rank_stratum(const ds_runs *a, const ds_runs *b, stratum *s)
{
    const size_t n = a->count, m = b->count, all = n + m;
    const double pairs = (double)n * (double)m, nn = (double)all;
    double *value = malloc((2 * all + 1) * sizeof *value);
    *s = (stratum){.rank = value};
    if (value == NULL) {
        return -1;
    }
    memcpy(value + all, a->value, n * sizeof *value);
    memcpy(value + all + n, b->value, m * sizeof *value);
    const double ties = rank_values(value + all, all, s->rank);
    for (size_t i = 0; i < n; i++) {
        s->sum += s->rank[i];
    }
    s->a12 = (pairs + 0.5 * (double)n * (double)(n + 1) - s->sum) / pairs;
    s->variance = (nn + 1 - ties / (nn * (nn - 1))) / (12 * pairs);
    return isnan(ties) ? -1 : 0;
}

static size_t least_multiple(size_t a, size_t b)
{
    size_t x = a, y = b;
    while (y > 0) {
        const size_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Adds a task to the distribution of the sum of a12, in units of 1 / (2 scale). Frees `so_far`. NULL without
 * memory. */
static double *add_stratum(double *so_far, size_t *width, const stratum *s, size_t n, size_t m, size_t scale)
{
    size_t most = 0;
    double *share = rank_sums(s->rank, n, n + m, &most), *out = NULL;
    const size_t low = n * (n + 1), pairs = n * m,
                 step = scale / pairs; /* doubled sums: low..low + 2 pairs */
    if (so_far != NULL && share != NULL && (out = calloc(*width + 2 * scale, sizeof *out)) != NULL) {
        for (size_t u = 0; u <= 2 * pairs; u++) {
            const double p = low + u <= most ? share[low + u] : 0;
            for (size_t k = 0; p > 0 && k < *width; k++) {
                out[k + (2 * pairs - u) * step] += p * so_far[k];
            }
        }
        *width += 2 * scale;
    }
    free(so_far);
    free(share);
    return out;
}

/* NaN without memory, or if the table would be too large. */
static double exact_stratified(const ds_runs *a, const ds_runs *b, const stratum *s, size_t tasks)
{
    size_t scale = 1, width = 1;
    for (size_t t = 0; t < tasks && scale <= EXACT_SCALE; t++) {
        scale = a[t].count + b[t].count <= EXACT_VALUES ? least_multiple(scale, a[t].count * b[t].count)
                                                        : EXACT_SCALE + 1;
    }
    if (scale > EXACT_SCALE || scale * tasks > EXACT_SCALE) {
        return NAN;
    }
    double *share = calloc(1, sizeof *share), at = 0, p = 0;
    if (share != NULL) {
        share[0] = 1;
    }
    for (size_t t = 0; t < tasks; t++) {
        share = add_stratum(share, &width, &s[t], a[t].count, b[t].count, scale);
        at += 2 * (double)scale * s[t].a12;
    }
    const double mean = (double)scale * (double)tasks;
    for (size_t k = 0; share != NULL && k < width; k++) {
        p += fabs((double)k - mean) >= fabs(at - mean) - 0.25 ? share[k] : 0;
    }
    const int done = share != NULL;
    free(share);
    return done ? fmin(1, p) : (double)NAN;
}

ds_stratified ds_stratified_test(const ds_runs *a, const ds_runs *b, size_t tasks)
{
    ds_stratified t = {NAN, NAN, NAN, 0};
    stratum *s = calloc(tasks + 1, sizeof *s);
    double sum = 0, variance = 0, least = 2;
    int failed = s == NULL || tasks == 0;
    for (size_t i = 0; i < tasks && !failed; i++) {
        failed = a[i].count == 0 || b[i].count == 0 || rank_stratum(&a[i], &b[i], &s[i]) != 0;
        sum += s[i].a12;
        variance += s[i].variance;
        least *= 0.5 * ds_mann_whitney_least_p(a[i].count, b[i].count);
    }
    if (!failed) {
        t.a12 = sum / (double)tasks;
        t.least_p = fmin(1, least);
        t.p = exact_stratified(a, b, s, tasks);
        t.exact = !isnan(t.p);
        if (!t.exact) {
            const double z = fabs(sum - 0.5 * (double)tasks) / sqrt(variance);
            t.p = variance > 0 ? fmin(1, 2 * ds_normal_cdf(-z)) : 1;
        }
    }
    for (size_t i = 0; s != NULL && i < tasks; i++) {
        free(s[i].rank);
    }
    free(s);
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
        if (x[i] != y[i]) { /* also excludes pairs of infinities, whose difference is NaN */
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
            p[i] = fmin(1, p[i] * (double)n); /* without memory: Bonferroni, which is never too small */
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

/* ---- Friedman ---- */

double ds_fisher_tail(double f, double df1, double df2)
{
    return f > 0 ? ds_beta_regular(0.5 * df2, 0.5 * df1, df2 / (df2 + df1 * f)) : 1;
}

/* k times the integral over z of phi(z) (Phi(z) - Phi(z - q))^(k - 1), by the trapezoidal rule, which is
 * exact to rounding for a smooth function that vanishes at both ends. */
double ds_normal_range_cdf(double q, size_t k)
{
    const double step = 0.02, end = 9;
    double sum = 0;
    for (double z = -end; z <= end + fmin(q, 40); z += step) {
        sum += exp(-0.5 * z * z) * pow(ds_normal_cdf(z) - ds_normal_cdf(z - q), (double)(k - 1));
    }
    return q > 0 ? fmin(1, (double)k * sum * step / sqrt(2 * acos(-1))) : 0;
}

static double range_quantile(double p, size_t k)
{
    double low = 0, high = 40;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        *(ds_normal_range_cdf(middle, k) < p ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

static void shuffle(double *rank, size_t n, ds_random *r)
{
    for (size_t i = n; i > 1; i--) {
        const size_t j = ds_random_below(r, i);
        const double swap = rank[i - 1];
        rank[i - 1] = rank[j];
        rank[j] = swap;
    }
}

/* Sum of squares of the methods' rank sums, which are returned in `sum`. */
static double squares_of(const double *rank, size_t tasks, size_t methods, double *sum)
{
    double squares = 0;
    for (size_t k = 0; k < methods; k++) {
        sum[k] = 0;
        for (size_t i = 0; i < tasks; i++) {
            sum[k] += rank[i * methods + k];
        }
        squares += sum[k] * sum[k];
    }
    return squares;
}

/* Sum of t^3 - t over groups of t equal ranks of a task. */
static double ties_of(const double *rank, size_t n)
{
    double ties = 0;
    for (size_t i = 0; i < n; i++) {
        double same = 0;
        for (size_t j = 0; j < n; j++) {
            same += rank[j] == rank[i];
        }
        ties += same * same - 1; /* each of the t members adds 1/t of t^3 - t */
    }
    return ties;
}

int ds_friedman_test(const double *value, size_t tasks, size_t methods, size_t draws, uint64_t seed,
                     double *mean_rank, ds_friedman *out)
{
    const double n = (double)tasks, k = (double)methods;
    double *rank = calloc(tasks * methods + methods, sizeof *rank), *sum = rank + tasks * methods, ties = 0;
    ds_random r = ds_random_open(seed, "permutations of ranks", 0);
    if (rank == NULL) {
        return -1;
    }
    for (size_t i = 0; i < tasks; i++) {
        ds_ranks(value + i * methods, methods, rank + i * methods);
        ties += ties_of(rank + i * methods, methods);
    }
    const double squares = squares_of(rank, tasks, methods, sum), spread = 1 - ties / (n * k * (k * k - 1));
    for (size_t j = 0; j < methods; j++) {
        mean_rank[j] = sum[j] / n;
    }
    /* If all values of each task are equal, nothing differs. */
    out->chi2 = spread > 1e-12 ? fmax(0, 12 / (n * k * (k + 1)) * squares - 3 * n * (k + 1)) / spread : 0;
    const double rest = n * (k - 1) - out->chi2;
    out->f = rest > 1e-9 * n * k ? (n - 1) * out->chi2 / rest : (double)INFINITY;
    out->p_f = isinf(out->f) ? 0 : ds_fisher_tail(out->f, k - 1, (k - 1) * (n - 1));
    size_t as_far = 0;
    for (size_t d = 0; d < draws; d++) {
        for (size_t i = 0; i < tasks; i++) {
            shuffle(rank + i * methods, methods, &r);
        }
        as_far += squares_of(rank, tasks, methods, sum) >= squares - 1e-9 * squares;
    }
    out->p = (double)(as_far + 1) / (double)(draws + 1);
    out->critical_difference = range_quantile(0.95, methods) / sqrt(2) * sqrt(k * (k + 1) / (6 * n));
    free(rank);
    return 0;
}
