/* SPDX-License-Identifier: Apache-2.0 */
/* hypothesis.h - which of two sets of runs is better, by how much, and how sure: rank tests that make no
 * assumption about the distribution of losses. Smaller is better; values may be +INFINITY, not NaN. */
#ifndef DS_STATS_HYPOTHESIS_H
#define DS_STATS_HYPOTHESIS_H

#include <stddef.h>

/* Values no farther apart than a tolerance are equal. From the lowest value up, a group holds what lies no
 * farther above its lowest member. Sorts `value`, leaves the lowest member of each group in it, and returns
 * how many groups there are; then the lowest member of the group of one of the values. */
size_t ds_equal_groups(double *value, size_t n, double tolerance);
double ds_equal_value(const double *group, size_t groups, double value);

/* Two independent samples (Mann and Whitney 1947). */
typedef struct ds_mann_whitney {
    double u;   /* pairs with x < y, equal ones counted half */
    double a12; /* u / (n m): probability that x is the smaller (Vargha and Delaney 2000) */
    double p;   /* two-sided */
    int exact;  /* 1: p from the permutation distribution, ties included; 0: normal approximation with the
                   * corrections    for ties and continuity */
} ds_mann_whitney;

/* Exact where n + m <= 200 and memory allows. */
ds_mann_whitney ds_mann_whitney_test(const double *x, size_t n, const double *y, size_t m);

/* The smallest p that the test of n against m values can have: all of x below all of y. However far they lie
 * apart, with 3 and 3 it is 0.1. NaN where n or m is 0. */
double ds_mann_whitney_least_p(size_t n, size_t m);

/* How many values on either side it takes so that the smallest of `tests` p values, adjusted by ds_holm(),
 * can fall below `level`. */
size_t ds_runs_needed(size_t tests, double level);

/* The values of one method on one task. */
typedef struct ds_runs {
    const double *value; /* `count` of them */
    size_t count;
} ds_runs;

/* Two methods on several tasks: the mean of a12 over the tasks, each task with the same weight, and its
 * two-sided p from the permutations within the tasks (van Elteren 1960, whose weights are the same where all
 * tasks have the same numbers of values). Values of different tasks are never compared. */
typedef struct ds_stratified {
    double a12, p;
    double least_p; /* the smallest p that can be reached */
    int exact;      /* 0: normal approximation */
} ds_stratified;

ds_stratified ds_stratified_test(const ds_runs *a, const ds_runs *b, size_t tasks);

/* Pairs (x[i], y[i]), say of equal seeds (Wilcoxon 1945); equal pairs are left out. */
typedef struct ds_wilcoxon {
    size_t pairs; /* that differ */
    double w;     /* the smaller sum of ranks */
    double p; /* two-sided, from the permutation distribution, ties included; 1 for no pair; NaN where there
               * are more than 500 */
} ds_wilcoxon;

ds_wilcoxon ds_wilcoxon_test(const double *x, const double *y, size_t n);

/* Adjusts p values of a family of tests so that each may be compared with the level of the whole
 * family (Holm 1979). */
void ds_holm(double *p, size_t n);

/* Ranks of the values from 1, mean ranks for ties. */
void ds_ranks(const double *x, size_t n, double *rank);

#endif
