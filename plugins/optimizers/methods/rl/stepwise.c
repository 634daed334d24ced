/* SPDX-License-Identifier: Apache-2.0 */
/* stepwise.c - see stepwise.h. */
#include "methods/rl/stepwise.h"

#include <diffsim/helper/box.h>
#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

enum { SCALE_EPISODES = 10 };
#define LARGEST_REWARD 1e30 /* larger values would overflow in the networks */

static int allocate(stepwise *s, size_t lanes)
{
    size_t n_obs = (size_t)s->host.info->n_obs;
    s->lane = ds_memory_take(&s->memory, lanes, sizeof *s->lane);
    s->number = ds_memory_take(&s->memory, lanes, sizeof *s->number);
    s->at = ds_memory_take(&s->memory, lanes, sizeof *s->at);
    s->row = ds_memory_take(&s->memory, lanes, sizeof *s->row);
    s->x = ds_memory_doubles(&s->memory, lanes * s->act);
    s->raw = ds_memory_doubles(&s->memory, lanes * n_obs);
    s->reward = ds_memory_doubles(&s->memory, lanes);
    s->loss = ds_memory_doubles(&s->memory, lanes);
    s->ended = ds_memory_take(&s->memory, lanes, sizeof *s->ended);
    s->outcome = ds_memory_take(&s->memory, lanes, sizeof *s->outcome);
    float *features = ds_memory_take(&s->memory, 2 * lanes * s->obs, sizeof(float));
    if (s->memory.failed) {
        return 0;
    }
    for (size_t i = 0; i < lanes; i++) {
        s->lane[i].obs = features + 2 * i * s->obs;
        s->lane[i].previous = s->lane[i].obs + s->obs;
    }
    s->lanes = lanes;
    return 1;
}

ds_status stepwise_init(stepwise *s, const ds_problem *problem, const ds_evaluator_lanes *host, size_t first,
                        size_t lanes, const stepwise_options *options)
{
    memset(s, 0, sizeof *s);
    s->problem = problem;
    s->host = *host;
    s->time = options->time;
    s->worst = INFINITY;
    s->end = options->end;
    s->range = options->range;
    s->first_lane = first;
    s->horizon = (size_t)host->info->horizon;
    s->act = (size_t)host->info->n_act;
    s->obs = (size_t)host->info->n_obs + (s->time ? 1 : 0);
    size_t free_lanes = host->count > first ? host->count - first : 1;
    lanes = lanes > free_lanes ? free_lanes : lanes;
    if (!allocate(s, lanes)) {
        return ds_host_fail(host->host, DS_E_NOMEM, "out of memory for the episodes: lower envs");
    }
    return DS_OK;
}

void stepwise_free(stepwise *s)
{
    ds_memory_free(&s->memory);
    memset(s, 0, sizeof *s);
}

static void features(const stepwise *s, stepwise_lane *l, const double *raw)
{
    size_t n = s->obs - (s->time ? 1 : 0);
    for (size_t i = 0; i < n; i++) {
        l->obs[i] = (float)ds_box_clamp(raw[i], -STEPWISE_LARGEST_FEATURE, STEPWISE_LARGEST_FEATURE);
    }
    if (s->time) {
        l->obs[n] = (float)((double)l->t / (double)s->horizon);
    }
}

/* The rows of a call, for the lanes in s->row. */
static ds_evaluator_steps rows_of(stepwise *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        s->number[i] = s->first_lane + s->row[i];
    }
    return (ds_evaluator_steps){.count = count,
                                .lane = s->number,
                                .action = s->x,
                                .obs = s->raw,
                                .reward = s->reward,
                                .ended = s->ended,
                                .loss = s->loss,
                                .outcome = s->outcome};
}

ds_status stepwise_begin(stepwise *s, uint64_t most, const char *tag, uint64_t group)
{
    size_t count = 0, n_obs = (size_t)s->host.info->n_obs;
    for (size_t i = 0; i < s->lanes && count < most; i++) {
        if (!s->lane[i].open) {
            s->row[count++] = i;
        }
    }
    if (count == 0) {
        return DS_OK;
    }
    ds_evaluator_steps rows = rows_of(s, count);
    ds_status status = ds_evaluator_lanes_begin(&s->host, (ds_evaluator_label){tag, group}, &rows);
    if (status != DS_OK) {
        return status;
    }
    for (size_t i = 0; i < rows.done; i++) {
        stepwise_lane *l = &s->lane[s->row[i]];
        l->open = 1;
        l->episode = s->begun++;
        l->t = 0;
        l->sum = 0.0;
        l->ended = l->truncated = 0;
        features(s, l, s->raw + i * n_obs);
    }
    return DS_OK;
}

/* The actions of lane `i` in the units of the environment. */
static void to_units(const stepwise *s, size_t i, const float *action, double *x)
{
    const stepwise_lane *l = &s->lane[i];
    const double *lower = s->problem->lower + l->t * s->act, *upper = s->problem->upper + l->t * s->act;
    for (size_t k = 0; k < s->act; k++) {
        double a = (double)action[i * s->act + k];
        double u = isnan(a) ? 0.5 : 0.5 * (ds_box_clamp(a / s->range, -1.0, 1.0) + 1.0);
        x[k] = ds_box_clamp((1.0 - u) * lower[k] + u * upper[k], lower[k], upper[k]);
    }
}

static int truncated(const stepwise *s, const stepwise_lane *l, uint32_t ended)
{
    return s->end != STEPWISE_TERMINATE &&
           (ended == DS_STEPS_TRUNCATED || (s->end == STEPWISE_TRUNCATE && l->t == s->horizon));
}

static void finish_episode(stepwise *s, stepwise_lane *l, uint32_t ended, double loss, uint32_t outcome)
{
    int failed = outcome != DS_EVAL_OK;
    l->open = 0;
    l->ended = 1;
    l->truncated = !failed && truncated(s, l, ended);
    l->loss = loss;
    s->losses += loss;
    if (failed) {
        l->reward = fmin(0.0, s->worst - l->sum);
        l->sum += l->reward;
    } else {
        s->worst = fmin(s->worst, l->sum);
        if (s->first < SCALE_EPISODES) {
            s->first_least = s->first == 0 ? loss : fmin(s->first_least, loss);
            s->first_most = s->first == 0 ? loss : fmax(s->first_most, loss);
            s->first++;
        }
    }
    s->finished++;
}

ds_status stepwise_step(stepwise *s, const float *action)
{
    size_t count = 0, n_obs = (size_t)s->host.info->n_obs;
    for (size_t i = 0; i < s->lanes; i++) {
        if (s->lane[i].open) {
            to_units(s, i, action, s->x + count * s->act);
            s->row[count++] = i;
        }
    }
    if (count == 0) {
        return DS_OK;
    }
    ds_evaluator_steps rows = rows_of(s, count);
    ds_status status = ds_evaluator_lanes_step(&s->host, &rows);
    if (status != DS_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        stepwise_lane *l = &s->lane[s->row[i]];
        float *swap = l->previous;
        l->previous = l->obs;
        l->obs = swap;
        l->t++;
        l->reward = ds_box_clamp(s->reward[i], -LARGEST_REWARD, LARGEST_REWARD);
        l->sum += l->reward;
        s->largest_sum = fmax(s->largest_sum, fabs(l->sum));
        features(s, l, s->raw + i * n_obs);
        if (s->ended[i] != DS_STEPS_CONTINUES) {
            finish_episode(s, l, s->ended[i], s->loss[i], s->outcome[i]);
        }
    }
    return DS_OK;
}

ds_status stepwise_differentiate(stepwise *s)
{
    return ds_evaluator_lanes_differentiate(&s->host);
}

/* The derivative of an action in the units of the environment by that of the policy. */
static double slope_of_units(const stepwise *s, size_t step, size_t k)
{
    const double *lower = s->problem->lower + step * s->act, *upper = s->problem->upper + step * s->act;
    return 0.5 * (upper[k] - lower[k]) / s->range;
}

ds_status stepwise_back(stepwise *s, const size_t *step, unsigned char *take, const double *reward_bar,
                        const float *obs_bar, float *action_bar)
{
    size_t count = 0, n_obs = (size_t)s->host.info->n_obs;
    for (size_t i = 0; i < s->lanes; i++) {
        if (take[i]) {
            for (size_t k = 0; k < n_obs; k++) {
                s->raw[count * n_obs + k] = (double)obs_bar[i * s->obs + k];
            }
            s->reward[count] = reward_bar[i];
            s->number[count] = s->first_lane + i;
            s->at[count] = step[i];
            s->row[count++] = i;
        }
    }
    memset(action_bar, 0, s->lanes * s->act * sizeof *action_bar);
    if (count == 0) {
        return DS_OK;
    }
    ds_evaluator_back rows = {.count = count,
                              .lane = s->number,
                              .step = s->at,
                              .reward_bar = s->reward,
                              .obs_bar = s->raw,
                              .action_bar = s->x,
                              .outcome = s->outcome};
    ds_status status = ds_evaluator_lanes_back(&s->host, &rows);
    for (size_t j = 0; status == DS_OK && j < count; j++) {
        size_t i = s->row[j];
        take[i] = s->outcome[j] == DS_EVAL_OK;
        for (size_t k = 0; take[i] && k < s->act; k++) {
            double bar = s->x[j * s->act + k] * slope_of_units(s, step[i], k);
            action_bar[i * s->act + k] = (float)ds_box_clamp(bar, -LARGEST_REWARD, LARGEST_REWARD);
        }
    }
    return status;
}

ds_status stepwise_trial(stepwise *s, uint64_t episodes, uint64_t group, float *action,
                         stepwise_policy choose, void *ctx)
{
    uint64_t first = s->begun;
    s->losses = 0.0;
    for (;;) {
        ds_status status = stepwise_begin(s, episodes - (s->begun - first), "evaluate", group);
        if (status != DS_OK || stepwise_open(s) == 0) {
            return status;
        }
        choose(ctx, action);
        status = stepwise_step(s, action);
        if (status != DS_OK) {
            return status;
        }
    }
}

size_t stepwise_open(const stepwise *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->lanes; i++) {
        count += s->lane[i].open != 0;
    }
    return count;
}

int stepwise_has_limit(const stepwise *s)
{
    return s->end == STEPWISE_AUTO ? (s->host.info->flags & DS_STEPS_TIME_LIMIT) != 0
                                   : s->end == STEPWISE_TRUNCATE;
}

double stepwise_scale(const stepwise *s)
{
    double spread = s->first_most - s->first_least;
    double size = s->first >= 2 && spread > 0.0 && isfinite(spread) ? spread : s->largest_sum;
    return size > 0.0 ? 1.0 / size : 1.0;
}

double stepwise_sum_scale(const stepwise *s)
{
    return s->largest_sum > 0.0 ? 1.0 / s->largest_sum : 1.0;
}
