/* SPDX-License-Identifier: Apache-2.0 */
/* aggregate.c - scores over several tasks, running times (see aggregate.h). */
#include "config.h"

#include "stats/aggregate.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double ds_score(double loss, double random, double best)
{
    if (!isfinite(loss)) {
        return 0;
    }
    if (!(random > best)) {
        return loss <= best ? 1 : 0;
    }
    return (random - loss) / (random - best);
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

/* Where every task has one run, drawing again gives the same again: that is no interval. */
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

/* All runs of all tasks, drawn again within each task where r is not NULL. */
static void draw(const ds_runs *task, size_t tasks, ds_random *r, double *out)
{
    for (size_t t = 0; t < tasks; t++) {
        for (size_t i = 0; i < task[t].count; i++) {
            *out++ = task[t].value[r != NULL ? ds_random_below(r, task[t].count) : i];
        }
    }
}

static double interquartile(double *value, size_t count)
{
    ds_sample_sort(value, count);
    return ds_sorted_trimmed_mean(value, count, 0.25);
}

int ds_interquartile_mean(const ds_runs *task, size_t tasks, size_t resamples, uint64_t seed, double level,
                          double *mean, ds_interval *interval)
{
    const size_t all = count_all(task, tasks);
    double *value = malloc((all + resamples + 1) * sizeof *value), *again = value + all;
    ds_random r = ds_random_open(seed, "stratified bootstrap", 0);
    if (value == NULL) {
        return -1;
    }
    draw(task, tasks, NULL, value);
    *mean = interquartile(value, all);
    for (size_t k = 0; k < resamples; k++) {
        draw(task, tasks, &r, value);
        again[k] = interquartile(value, all);
    }
    *interval = interval_of(most_runs(task, tasks), again, resamples, level);
    free(value);
    return 0;
}

/* Share of pairs with x < y, equal ones counted half; both sorted. */
static double share_below(const double *x, size_t n, const double *y, size_t m)
{
    double pairs = 0;
    size_t below = 0, upto = 0; /* values of y that are < x[i], <= x[i] */
    for (size_t i = 0; i < n; i++) {
        while (below < m && y[below] < x[i]) {
            below++;
        }
        while (upto < m && y[upto] <= x[i]) {
            upto++;
        }
        pairs += (double)(m - upto) + 0.5 * (double)(upto - below);
    }
    return pairs / ((double)n * (double)m);
}

static double improvement(const ds_runs *a, const ds_runs *b, size_t tasks, ds_random *r, double *x,
                          double *y)
{
    double total = 0;
    for (size_t t = 0; t < tasks; t++) {
        draw(&a[t], 1, r, x);
        draw(&b[t], 1, r, y);
        ds_sample_sort(x, a[t].count);
        ds_sample_sort(y, b[t].count);
        total += share_below(x, a[t].count, y, b[t].count);
    }
    return total / (double)tasks;
}

int ds_probability_of_improvement(const ds_runs *a, const ds_runs *b, size_t tasks, size_t resamples,
                                  uint64_t seed, double level, double *probability, ds_interval *interval)
{
    const size_t own = most_runs(a, tasks), other = most_runs(b, tasks), most = own > other ? own : other;
    double *x = malloc((2 * most + resamples + 1) * sizeof *x), *y = x + most, *again = x + 2 * most;
    ds_random r = ds_random_open(seed, "stratified bootstrap", 1);
    if (x == NULL) {
        return -1;
    }
    *probability = improvement(a, b, tasks, NULL, x, y);
    for (size_t k = 0; k < resamples; k++) {
        again[k] = improvement(a, b, tasks, &r, x, y);
    }
    *interval = interval_of(most, again, resamples, level);
    free(x);
    return 0;
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
        score = ds_score(loss[k], random, best);
    }
    return (total + (budget + 1 - reached) * score) / budget;
}
