/* SPDX-License-Identifier: Apache-2.0 */
/* analytic_policy.c - see analytic_policy.h. */
#include "methods/rl/analytic_policy.h"

#include <math.h>
#include <string.h>

#define LARGEST_NORM 1e6 /* of a gradient that is used */
#define LARGEST_BAR 1e15 /* of an adjoint: its gradient is not used */

/* ---- memory ---- */

static int allocate(analytic_policy *p)
{
    ds_memory *own = &p->memory;
    size_t rows = p->steps * p->lanes;
    p->w = ds_memory_take(own, p->count, sizeof(float));
    p->g = ds_memory_take(own, p->count, sizeof(float));
    p->part = ds_memory_take(own, p->count, sizeof(float));
    p->moments = ds_memory_take(own, p->obs, sizeof *p->moments);
    p->next = ds_memory_take(own, p->obs, sizeof *p->next);
    p->features = ds_memory_take(own, (rows + p->lanes) * p->obs, sizeof(float));
    p->action = ds_memory_take(own, rows * p->act, sizeof(float));
    p->noise = ds_memory_take(own, rows * p->act, sizeof(float));
    p->input = ds_memory_take(own, p->tape.rows * p->obs, sizeof(float));
    p->reward = ds_memory_doubles(own, rows);
    p->first = ds_memory_take(own, p->lanes, sizeof *p->first);
    p->length = ds_memory_take(own, p->lanes, sizeof *p->length);
    p->end = ds_memory_take(own, p->lanes, sizeof *p->end);
    p->obs_bar = ds_memory_take(own, p->lanes * p->obs, sizeof(float));
    p->input_bar = ds_memory_take(own, p->lanes * p->obs, sizeof(float));
    p->action_bar = ds_memory_take(own, p->lanes * p->act, sizeof(float));
    p->mean_bar = ds_memory_take(own, p->lanes * p->act, sizeof(float));
    p->reward_bar = ds_memory_doubles(own, p->lanes);
    p->at = ds_memory_take(own, p->lanes, sizeof *p->at);
    p->take = ds_memory_take(own, p->lanes, sizeof *p->take);
    return !own->failed;
}

int analytic_init(analytic_policy *p, const analytic_shape *shape, const stepwise *s, size_t steps,
                  ds_random *random)
{
    enum { MOST_TRIALS = 64 }; /* lanes of a trial: not more than the host has */
    memset(p, 0, sizeof *p);
    p->act = s->act;
    p->obs = s->obs;
    p->lanes = s->lanes;
    p->steps = steps;
    p->normalise = shape->normalise;
    p->noisy = shape->noisy;
    p->net = mlp_make(s->obs, shape->hidden_count, shape->hidden, s->act, shape->activation);
    p->count = p->net.weights + (p->noisy ? p->act : 0);
    size_t rows = p->lanes > MOST_TRIALS ? p->lanes : (size_t)MOST_TRIALS;
    if (!mlp_tape_init(&p->tape, &p->net, rows) || !allocate(p) ||
        !float_adam_init(&p->adam, p->count, shape->adam_eps)) {
        return 0;
    }
    p->adam.beta1 = shape->beta1;
    p->adam.beta2 = shape->beta2;
    p->log_std = p->noisy ? p->w + p->net.weights : NULL;
    for (size_t k = 0; p->noisy && k < p->act; k++) {
        p->log_std[k] = (float)shape->log_std;
    }
    return mlp_init_orthogonal(&p->net, p->w, sqrt(2.0), 0.01, random);
}

void analytic_free(analytic_policy *p)
{
    mlp_tape_free(&p->tape);
    float_adam_free(&p->adam);
    ds_memory_free(&p->memory);
    memset(p, 0, sizeof *p);
}

/* ---- forwards ---- */

void analytic_normalise(const analytic_policy *p, size_t rows, const float *features, float *out)
{
    for (size_t i = 0; i < rows * p->obs; i++) {
        double v = (double)features[i];
        out[i] = p->normalise ? (float)running_moments_normal(&p->moments[i % p->obs], v, ANALYTIC_OBS_LIMIT)
                              : features[i];
    }
}

/* The mean of the policy, before tanh, in the states `features` of all lanes. */
static const float *mean_of(analytic_policy *p, size_t lanes, const float *features)
{
    analytic_normalise(p, lanes, features, p->input);
    return mlp_forward(&p->net, p->w, lanes, p->input, &p->tape);
}

void analytic_choose(analytic_policy *p, const stepwise *s, float *action)
{
    for (size_t i = 0; i < s->lanes; i++) {
        memcpy(p->input + i * p->obs, s->lane[i].obs, p->obs * sizeof(float));
    }
    analytic_normalise(p, s->lanes, p->input, p->input);
    const float *mean = mlp_forward(&p->net, p->w, s->lanes, p->input, &p->tape);
    for (size_t k = 0; k < s->lanes * p->act; k++) {
        action[k] = (float)tanh((double)mean[k]);
    }
}

/* The noise of the step that comes next in a lane. */
static void draw(const analytic_policy *p, const stepwise_lane *l, const ds_host *host, float *noise)
{
    ds_random random = ds_random_open(host->seed, "action", l->episode * 0x100000u + l->t);
    for (size_t k = 0; k < p->act; k++) {
        noise[k] = p->noisy ? (float)ds_random_normal(&random) : 0.0f;
    }
}

/* Step t of the window in all lanes that are in it. */
static ds_status roll_step(analytic_policy *p, stepwise *s, const ds_host *host, size_t t)
{
    const size_t act = p->act, obs = p->obs, row = t * p->lanes;
    float *action = p->action + row * act, *noise = p->noise + row * act;
    for (size_t i = 0; i < p->lanes; i++) {
        memcpy(p->features + (row + i) * obs, s->lane[i].obs, obs * sizeof(float));
    }
    const float *mean = mean_of(p, p->lanes, p->features + row * obs);
    for (size_t i = 0; i < p->lanes; i++) {
        draw(p, &s->lane[i], host, noise + i * act);
        for (size_t k = i * act; k < (i + 1) * act; k++) {
            double spread = p->noisy ? exp((double)p->log_std[k % act]) * (double)noise[k] : 0.0;
            action[k] = (float)tanh((double)mean[k] + spread);
        }
        p->take[i] = s->lane[i].open != 0;
    }
    ds_status status = stepwise_step(s, action);
    for (size_t i = 0; status == DS_OK && i < p->lanes; i++) {
        const stepwise_lane *l = &s->lane[i];
        p->reward[row + i] = p->take[i] ? l->reward : 0.0;
        if (p->take[i]) {
            p->length[i] = t + 1;
            p->end[i] = !l->ended      ? ANALYTIC_GOES_ON
                        : l->truncated ? ANALYTIC_TRUNCATED
                                       : ANALYTIC_TERMINATED;
            memcpy(p->features + (row + p->lanes + i) * obs, l->obs, obs * sizeof(float));
        }
    }
    return status;
}

ds_status analytic_roll_out(analytic_policy *p, stepwise *s, const ds_host *host, uint64_t most,
                            const char *tag, uint64_t group)
{
    ds_status status = stepwise_begin(s, most, tag, group);
    for (size_t i = 0; i < p->lanes; i++) {
        p->first[i] = s->lane[i].t;
        p->length[i] = 0;
        p->end[i] = ANALYTIC_TERMINATED;
    }
    for (size_t t = 0; status == DS_OK && t < p->steps && stepwise_open(s) > 0; t++) {
        status = roll_step(p, s, host, t);
    }
    return status;
}

/* ---- backwards ---- */

/* The derivative of a normalised feature by the feature. */
static double slope_of_feature(const analytic_policy *p, size_t k, double feature)
{
    double slope = fabs(feature) < STEPWISE_LARGEST_FEATURE ? 1.0 : 0.0;
    if (p->normalise) {
        double deviation = running_moments_deviation(&p->moments[k]);
        slope = fabs(feature - p->moments[k].mean) < ANALYTIC_OBS_LIMIT * deviation ? slope / deviation : 0.0;
    }
    return slope;
}

/* The adjoint of the features of lane i after step t, from the adjoint of their normalised values. */
static void put_obs_bar(analytic_policy *p, size_t i, size_t t, double weight, const float *input_bar)
{
    const float *features = p->features + ((t + 1) * p->lanes + i) * p->obs;
    for (size_t k = 0; k < p->obs; k++) {
        double bar =
            input_bar ? weight * (double)input_bar[k] * slope_of_feature(p, k, (double)features[k]) : 0.0;
        p->obs_bar[i * p->obs + k] = (float)fmin(fmax(bar, -LARGEST_BAR), LARGEST_BAR);
    }
}

/* From the adjoints of the actions of step t to those of the policy's weights, and of its inputs. */
static void policy_back(analytic_policy *p, size_t t)
{
    const size_t act = p->act, row = t * p->lanes;
    const float *action = p->action + row * act, *noise = p->noise + row * act;
    mean_of(p, p->lanes, p->features + row * p->obs);
    for (size_t j = 0; j < p->lanes * act; j++) {
        double y = (double)action[j], bar = (double)p->action_bar[j] * (1.0 - y * y);
        p->mean_bar[j] = (float)bar;
        if (p->noisy) {
            p->g[p->net.weights + j % act] +=
                (float)(bar * exp((double)p->log_std[j % act]) * (double)noise[j]);
        }
    }
    mlp_backward(&p->net, p->w, p->lanes, p->input, &p->tape, p->mean_bar, p->part, p->input_bar);
    for (size_t j = 0; j < p->net.weights; j++) {
        p->g[j] += p->part[j];
    }
}

/* Inputs of step t: sets p->take, p->at, p->reward_bar and p->obs_bar. `alive`: lanes whose sweep continues.
 */
static void prepare(analytic_policy *p, size_t t, double gamma, double scale, const float *value_bar)
{
    for (size_t i = 0; i < p->lanes; i++) {
        int last = t + 1 == p->length[i];
        p->take[i] = (unsigned char)(last || (t + 1 < p->length[i] && p->take[i]));
        p->at[i] = p->first[i] + t;
        p->reward_bar[i] = -pow(gamma, (double)t) * scale;
        if (last) {
            const float *bar = value_bar && p->end[i] != ANALYTIC_TERMINATED ? value_bar + i * p->obs : NULL;
            put_obs_bar(p, i, t, -pow(gamma, (double)(t + 1)), bar);
        } else {
            put_obs_bar(p, i, t, 1.0, p->input_bar + i * p->obs);
        }
    }
}

ds_status analytic_back(analytic_policy *p, stepwise *s, double gamma, double scale, const float *value_bar)
{
    size_t longest = 0, sum = 0;
    for (size_t i = 0; i < p->lanes; i++) {
        longest = p->length[i] > longest ? p->length[i] : longest;
        sum += p->length[i];
    }
    memset(p->g, 0, p->count * sizeof *p->g);
    memset(p->take, 0, p->lanes);
    ds_status status = DS_OK;
    for (size_t t = longest; status == DS_OK && t-- > 0;) {
        prepare(p, t, gamma, scale, value_bar);
        status = stepwise_back(s, p->at, p->take, p->reward_bar, p->obs_bar, p->action_bar);
        if (status == DS_OK) {
            policy_back(p, t);
        }
    }
    for (size_t j = 0; j < p->count; j++) {
        p->g[j] /= sum > 0 ? (float)sum : 1.0f;
    }
    return status;
}

/* ---- learning ---- */

double analytic_improve(analytic_policy *p, double lr, double longest)
{
    double norm = float_length(p->count, p->g);
    if (isfinite(norm) && norm <= LARGEST_NORM) {
        float_adam_step(&p->adam, lr, longest > 0.0 && norm > longest ? longest / norm : 1.0, p->g, p->w);
    }
    return norm;
}

void analytic_learn_moments(analytic_policy *p)
{
    for (size_t t = 0; p->normalise && t < p->steps; t++) {
        for (size_t i = 0; i < p->lanes; i++) {
            for (size_t k = 0; t < p->length[i] && k < p->obs; k++) {
                running_moments_add(&p->next[k], (double)p->features[(t * p->lanes + i) * p->obs + k]);
            }
        }
    }
    memcpy(p->moments, p->next, p->obs * sizeof *p->moments);
}
