/* SPDX-License-Identifier: Apache-2.0 */
/* hypothesis.h - which of two sets of runs is better, by how much, and how sure: rank tests that make no
 * assumption about the distribution of losses. Smaller is better; values may be +INFINITY, not NaN. */
#ifndef DS_STATS_HYPOTHESIS_H
#define DS_STATS_HYPOTHESIS_H

#include <stddef.h>

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
