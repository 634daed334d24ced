/* SPDX-License-Identifier: Apache-2.0 */
/* aggregate.c - scores over several tasks, running times (see aggregate.h). */
#include "config.h"

#include "stats/aggregate.h"

#include "stats/sample.h"

#include <diffsim/helper/random.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double ds_normal_score(double loss, double random, double best)
{
    if (!isfinite(loss)) {
        return 0;
    }
    /* What rounding leaves of a difference of equal numbers: it is neither a scale nor a score. */
    const double rounding = 16 * DBL_EPSILON;
    if (!(random - best > rounding * fmax(fabs(random), fabs(best)))) {
        return loss - best <= rounding * fmax(fabs(loss), fabs(best)) ? 1 : 0;
    }
    return fabs(random - loss) <= rounding * fmax(fabs(random), fabs(loss))
               ? 0
               : (random - loss) / (random - best);
}

/* ---- stratified bootstrap ---- */

static size_t count_all(const ds_runs *task, size_t tasks)
{
    size_t all = 0;
    for (size_t t = 0; t < tasks; t++) {
        all += task[t].count;
    }
    return all;
}

/* Resampling tasks that have one run each returns the same values every time, which is not an interval. */
static ds_interval interval_of(size_t most, double *values, size_t count, double level)
{
    return most > 1 ? ds_percentile_interval(values, count, level) : (ds_interval){NAN, NAN};
}

static size_t most_runs(const ds_runs *task, size_t tasks)
{
    size_t most = 0;
    for (size_t t = 0; t < tasks; t++) {
        most = task[t].count > most ? task[t].count : most;
    }
    return most;
}

/* Sorts the values of all runs and finds the rank of each run's value. Equal values share a rank. */
static void rank_runs(const ds_runs *task, size_t tasks, double *sorted, size_t *place)
{
    const size_t all = count_all(task, tasks);
    for (size_t t = 0, at = 0; t < tasks; at += task[t].count, t++) {
        memcpy(sorted + at, task[t].value, task[t].count * sizeof *sorted);
    }
    ds_sample_sort(sorted, all);
    for (size_t t = 0; t < tasks; t++) {
        for (size_t i = 0; i < task[t].count; i++) {
            const double *at = bsearch(&task[t].value[i], sorted, all, sizeof *sorted, ds_sample_ascending);
            *place++ = (size_t)(at - sorted);
        }
    }
}

/* Resamples the runs of every task, sorted. Counting how often each rank was drawn (`times`, all 0 before and
 * after) is faster than sorting the draws. */
static void draw_sorted(const ds_runs *task, size_t tasks, const double *sorted, const size_t *place,
                        ds_random *r, size_t *times, double *out)
{
    const size_t all = count_all(task, tasks);
    for (size_t t = 0; t < tasks; place += task[t].count, t++) {
        for (size_t i = 0; i < task[t].count; i++) {
            times[place[ds_random_below(r, task[t].count)]]++;
        }
    }
    for (size_t k = 0; k < all; k++) {
        for (; times[k] > 0; times[k]--) {
            *out++ = sorted[k];
        }
    }
}

int ds_interquartile_mean(const ds_runs *task, size_t tasks, size_t resamples, uint64_t seed, double level,
                          double *mean, ds_interval *interval)
{
    const size_t all = count_all(task, tasks);
    double *sorted = malloc((2 * all + resamples + 1) * sizeof *sorted), *value = sorted + all,
           *again = value + all;
    size_t *times = calloc(2 * all + 1, sizeof *times), *place = times + all;
    ds_random r = ds_random_open(seed, "stratified bootstrap", 0);
    if (sorted == NULL || times == NULL) {
        free(sorted);
        free(times);
        return -1;
    }
    rank_runs(task, tasks, sorted, place);
    *mean = ds_sorted_trimmed_mean(sorted, all, 0.25);
    for (size_t k = 0; k < resamples; k++) {
        draw_sorted(task, tasks, sorted, place, &r, times, value);
        again[k] = ds_sorted_trimmed_mean(value, all, 0.25);
    }
    *interval = interval_of(most_runs(task, tasks), again, resamples, level);
    free(sorted);
    free(times);
    return 0;
}

static double share_below(const ds_runs *a, const ds_runs *b)
{
    double pairs = 0;
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < b->count; j++) {
            pairs += a->value[i] < b->value[j] ? 1 : a->value[i] <= b->value[j] ? 0.5 : 0;
        }
    }
    return pairs / ((double)a->count * (double)b->count);
}

/* Distance between `theta` and the observed share a12 in standard errors: the variance of a Mann-Whitney
 * share of exponential distributions (Hanley and McNeil 1982), with (n + m) / 2 - 1 in place of n - 1 and m -
 * 1. */
static double distance(double a12, double theta, double n, double m)
{
    const double half = 0.5 * (n + m) - 1;
    const double spread = 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta);
    return fabs(theta - a12) / sqrt(theta * (1 - theta) * spread / (n * m));
}

/* The value between a12 and `end` (0 or 1) at distance z. */
static double bound(double a12, double end, double n, double m, double z)
{
    double near = a12, far = end;
    for (int i = 0; i < 100; i++) {
        const double middle = 0.5 * (near + far);
        *(middle > 0 && middle < 1 && distance(a12, middle, n, m) < z ? &near : &far) = middle;
    }
    return 0.5 * (near + far);
}

ds_interval ds_probability_interval(double a12, size_t n, size_t m, double level)
{
    const double z = ds_normal_quantile(0.5 + 0.5 * level);
    return (ds_interval){bound(a12, 0, (double)n, (double)m, z), bound(a12, 1, (double)n, (double)m, z)};
}

void ds_probability_of_improvement(const ds_runs *a, const ds_runs *b, size_t tasks, double level,
                                   double *probability, ds_interval *interval)
{
    double sum = 0, below = 0, above = 0;
    size_t most = 0;
    for (size_t t = 0; t < tasks; t++) {
        const size_t n = a[t].count, m = b[t].count;
        const double a12 = share_below(&a[t], &b[t]);
        const ds_interval i = ds_probability_interval(a12, n, m, level);
        most = n > most ? n : most;
        most = m > most ? m : most;
        sum += a12;
        below += (a12 - i.low) * (a12 - i.low);
        above += (i.high - a12) * (i.high - a12);
    }
    const double mean = sum / (double)tasks;
    *probability = mean;
    *interval = most > 1 ? (ds_interval){fmax(0, mean - sqrt(below) / (double)tasks),
                                         fmin(1, mean + sqrt(above) / (double)tasks)}
                         : (ds_interval){NAN, NAN};
}

double ds_performance_profile(const ds_runs *task, size_t tasks, double tau)
{
    double total = 0;
    for (size_t t = 0; t < tasks; t++) {
        size_t above = 0;
        for (size_t i = 0; i < task[t].count; i++) {
            above += task[t].value[i] > tau;
        }
        total += (double)above / (double)task[t].count;
    }
    return total / (double)tasks;
}

/* ---- running times ---- */

double ds_expected_running_time(const ds_hits *run, size_t runs, size_t k)
{
    double spent = 0;
    size_t hits = 0;
    for (size_t i = 0; i < runs; i++) {
        hits += run[i].hit[k] > 0;
        spent += (double)(run[i].hit[k] > 0 ? run[i].hit[k] : run[i].spent);
    }
    return hits > 0 ? spent / (double)hits : (double)INFINITY;
}

void ds_targets(double random, double best, double *target)
{
    for (int j = 0; j < DS_TARGETS; j++) {
        target[j] = best + pow(10, 2 - 0.2 * j) * (random - best);
    }
}

void ds_target_hits(const uint64_t *id, const double *loss, size_t count, const double *target,
                    size_t targets, uint64_t *hit)
{
    size_t k = 0;
    memset(hit, 0, targets * sizeof *hit);
    for (size_t i = 0; i < count; i++) {
        for (; k < targets && loss[i] <= target[k]; k++) {
            hit[k] = id[i];
        }
    }
}

double ds_anytime_area(const uint64_t *id, const double *loss, size_t count, double budget, double random,
                       double best)
{
    double total = 0, reached = 1, score = 0;
    for (size_t k = 0; k < count && (double)id[k] <= budget; k++) {
        total += ((double)id[k] - reached) * score;
        reached = (double)id[k];
        score = ds_normal_score(loss[k], random, best);
    }
    return (total + (budget + 1 - reached) * score) / budget;
}
