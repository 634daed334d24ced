/* SPDX-License-Identifier: Apache-2.0 */
/* aggregate.h - one number, or one curve, per method over several tasks. Sources: scores and bootstrap, R.
 * Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, NeurIPS 2021; running
 * times and data profiles, N. Hansen et al., COCO, Optimization Methods and Software 36, 2021. */
#ifndef DS_STATS_AGGREGATE_H
#define DS_STATS_AGGREGATE_H

#include "stats/hypothesis.h"
#include "stats/sample.h"

#include <stddef.h>
#include <stdint.h>

/* 0 for a loss equal to the mean of random search, 1 for the best known loss, below 0 if worse than random
 * search; 0 for a failed run (+INFINITY). If `random` exceeds `best` by no more than rounding: 1 for loss <=
 * best, else 0. */
double ds_normal_score(double loss, double random, double best);

/* Interquartile mean over all runs of all tasks, with an interval by the stratified bootstrap (`resamples`
 * resamples of every task's runs); NaN if no task has two runs. Returns 0, or -1 without memory. */
int ds_interquartile_mean(const ds_runs *task, size_t tasks, size_t resamples, uint64_t seed, double level,
                          double *mean, ds_interval *interval);

/* Mean over tasks of the probability that a run of a has a smaller value than a run of b (ties count half),
 * with an interval: per task by method 5 of R. G. Newcombe, Statistics in Medicine 25, 2006; for the mean by
 * the method of variance estimates recovery (G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008). A
 * bootstrap would report "1 (1 to 1)" whenever all runs of a lie below all runs of b, however few there are.
 */
void ds_probability_of_improvement(const ds_runs *a, const ds_runs *b, size_t tasks, double level,
                                   double *probability, ds_interval *interval);

/* The interval for one task: n and m values, of whose pairs the share `a12` favours a. */
ds_interval ds_probability_interval(double a12, size_t n, size_t m, double level);

/* Share of runs with a score above tau, mean over tasks. */
double ds_performance_profile(const ds_runs *task, size_t tasks, double tau);

/* A run over time: evaluations spent, and the evaluation at which it reached each target (0 = never). */
typedef struct ds_hits {
    const uint64_t *hit; /* per target */
    uint64_t spent;
} ds_hits;

/* Expected running time to target `k`: evaluations of all runs until hit or end, per hit; INFINITY without a
 * hit. */
double ds_expected_running_time(const ds_hits *run, size_t runs, size_t k);

/* COCO's targets: best + 10^(2 - j/5) (random - best) for j = 0..50, easiest first: from far above random
 * search to 1e-8 of the distance between random search and the best known loss. `target` has room for
 * DS_TARGETS values. */
enum { DS_TARGETS = 51 };
void ds_targets(double random, double best, double *target);

/* The number of evaluations until the best loss is at most each target, 0 = never; targets in falling order.
 * The best loss so far is a step function: at evaluation id[k] (from 1) it falls to loss[k]. */
void ds_target_hits(const uint64_t *id, const double *loss, size_t count, const double *target,
                    size_t targets, uint64_t *hit);

/* Mean of the best score so far over evaluations 1..budget: 0 before the first step; a run that ended early
 * keeps its last score. */
double ds_anytime_area(const uint64_t *id, const double *loss, size_t count, double budget, double random,
                       double best);

#endif
