/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - two sets of runs: on which environments one of them ends lower, by how much, and how
 * sure that is. */
#ifndef DS_COMPARE_COMPARE_H
#define DS_COMPARE_COMPARE_H

#include "results/results.h"
#include "stats/aggregate.h"
#include "stats/hypothesis.h"

#define DS_COMPARE_TOLERANCE 1e-9

/* The runs of one set on one environment. */
typedef struct ds_side {
    double *value;  /* best losses, ordered by seed; +INFINITY = none */
    double *ranked; /* the same for the tests: equal within the tolerance */
    uint64_t *seed;
    size_t runs;     /* samples: runs that are one search under several seeds count as one */
    size_t repeated; /* the others of those */
    double mean, median;
    ds_interval mean90;           /* ds_mean_intervals(); NaN for one run */
    uint64_t least, most;         /* evaluations of its runs */
    uint64_t budget, budget_most; /* least and most evaluations planned */
    double cost_steps;            /* simulation steps, mean of its runs */
} ds_side;

typedef struct ds_versus {
    const char *env;
    ds_side a, b;
    ds_mann_whitney test;     /* a against b */
    ds_interval a12_95;       /* ds_probability_interval(); NaN where a set has one run */
    double p_holm;            /* test.p, adjusted over the environments */
    double least_p;           /* the smallest p_holm that these numbers of runs can reach */
    int paired;               /* both sets have the same seeds, each once */
    ds_wilcoxon pairs;        /* where they have */
    double difference;        /* mean of b - mean of a */
    ds_interval difference95; /* bootstrap of both sets, percentile; NaN where one of them has one run */
    int same_budget;          /* of all runs of both */
    int recommended;          /* under noise: values are the means of the recommended points */
    double tolerance;         /* losses no farther apart are equal */
} ds_versus;

typedef struct ds_comparison {
    ds_run_results results[2];
    ds_versus *item; /* environments that both sets have, by name */
    size_t count;
    size_t only[2];     /* environments that one of them has alone */
    size_t open[2];     /* runs that are not finished or cannot be read: left out */
    size_t damaged;     /* of both together: runs that cannot be read */
    double improvement; /* probability that a run of a ends below one of b, mean over environments */
    ds_interval improvement95;
    ds_stratified overall; /* is it one half? */
    size_t runs_needed;    /* of each set on each environment, for p_holm < 0.05 to be possible */
} ds_comparison;

/* -1: nothing is shown; 0: these numbers of runs can show nothing; 1: a is better, 2: b is better. */
enum { DS_VERSUS_OPEN = -1, DS_VERSUS_TOO_FEW = 0, DS_VERSUS_A = 1, DS_VERSUS_B = 2 };
int ds_versus_verdict(const ds_versus *v);

/* A set is a folder or a table (tables/run_table.h), or FOLDER:OPT or TABLE:OPT for one optimizer of it.
 * Environments with other settings in one set than in the other are different ones (see
 * ds_results_disambiguate(), also of any_version); settings of a table's runs are not known. tolerance NaN:
 * 1e-9 of the way from the median first loss of the runs (of tables alone: the higher median) to the lowest
 * one, and what an inexact environment declares. Exit status and
 * message on failure; then nothing is to be cleared. */
int ds_compare(const char *const set[2], int any_version, double tolerance, ds_comparison *out, ds_error *e);
void ds_comparison_clear(ds_comparison *c);

#endif
