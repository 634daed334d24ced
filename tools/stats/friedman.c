/* SPDX-License-Identifier: Apache-2.0 */
/* friedman.c - the test of Friedman and what follows it (see friedman.h). */
#include "config.h"

#include "stats/friedman.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdlib.h>

#include "stats/distribution.h"
#include "stats/hypothesis.h"

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

/* Sum of the squares of the methods' sums of ranks; these go to `sum`. */
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
        ties += same * same - 1; /* each of t members adds its share of t (t^2 - 1) */
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
    /* All values of each task equal: nothing differs. */
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
