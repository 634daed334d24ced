/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - distributions, and descriptions of a sample: mean, spread, quantiles, intervals. Samples must
 * not hold NaN; +INFINITY (a run without a valid loss) is an ordinary value and makes a mean infinite. */
#ifndef DS_STATS_SAMPLE_H
#define DS_STATS_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* ---- distributions ---- */

/* P(Z <= z) for a standard normal Z. */
double ds_normal_cdf(double z);

/* Inverse for 0 < p < 1; -INFINITY and INFINITY at the ends, NaN outside. */
double ds_normal_quantile(double p);

/* P(T <= t) of Student's t with `df` > 0 degrees of freedom. */
double ds_student_cdf(double t, double df);

/* Inverse, as above. */
double ds_student_quantile(double p, double df);

/* Regularized incomplete beta function I_x(a, b); a, b > 0, 0 <= x <= 1. */
double ds_beta_regular(double a, double b, double x);

typedef struct ds_interval {
    double low, high;
} ds_interval;

/* Ascending order: comparison for qsort() and bsearch(); sorting in place. */
int ds_sample_ascending(const void *a, const void *b);
void ds_sample_sort(double *x, size_t n);

/* Mean (pairwise sum), NaN for no values; standard deviation with n - 1, NaN for fewer than two. */
double ds_sample_mean(const double *x, size_t n);
double ds_sample_sd(const double *x, size_t n);

/* Quantile q (0..1) of a sorted sample, linear between order statistics (definition 7 of Hyndman and Fan
 * 1996, the default of NumPy and R). */
double ds_sorted_quantile(const double *sorted, size_t n, double q);

/* Mean of a sorted sample without the share `cut` (0..0.5) at either end, rounded down to whole values. cut =
 * 0.25 is the interquartile mean (Agarwal et al. 2021). */
double ds_sorted_trimmed_mean(const double *sorted, size_t n, double cut);

/* Student's t interval of the mean at a level such as 0.9. NaN for fewer than two values. */
ds_interval ds_student_interval(const double *x, size_t n, double level);

/* A statistic of a sample; `scratch` has room for n values. */
typedef double ds_statistic(const double *x, size_t n, double *scratch);
ds_statistic ds_statistic_mean;
ds_statistic ds_statistic_median;

/* Bootstrap: `count` values of a statistic of samples drawn with replacement, random numbers from `seed`.
 * `scratch`: 2 n values. */
void ds_bootstrap(const double *x, size_t n, ds_statistic *statistic, uint64_t seed, double *scratch,
                  double *out, size_t count);

/* Intervals from bootstrap values, which are sorted in place: percentile, and bias-corrected and accelerated
 * (BCa, Efron 1987) for the statistic of the sample x. `scratch`: 2 n values. BCa falls back to percentile
 * where it is undefined (all values equal), and is NaN for fewer than two values. */
ds_interval ds_percentile_interval(double *values, size_t count, double level);
ds_interval ds_bca_interval(const double *x, size_t n, ds_statistic *statistic, double *scratch,
                            double *values, size_t count, double level);

/* The level to request from a bootstrap of n values so that the interval is wide enough: resamples spread
 * less than new samples, and normal quantiles are too small for few values (expanded percentile interval, T.
 * Hesterberg, The American Statistician 69, 2015). NaN for fewer than two. */
double ds_expanded_level(size_t n, double level);

/* BCa intervals of the mean at `levels` expanded levels, from `count` resamples. They stay within the range
 * of the values. NaN for fewer than two values; both ends are infinite if the mean is. Returns 0, or -1
 * without memory. */
int ds_mean_intervals(const double *x, size_t n, uint64_t seed, size_t count, const double *level,
                      size_t levels, ds_interval *out);

#endif
