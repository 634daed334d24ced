/* SPDX-License-Identifier: Apache-2.0 */
/* friedman.h - several methods on several tasks: do they differ at all, and by how much must mean ranks
 * differ to be told apart? As J. Demsar, Statistical comparisons of classifiers over multiple data sets,
 * Journal of Machine Learning Research 7, 2006, recommends. */
#ifndef DS_STATS_FRIEDMAN_H
#define DS_STATS_FRIEDMAN_H

#include <stddef.h>
#include <stdint.h>

typedef struct ds_friedman {
    double chi2; /* Friedman 1937, with the correction for ties */
    double f;    /* Iman and Davenport 1980; +INFINITY where all tasks have the same order */
    double p_f;  /* of f: an approximation for many tasks */
    double p;    /* from permutations of the ranks within the tasks: right for few tasks, too */
    double critical_difference; /* of mean ranks, 5 % over all pairs (Nemenyi 1963) */
} ds_friedman;

/* value[task * methods + method], smaller is better; two tasks and two methods at least. `mean_rank` has room
 * for one number per method. Returns 0, or -1 without memory. */
int ds_friedman_test(const double *value, size_t tasks, size_t methods, size_t draws, uint64_t seed,
                     double *mean_rank, ds_friedman *out);

/* P(F > f) of Fisher's F distribution, and P(range of k normal values <= q). */
double ds_fisher_tail(double f, double df1, double df2);
double ds_normal_range_cdf(double q, size_t k);

#endif
