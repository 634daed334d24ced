/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - distribution functions; mean, spread, quantiles and intervals (see sample.h). */
#include "config.h"

#include "stats/sample.h"

#include <diffsim/helper/random.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- normal and Student's t ---- */

static const double root_half = 0.70710678118654752440;
static const double root_two_pi = 2.50662827463100050242;

double ds_normal_cdf(double z)
{
    return 0.5 * erfc(-z * root_half);
}

double ds_normal_quantile(double p)
{
    if (!(p >= 0 && p <= 1)) {
        return NAN;
    }
    if (p == 0 || p == 1) {
        return p == 0 ? -(double)INFINITY : (double)INFINITY;
    }
    /* Abramowitz and Stegun 26.2.23 for the smaller tail (error at most 4.5e-4), then Halley's method, which
     * triples the number of digits. */
    const int left = p < 0.5;
    const double tail = left ? p : 1 - p, t = sqrt(-2 * log(tail));
    double z =
        (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for (int i = 0; i < 3; i++) {
        double e = (ds_normal_cdf(z) - tail) * root_two_pi * exp(0.5 * z * z);
        z -= e / (1 + 0.5 * z * e);
    }
    return left ? z : -z;
}

/* Continued fraction of I_x(a, b) (Abramowitz and Stegun 26.5.8) by Lentz's method. Converges fast if x < (a
 * + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double smallest = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < smallest ? smallest : d);
    double h = d;
    for (int m = 1; m < 10000; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double k = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                           : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + k * d;
            c = 1 + k / c;
            d = 1 / (fabs(d) < smallest ? smallest : d);
            c = fabs(c) < smallest ? smallest : c;
            h *= c * d;
        }
        if (fabs(c * d - 1) < DBL_EPSILON) {
            break;
        }
    }
    return h;
}

double ds_beta_regular(double a, double b, double x)
{
    if (x <= 0 || x >= 1) {
        return x <= 0 ? 0 : 1;
    }
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* P(T <= -t) for t >= 0, without cancellation in the tail. */
static double student_tail(double t, double df)
{
    return 0.5 * ds_beta_regular(0.5 * df, 0.5, df / (df + t * t));
}

double ds_student_cdf(double t, double df)
{
    return t < 0 ? student_tail(-t, df) : 1 - student_tail(t, df);
}

double ds_student_quantile(double p, double df)
{
    if (!(p >= 0 && p <= 1) || p == 0 || p == 1) {
        return ds_normal_quantile(p);
    }
    const double tail = p < 0.5 ? p : 1 - p;
    double low = 0, high = 1; /* tail probability above and below the target */
    while (student_tail(high, df) > tail) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < 200 && high - low > DBL_EPSILON * high; i++) {
        double middle = 0.5 * (low + high);
        *(student_tail(middle, df) > tail ? &low : &high) = middle;
    }
    return p < 0.5 ? -0.5 * (low + high) : 0.5 * (low + high);
}

int ds_sample_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void ds_sample_sort(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ds_sample_ascending);
}

static double sum(const double *x, size_t n)
{
    if (n <= 8) {
        double s = 0;
        for (size_t i = 0; i < n; i++) {
            s += x[i];
        }
        return s;
    }
    return sum(x, n / 2) + sum(x + n / 2, n - n / 2);
}

double ds_sample_mean(const double *x, size_t n)
{
    return n > 0 ? sum(x, n) / (double)n : (double)NAN;
}

double ds_sample_sd(const double *x, size_t n)
{
    const double mean = ds_sample_mean(x, n);
    double squares = 0;
    if (n < 2) {
        return NAN;
    }
    for (size_t i = 0; i < n; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
    }
    return sqrt(squares / (double)(n - 1));
}

double ds_sorted_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0) {
        return NAN;
    }
    const double at = q * (double)(n - 1), share = at - floor(at);
    const size_t below = (size_t)at, above = below + 1 < n ? below + 1 : below;
    return share == 0 || sorted[below] == sorted[above] /* also if both are infinite */
               ? sorted[below]
               : sorted[below] + share * (sorted[above] - sorted[below]);
}

double ds_sorted_trimmed_mean(const double *sorted, size_t n, double cut)
{
    const size_t drop = (size_t)(cut * (double)n);
    return 2 * drop < n ? ds_sample_mean(sorted + drop, n - 2 * drop) : (double)NAN;
}

ds_interval ds_student_interval(const double *x, size_t n, double level)
{
    if (n < 2) {
        return (ds_interval){NAN, NAN};
    }
    const double mean = ds_sample_mean(x, n);
    const double half =
        ds_student_quantile(0.5 + 0.5 * level, (double)(n - 1)) * ds_sample_sd(x, n) / sqrt((double)n);
    return isfinite(half) ? (ds_interval){mean - half, mean + half} : (ds_interval){mean, mean};
}

double ds_statistic_mean(const double *x, size_t n, double *scratch)
{
    (void)scratch;
    return ds_sample_mean(x, n);
}

double ds_statistic_median(const double *x, size_t n, double *scratch)
{
    memcpy(scratch, x, n * sizeof *x);
    ds_sample_sort(scratch, n);
    return ds_sorted_quantile(scratch, n, 0.5);
}

void ds_bootstrap(const double *x, size_t n, ds_statistic *statistic, uint64_t seed, double *scratch,
                  double *out, size_t count)
{
    ds_random r = ds_random_open(seed, "bootstrap", 0);
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < n; i++) {
            scratch[i] = x[ds_random_below(&r, n)];
        }
        out[k] = statistic(scratch, n, scratch + n);
    }
}

ds_interval ds_percentile_interval(double *values, size_t count, double level)
{
    ds_sample_sort(values, count);
    return (ds_interval){ds_sorted_quantile(values, count, 0.5 - 0.5 * level),
                         ds_sorted_quantile(values, count, 0.5 + 0.5 * level)};
}

/* Acceleration: skewness of the jackknife values. */
static double acceleration(const double *x, size_t n, ds_statistic *statistic, double *scratch)
{
    double mean = 0, squares = 0, cubes = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            memcpy(scratch, x, i * sizeof *x);
            memcpy(scratch + i, x + i + 1, (n - i - 1) * sizeof *x);
            double left_out = statistic(scratch, n - 1, scratch + n);
            if (pass == 0) {
                mean += left_out / (double)n;
            } else {
                double d = mean - left_out;
                squares += d * d;
                cubes += d * d * d;
            }
        }
    }
    return cubes / (6 * pow(squares, 1.5));
}

ds_interval ds_bca_interval(const double *x, size_t n, ds_statistic *statistic, double *scratch,
                            double *values, size_t count, double level)
{
    if (n < 2) {
        return (ds_interval){NAN, NAN};
    }
    const double value = statistic(x, n, scratch);
    size_t below = 0, equal = 0;
    for (size_t k = 0; k < count; k++) {
        below += values[k] < value;
        equal += values[k] == value;
    }
    const double bias = ds_normal_quantile(((double)below + 0.5 * (double)equal) / (double)count);
    const double a = acceleration(x, n, statistic, scratch), z = ds_normal_quantile(0.5 - 0.5 * level);
    const double low = ds_normal_cdf(bias + (bias + z) / (1 - a * (bias + z)));
    const double high = ds_normal_cdf(bias + (bias - z) / (1 - a * (bias - z)));
    if (!isfinite(low) || !isfinite(high)) {
        return ds_percentile_interval(values, count, level);
    }
    ds_sample_sort(values, count);
    return (ds_interval){ds_sorted_quantile(values, count, low), ds_sorted_quantile(values, count, high)};
}

double ds_expanded_level(size_t n, double level)
{
    if (n < 2) {
        return NAN;
    }
    const double t = ds_student_quantile(0.5 + 0.5 * level, (double)(n - 1));
    return 1 - 2 * ds_normal_cdf(-t * sqrt((double)n / (double)(n - 1)));
}

int ds_mean_intervals(const double *x, size_t n, uint64_t seed, size_t count, const double *level,
                      size_t levels, ds_interval *out)
{
    const double mean = ds_sample_mean(x, n);
    const int drawn = n > 1 && isfinite(mean);
    double *scratch = drawn ? malloc((2 * n + count) * sizeof *scratch) : NULL;
    if (drawn && scratch == NULL) {
        return -1;
    }
    if (drawn) {
        ds_bootstrap(x, n, ds_statistic_mean, seed, scratch, scratch + 2 * n, count);
    }
    for (size_t k = 0; k < levels; k++) {
        out[k] = drawn   ? ds_bca_interval(x, n, ds_statistic_mean, scratch, scratch + 2 * n, count,
                                           ds_expanded_level(n, level[k]))
                 : n > 1 ? (ds_interval){mean, mean}
                         : (ds_interval){NAN, NAN};
    }
    free(scratch);
    return 0;
}
