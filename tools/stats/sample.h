/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - what describes a set of numbers: mean, spread, quantiles and intervals for them. Samples
 * must not hold NaN; +INFINITY (a run without a single valid loss) is a value like any other and makes
 * a mean infinite. */
#ifndef DS_STATS_SAMPLE_H
#define DS_STATS_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct ds_interval {
    double low, high;
} ds_interval;

/* Sorts in place, ascending; and that order, for qsort() and bsearch(). */
int ds_sample_ascending(const void *a, const void *b);
void ds_sample_sort(double *x, size_t n);

/* Mean (of a sum by pairs), NaN for none, and standard deviation with n - 1, NaN for fewer than two. */
double ds_sample_mean(const double *x, size_t n);
double ds_sample_sd(const double *x, size_t n);

/* Quantile q (0..1) of a sorted sample, linear between order statistics (definition 7 of Hyndman and Fan
 * 1996, the default of NumPy and R). */
double ds_sorted_quantile(const double *sorted, size_t n, double q);

/* Mean of a sorted sample without the share `cut` (0..0.5) at either end, rounded down to whole values;
 * cut 0.25 is the interquartile mean of Agarwal et al., Deep RL at the edge of the statistical
 * precipice, NeurIPS 2021. */
double ds_sorted_trimmed_mean(const double *sorted, size_t n, double cut);

/* Interval for the mean at a level such as 0.9 by Student's t. NaN for fewer than two values: one says
 * nothing about spread. */
ds_interval ds_student_interval(const double *x, size_t n, double level);

/* A statistic of a sample; `scratch` has room for n values. */
typedef double ds_statistic(const double *x, size_t n, double *scratch);
ds_statistic ds_statistic_mean;
ds_statistic ds_statistic_median;

/* Bootstrap: `count` values of a statistic on samples drawn with replacement, from a stream of `seed`.
 * `scratch`: 2 n values. */
void ds_bootstrap(const double *x, size_t n, ds_statistic *statistic, uint64_t seed, double *scratch,
                  double *out, size_t count);

/* Intervals from bootstrap values, which get sorted: their quantiles (percentile), and the bias-corrected and
 * accelerated ones of Efron 1987 for the statistic of the sample x. `scratch`: 2 n values. BCa is the
 * percentile one where it is not defined (all values equal), and NaN for fewer than two values. */
ds_interval ds_percentile_interval(double *values, size_t count, double level);
ds_interval ds_bca_interval(const double *x, size_t n, ds_statistic *statistic, double *scratch,
                            double *values, size_t count, double level);

/* The level to ask of a bootstrap of n values so that its intervals are as wide as they have to be: samples
 * drawn again spread less than new ones, and normal quantiles are too small for few values (the expanded
 * percentile interval of T. Hesterberg, The American Statistician 69, 2015). NaN for fewer than two. */
double ds_expanded_level(size_t n, double level);

/* Intervals of the mean at `levels` levels: BCa with expanded levels, from `count` samples. It stays among
 * the values: of losses that cannot be negative it has no negative end. NaN for fewer than two values; where
 * the mean is infinite so are both ends. Returns 0, or -1 without memory. */
int ds_mean_intervals(const double *x, size_t n, uint64_t seed, size_t count, const double *level,
                      size_t levels, ds_interval *out);

#endif
