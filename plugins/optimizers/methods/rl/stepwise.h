/* SPDX-License-Identifier: Apache-2.0 */
/* stepwise.h - stepping through episodes in canonical coordinates: actions in [-1, 1] (times
 * `range`), observations as floats, with the time of the episode as a last feature where wanted, and failed
 * episodes turned into bad returns. */
#ifndef DS_METHODS_STEPWISE_H
#define DS_METHODS_STEPWISE_H

#include <diffsim/helper/evaluator.h>
#include <diffsim/helper/memory.h>

#include <math.h>

/* Features of an observation are clipped to it: larger values would overflow in the networks. */
#define STEPWISE_LARGEST_FEATURE 1e6

/* One lane: the open episode in it, and the step just taken. */
typedef struct stepwise_lane {
    int open;
    uint64_t episode; /* number of the episode: 0, 1, 2, ... */
    size_t t;         /* steps taken */
    float *obs;       /* features of the present state ... */
    float *previous;  /* ... and of the state before the step */
    double reward;    /* of the last step, as the environment has it */
    int ended;        /* the last step was the end of the episode */
    int truncated;    /* ... but not of the task: the value of the state after it counts */
    double loss;      /* of the episode that has ended, +INFINITY where it failed */
    double sum;       /* of its rewards */
} stepwise_lane;

typedef struct stepwise {
    const ds_problem *problem;
    ds_evaluator_lanes host;  /* all lanes of the run */
    size_t horizon, act, obs; /* obs: features, time included */
    int time;                 /* last feature is t / horizon */
    int end;                  /* STEPWISE_* */
    double range;             /* half width of the box in the units of the policy */
    size_t first_lane, lanes; /* range of lanes of `host` in use */
    stepwise_lane *lane;
    ds_memory memory;
    uint64_t begun, finished; /* episodes */
    double worst;             /* least sum of rewards of a finished episode; INFINITY before the first */
    double losses;            /* sum of the losses of all finished episodes, or of the last trial */
    /* Losses of the first episodes: see stepwise_scale(). */
    double first_least, first_most;
    uint64_t first;
    double largest_sum; /* of rewards, in size, in an episode so far */
    /* Buffers of one call. */
    uint64_t *number;
    double *x, *raw, *reward, *loss;
    uint32_t *ended, *outcome;
    size_t *row;
    uint64_t *at;
} stepwise;

/* Which ends of episodes that have not failed are truncated ones: those that the environment names so; none;
 * those, and every end at the horizon. */
enum { STEPWISE_AUTO = 0, STEPWISE_TERMINATE = 1, STEPWISE_TRUNCATE = 2 };

/* How episodes are observed. */
typedef struct stepwise_options {
    int time, end; /* see stepwise */
    double range;
} stepwise_options;

/* Takes lanes first .. first + lanes - 1 of the run, fewer where it has fewer. DS_E_NOMEM after
 * host->error(). */
ds_status stepwise_init(stepwise *s, const ds_problem *problem, const ds_evaluator_lanes *host, size_t first,
                        size_t lanes, const stepwise_options *options);
void stepwise_free(stepwise *s);

/* Begins episodes in the free lanes, at most `most`. DS_OK where nothing is to be begun;
 * DS_STOPPED: see ds_evaluator_lanes_begin(). */
ds_status stepwise_begin(stepwise *s, uint64_t most, const char *tag, uint64_t group);

/* Takes a step in every open lane with action[lane * act ...], in [-range, range], clipped to it. Sets the
 * fields of the lanes. The last reward of a failed episode makes it as bad as the worst episode so far. */
ds_status stepwise_step(stepwise *s, const float *action);

/* Before the first episode, where steps are to be gone back over. DS_E_UNSUPPORTED after host->error(). */
ds_status stepwise_differentiate(stepwise *s);

/* Differentiates step step[i] (0 = the first of the episode) of each lane i with take[i] nonzero backwards:
 * the last one taken, or the one before the step of the previous call. reward_bar and obs_bar (lanes x
 * features): the adjoints of the reward and of the features after the step; action_bar (lanes x act): of the
 * action as stepwise_step() took it, after clipping. Where the environment has no derivatives take[i] becomes
 * 0, and so does action_bar. */
ds_status stepwise_back(stepwise *s, const size_t *step, unsigned char *take, const double *reward_bar,
                        const float *obs_bar, float *action_bar);

/* A policy: writes the actions of all lanes. */
typedef void (*stepwise_policy)(void *ctx, float *action);

/* Whole episodes of a policy without noise, tagged "evaluate"; s->losses is the sum of their losses. */
ds_status stepwise_trial(stepwise *s, uint64_t episodes, uint64_t group, float *action,
                         stepwise_policy choose, void *ctx);

size_t stepwise_open(const stepwise *s);

/* Is an episode truncated that reaches its horizon? */
int stepwise_has_limit(const stepwise *s);

/* 1 / (largest - smallest loss of the first ten finished episodes): rewards times this have no unit. As long
 * as these do not differ, 1 / the largest sum of rewards of an episode so far, in size; 1 where that is 0,
 * too. */
double stepwise_scale(const stepwise *s);

/* 1 / the largest sum of rewards of an episode so far, in size, open ones included; 1 where that is 0. It is
 * known from the first step on, unlike stepwise_scale(): shac updates its critic before any episode ends. */
double stepwise_sum_scale(const stepwise *s);

/* ---- running moments ---- */

/* Mean and variance of a stream of numbers, for normalising observations and rewards.
 * Source: B. Welford, "Note on a method for calculating corrected sums of squares and products", 1962. */

typedef struct running_moments {
    double count, mean, sum; /* sum of squared deviations */
} running_moments;

static inline void running_moments_add(running_moments *m, double x)
{
    double d = x - m->mean;
    m->count += 1.0;
    m->mean += d / m->count;
    m->sum += d * (x - m->mean);
}

static inline double running_moments_deviation(const running_moments *m)
{
    return m->count > 0.0 ? sqrt(m->sum / m->count + 1e-8) : 1.0;
}

/* (x - mean) / deviation, cut to [-limit, limit]. */
static inline double running_moments_normal(const running_moments *m, double x, double limit)
{
    double z = (x - m->mean) / running_moments_deviation(m);
    return z < -limit ? -limit : (z > limit ? limit : z);
}

#endif
