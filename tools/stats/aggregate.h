/* SPDX-License-Identifier: Apache-2.0 */
/* aggregate.h - one number, or one curve, for a method over several tasks. Scores and their bootstrap as in
 * R. Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, NeurIPS 2021;
 * expected running times and data profiles as in N. Hansen et al., COCO, Optimization Methods and Software
 * 36, 2021. */
#ifndef DS_STATS_AGGREGATE_H
#define DS_STATS_AGGREGATE_H

#include <stddef.h>
#include <stdint.h>

#include "stats/hypothesis.h"
#include "stats/sample.h"

/* 0 where the loss is the mean of random search, 1 where it is the best one known, below 0 where it is
 * worse than random search; 0 for a failed run (+INFINITY). Where `random` is not above `best` by more than
 * the rounding of a mean: 1 for loss <= best and 0 above. */
double ds_normal_score(double loss, double random, double best);

/* Interquartile mean over all runs of all tasks, and its interval by the stratified bootstrap: every task's
 * runs are drawn again, `resamples` times; NaN where no task has two runs. Returns 0, or -1 without memory.
 */
int ds_interquartile_mean(const ds_runs *task, size_t tasks, size_t resamples, uint64_t seed, double level,
                          double *mean, ds_interval *interval);

/* Mean over tasks of the probability that a run of a has the smaller value than one of b (equal ones count
 * half), and its interval: of each task by method 5 of R. G. Newcombe, Statistics in Medicine 25, 2006, of
 * the mean by the method of variance estimates recovery (G. Y. Zou and A. Donner, Statistics in Medicine 27,
 * 2008). A bootstrap would say "1 (1 to 1)" where every run of a lies below every run of b, however few
 * there are. */
void ds_probability_of_improvement(const ds_runs *a, const ds_runs *b, size_t tasks, double level,
                                   double *probability, ds_interval *interval);

/* The same for one task, from what is known of its pairs: n and m values, share `a12` of the pairs. */
ds_interval ds_probability_interval(double a12, size_t n, size_t m, double level);

/* Share of runs with a score above tau, mean over tasks. */
double ds_performance_profile(const ds_runs *task, size_t tasks, double tau);

/* A run in time: evaluations spent, and after how many of them it reached each target (0 = never). */
typedef struct ds_hits {
    const uint64_t *hit; /* per target */
    uint64_t spent;
} ds_hits;

/* Expected running time of target `k`: evaluations of all runs to hit or end, per hit; or INFINITY. */
double ds_expected_running_time(const ds_hits *run, size_t runs, size_t k);

/* Targets in COCO's manner: best + 10^(2 - j/5) (random - best), j = 0..50, the easiest first: from far above
 * random search to 1e-8 of its distance from the best known loss. `target` has room for DS_TARGETS values. */
enum { DS_TARGETS = 51 };
void ds_targets(double random, double best, double *target);

/* The best loss so far as steps: at evaluation id[k] (from 1) it fell to loss[k].
 *
 * Evaluations after which it is at most each target, 0 = never; targets in falling order. */
void ds_target_hits(const uint64_t *id, const double *loss, size_t count, const double *target,
                    size_t targets, uint64_t *hit);

/* Area under the curve of the best score so far, mean over evaluations 1..budget; 0 before the first step,
 * and a run that ended early keeps its last score. */
double ds_anytime_area(const uint64_t *id, const double *loss, size_t count, double budget, double random,
                       double best);

#endif
