/* SPDX-License-Identifier: Apache-2.0 */
/* hypothesis.h - which of two sets of runs is better, by how much, and how certainly: rank tests, which
 * assume nothing about the distribution of losses. Smaller is better; values may be +INFINITY, not NaN. */
#ifndef DS_STATS_HYPOTHESIS_H
#define DS_STATS_HYPOTHESIS_H

#include <stddef.h>
#include <stdint.h>

/* Groups values that differ by at most `tolerance` from the lowest member of their group, starting at the
 * lowest value. ds_equal_groups() sorts `value`, leaves the lowest member of each group in it and returns the
 * number of groups; ds_equal_value() returns the lowest member of a value's group. */
size_t ds_equal_groups(double *value, size_t n, double tolerance);
double ds_equal_value(const double *group, size_t groups, double value);

/* Two independent samples (Mann and Whitney 1947). */
typedef struct ds_mann_whitney {
    double u;   /* pairs with x < y; ties count half */
    double a12; /* u / (n m): probability that x is the smaller (Vargha and Delaney 2000) */
    double p;   /* two-sided */
    /* 1: p from the permutation distribution including ties; 0: normal approximation corrected for ties and
     * continuity */
    int exact;
} ds_mann_whitney;

/* Exact if n + m <= 200 and memory allows. */
ds_mann_whitney ds_mann_whitney_test(const double *x, size_t n, const double *y, size_t m);

/* The smallest p that a test of n against m values can reach (all x below all y): 0.1 for 3 against 3. NaN if
 * n or m is 0. */
double ds_mann_whitney_least_p(size_t n, size_t m);

/* The number of values per side with which the smallest of `tests` p values, adjusted by ds_holm(), can fall
 * below `level`. */
size_t ds_runs_needed(size_t tests, double level);

/* The values of one method on one task. */
typedef struct ds_runs {
    const double *value; /* `count` of them */
    size_t count;
} ds_runs;

/* Two methods on several tasks: the mean of a12 over tasks of equal weight, and its two-sided p from
 * permutations within tasks (van Elteren 1960, whose weights are equal if all tasks have the same numbers of
 * values). Values of different tasks are never compared. */
typedef struct ds_stratified {
    double a12, p;
    double least_p; /* smallest p that can be reached */
    int exact;      /* 0: normal approximation */
} ds_stratified;

ds_stratified ds_stratified_test(const ds_runs *a, const ds_runs *b, size_t tasks);

/* Paired samples (x[i], y[i]), for example runs with the same seed (Wilcoxon 1945). Equal pairs are left out.
 */
typedef struct ds_wilcoxon {
    size_t pairs; /* number of unequal pairs */
    double w;     /* the smaller sum of ranks */
    /* two-sided, from the permutation distribution including ties; 1 without pairs; NaN above 500 pairs */
    double p;
} ds_wilcoxon;

ds_wilcoxon ds_wilcoxon_test(const double *x, const double *y, size_t n);

/* Adjusts a family of p values so that each can be compared with the level of the whole family (Holm 1979).
 */
void ds_holm(double *p, size_t n);

/* Ranks from 1; ties get their mean rank. */
void ds_ranks(const double *x, size_t n, double *rank);

/* ---- Friedman ---- */

/* Do several methods differ over several tasks, and by how much must mean ranks differ? As recommended by J.
 * Demsar, Statistical comparisons of classifiers over multiple data sets, Journal of Machine Learning
 * Research 7, 2006. */

typedef struct ds_friedman {
    double chi2;                /* Friedman 1937, corrected for ties */
    double f;                   /* Iman and Davenport 1980; +INFINITY if all tasks have the same order */
    double p_f;                 /* of f: an approximation, good for many tasks */
    double p;                   /* from permutations of the ranks within tasks: also right for few tasks */
    double critical_difference; /* of mean ranks, 5 % over all pairs (Nemenyi 1963) */
} ds_friedman;

/* value[task * methods + method], smaller is better; at least two tasks and two methods. `mean_rank`: one
 * number per method. Returns 0, or -1 without memory. */
int ds_friedman_test(const double *value, size_t tasks, size_t methods, size_t draws, uint64_t seed,
                     double *mean_rank, ds_friedman *out);

/* P(F > f) of Fisher's F distribution, and P(range of k normal values <= q). */
double ds_fisher_tail(double f, double df1, double df2);
double ds_normal_range_cdf(double q, size_t k);

#endif
