/* SPDX-License-Identifier: Apache-2.0 */
/* actor_critic.c - policy, value function and the loss of PPO, see actor_critic.h. */
#include "methods/rl/actor_critic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double half_ln_2pi = 0.91893853320467274178;
static const double least_variance = 1e-6; /* of sde noise */

int actor_critic_init(actor_critic *ac, const actor_critic_shape *shape, size_t rows, ds_random *random)
{
    memset(ac, 0, sizeof *ac);
    ac->shape = *shape;
    ac->policy = mlp_make(shape->obs, shape->hidden_count, shape->hidden, shape->act, shape->activation);
    ac->value = mlp_make(shape->obs, shape->hidden_count, shape->hidden, 1, shape->activation);
    ac->latent = ac->policy.size[ac->policy.layers - 1];
    size_t free_count = shape->sde ? ac->latent * shape->act : shape->act;
    ac->count = ac->policy.weights + ac->value.weights + free_count;
    ac->w = ds_memory_take(&ac->memory, 2 * ac->count, sizeof(float));
    ac->d_mean = ds_memory_take(&ac->memory, rows * (shape->act + 1), sizeof(float));
    ds_memory_each(&ac->memory, rows * shape->act,
                   (double **const[]){&ac->deviation, &ac->ln_deviation, NULL});
    if (ac->memory.failed || !mlp_tape_init(&ac->policy_tape, &ac->policy, rows) ||
        !mlp_tape_init(&ac->value_tape, &ac->value, rows)) {
        return 0;
    }
    ac->g = ac->w + ac->count;
    ac->w_value = ac->w + ac->policy.weights;
    ac->g_value = ac->g + ac->policy.weights;
    ac->log_std = ac->w_value + ac->value.weights;
    ac->g_log_std = ac->g_value + ac->value.weights;
    ac->d_value = ac->d_mean + rows * shape->act;
    for (size_t i = 0; i < free_count; i++) {
        ac->log_std[i] = (float)shape->log_std;
    }
    return mlp_init_orthogonal(&ac->policy, ac->w, sqrt(2.0), 0.01, random) &&
           mlp_init_orthogonal(&ac->value, ac->w_value, sqrt(2.0), 1.0, random);
}

void actor_critic_free(actor_critic *ac)
{
    ds_memory_free(&ac->memory);
    mlp_tape_free(&ac->policy_tape);
    mlp_tape_free(&ac->value_tape);
    memset(ac, 0, sizeof *ac);
}

/* h of row `row`; the network's input where there is no hidden layer is not kept, so that sde needs one. */
static const float *latent_of(const actor_critic *ac, size_t row)
{
    return ac->policy_tape.layer[ac->policy.layers - 2] + row * ac->latent;
}

static double deviation_of(const actor_critic *ac, size_t row, size_t k)
{
    if (!ac->shape.sde) {
        return exp((double)ac->log_std[k]);
    }
    const float *h = latent_of(ac, row);
    double sum = least_variance;
    for (size_t i = 0; i < ac->latent; i++) {
        double t = (double)h[i] * exp((double)ac->log_std[i * ac->shape.act + k]);
        sum += t * t;
    }
    return sqrt(sum);
}

const float *actor_critic_policy(actor_critic *ac, size_t rows, const float *obs)
{
    size_t act = ac->shape.act;
    const float *mean = mlp_forward(&ac->policy, ac->w, rows, obs, &ac->policy_tape);
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < act; k++) {
            const size_t at = r * act + k;
            if (r == 0 || ac->shape.sde) {
                ac->deviation[at] = deviation_of(ac, r, k);
                ac->ln_deviation[at] = log(ac->deviation[at]);
            } else {
                ac->deviation[at] = ac->deviation[k];
                ac->ln_deviation[at] = ac->ln_deviation[k];
            }
        }
    }
    return mean;
}

const float *actor_critic_value(actor_critic *ac, size_t rows, const float *obs)
{
    return mlp_forward(&ac->value, ac->w_value, rows, obs, &ac->value_tape);
}

void actor_critic_draw_map(const actor_critic *ac, ds_random *random, float *map)
{
    for (size_t i = 0; i < ac->latent * ac->shape.act; i++) {
        map[i] = (float)(exp((double)ac->log_std[i]) * ds_random_normal(random));
    }
}

double actor_critic_map_noise(const actor_critic *ac, size_t row, size_t k, const float *map)
{
    const float *h = latent_of(ac, row);
    double sum = 0.0;
    for (size_t i = 0; i < ac->latent; i++) {
        sum += (double)h[i] * (double)map[i * ac->shape.act + k];
    }
    return sum;
}

double gaussian_log_density(size_t act, const float *action, const float *mean, const double *deviation,
                            const double *ln_deviation)
{
    double sum = 0.0;
    for (size_t k = 0; k < act; k++) {
        double z = ((double)action[k] - (double)mean[k]) / deviation[k];
        sum -= 0.5 * z * z + ln_deviation[k] + half_ln_2pi;
    }
    return sum;
}

/* ---- the loss ---- */

static void normalise(size_t count, double *a)
{
    double mean = 0.0, sum = 0.0;
    if (count < 2) {
        return; /* a single one would become 0 */
    }
    for (size_t i = 0; i < count; i++) {
        mean += a[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        sum += (a[i] - mean) * (a[i] - mean);
    }
    double scale = count > 1 ? 1.0 / (sqrt(sum / (double)(count - 1)) + 1e-8) : 1.0;
    for (size_t i = 0; i < count; i++) {
        a[i] = scale * (a[i] - mean);
    }
}

/* Adds d loss / d l for d loss / d ln s_k = d of row r; see the head of actor_critic.h. */
static void add_deviation_gradient(actor_critic *ac, size_t r, size_t k, double d)
{
    size_t act = ac->shape.act;
    if (!ac->shape.sde) {
        ac->g_log_std[k] += (float)d;
        return;
    }
    const float *h = latent_of(ac, r);
    double variance = ac->deviation[r * act + k] * ac->deviation[r * act + k];
    for (size_t i = 0; i < ac->latent; i++) { /* d ln s / d l_i = h_i^2 exp(2 l_i) / s^2 */
        double t = (double)h[i] * exp((double)ac->log_std[i * act + k]);
        ac->g_log_std[i * act + k] += (float)(d * t * t / variance);
    }
}

/* One row of the policy's loss; fills d loss / d mean. */
static void policy_row(actor_critic *ac, const ppo_coefficients *c, const ppo_minibatch *b, size_t r,
                       const float *mean, ppo_terms *t)
{
    size_t act = ac->shape.act;
    const float *a = b->action + r * act, *mu = mean + r * act;
    const double *s = ac->deviation + r * act, *ln_s = ac->ln_deviation + r * act;
    double count = (double)b->rows, advantage = b->advantage[r];
    double ln_ratio = gaussian_log_density(act, a, mu, s, ln_s) - b->log_density[r];
    double ratio = exp(ln_ratio), limited = fmin(fmax(ratio, 1.0 - c->clip), 1.0 + c->clip);
    int active = -advantage * ratio >= -advantage * limited; /* the clipped branch has no slope */
    t->policy += fmax(-advantage * ratio, -advantage * limited) / count;
    t->kl += (ratio - 1.0 - ln_ratio) / count;
    t->clipped += (ratio != limited) / count;
    double d = active ? -advantage * ratio / count : 0.0; /* d loss / d ln density */
    for (size_t k = 0; k < act; k++) {
        double z = ((double)a[k] - (double)mu[k]) / s[k];
        ac->d_mean[r * act + k] = (float)(d * z / s[k]);
        t->entropy += (0.5 + half_ln_2pi + ln_s[k]) / count;
        add_deviation_gradient(ac, r, k, d * (z * z - 1.0) - c->entropy / count);
    }
}

static void value_row(actor_critic *ac, const ppo_coefficients *c, const ppo_minibatch *b, size_t r, double v,
                      ppo_terms *t)
{
    double weight = c->max_value_loss ? 0.5 : 1.0, count = (double)b->rows;
    double plain = v - b->target[r], error = plain, slope = 1.0;
    if (c->clip_value > 0.0) {
        double step = v - b->old_value[r], limited = fmin(fmax(step, -c->clip_value), c->clip_value);
        error = b->old_value[r] + limited - b->target[r];
        slope = step == limited;
        if (c->max_value_loss && plain * plain >= error * error) {
            error = plain;
            slope = 1.0;
        }
    }
    t->value += weight * error * error / count;
    ac->d_value[r] = (float)(c->value * weight * 2.0 * error * slope / count);
}

ppo_terms ppo_loss(actor_critic *ac, const ppo_coefficients *c, const ppo_minibatch *b)
{
    ppo_terms t = {0};
    memset(ac->g_log_std, 0, (size_t)(ac->g + ac->count - ac->g_log_std) * sizeof(float));
    if (c->normalise) {
        normalise(b->rows, b->advantage);
    }
    const float *mean = actor_critic_policy(ac, b->rows, b->obs);
    const float *value = actor_critic_value(ac, b->rows, b->obs);
    for (size_t r = 0; r < b->rows; r++) {
        policy_row(ac, c, b, r, mean, &t);
        value_row(ac, c, b, r, (double)value[r], &t);
    }
    mlp_backward(&ac->policy, ac->w, b->rows, b->obs, &ac->policy_tape, ac->d_mean, ac->g, NULL);
    mlp_backward(&ac->value, ac->w_value, b->rows, b->obs, &ac->value_tape, ac->d_value, ac->g_value, NULL);
    t.total = t.policy - c->entropy * t.entropy + c->value * t.value;
    return t;
}

void advantage_estimate(size_t steps, const double *reward, const double *value, double last, double gamma,
                        double lambda, double *advantage, double *target)
{
    double next = last, a = 0.0;
    for (size_t t = steps; t-- > 0;) {
        double delta = reward[t] + gamma * next - value[t];
        a = delta + gamma * lambda * a;
        advantage[t] = a;
        target[t] = a + value[t];
        next = value[t];
    }
}

/* ---- rollout ---- */

int rollout_init(rollout *r, size_t rows, size_t lanes, size_t obs, size_t act, size_t most)
{
    memset(r, 0, sizeof *r);
    r->n = obs;
    r->m = act;
    r->obs = ds_memory_take(&r->memory, rows * obs, sizeof(float));
    r->action = ds_memory_take(&r->memory, rows * act, sizeof(float));
    r->mini_obs = ds_memory_take(&r->memory, most * obs, sizeof(float));
    r->mini_action = ds_memory_take(&r->memory, most * act, sizeof(float));
    double **column[] = {&r->log_density, &r->reward, &r->value, &r->advantage, &r->target};
    for (size_t i = 0; i < sizeof column / sizeof column[0]; i++) {
        *column[i] = ds_memory_doubles(&r->memory, rows);
    }
    r->mini = ds_memory_doubles(&r->memory, 4 * most);
    r->segment = ds_memory_take(&r->memory, rows + lanes, sizeof *r->segment);
    r->order = ds_memory_take(&r->memory, rows, sizeof *r->order);
    r->block = ds_memory_take(&r->memory, lanes, sizeof *r->block);
    r->fill = ds_memory_take(&r->memory, lanes, sizeof *r->fill);
    return !r->memory.failed;
}

void rollout_free(rollout *r)
{
    ds_memory_free(&r->memory);
}

void rollout_clear(rollout *r)
{
    r->used = r->segments = 0;
}

void rollout_place(rollout *r, size_t lane, size_t row)
{
    r->block[lane] = row;
    r->fill[lane] = 0;
}

/* Where the next step of a lane is recorded. */
static size_t row_of(const rollout *r, size_t lane)
{
    return r->block[lane] + r->fill[lane];
}

void rollout_action(rollout *r, size_t lane, const float *obs, const float *action, double log_density,
                    double value)
{
    size_t row = row_of(r, lane);
    memcpy(r->obs + row * r->n, obs, r->n * sizeof(float));
    memcpy(r->action + row * r->m, action, r->m * sizeof(float));
    r->log_density[row] = log_density;
    r->value[row] = value;
}

void rollout_reward(rollout *r, size_t lane, double reward)
{
    size_t row = row_of(r, lane);
    r->reward[row] = reward;
    r->order[r->used++] = row;
    r->fill[lane]++;
}

void rollout_close(rollout *r, size_t lane, double last)
{
    if (r->fill[lane] > 0) {
        r->segment[r->segments++] = (rollout_segment){r->block[lane], r->fill[lane], last};
        rollout_place(r, lane, row_of(r, lane));
    }
}

void rollout_estimate(rollout *r, double gamma, double lambda)
{
    for (size_t i = 0; i < r->segments; i++) {
        rollout_segment g = r->segment[i];
        advantage_estimate(g.length, r->reward + g.start, r->value + g.start, g.last, gamma, lambda,
                           r->advantage + g.start, r->target + g.start);
    }
}

void rollout_shuffle(rollout *r, ds_random *random)
{
    for (size_t i = r->used; i > 1; i--) {
        size_t k = (size_t)ds_random_below(random, i), swap = r->order[k];
        r->order[k] = r->order[i - 1];
        r->order[i - 1] = swap;
    }
}

ppo_minibatch rollout_take(rollout *r, size_t at, size_t most)
{
    size_t count = r->used - at < most ? r->used - at : most;
    double *density = r->mini, *advantage = density + count, *target = advantage + count,
           *value = target + count;
    for (size_t i = 0; i < count; i++) {
        size_t row = r->order[at + i];
        memcpy(r->mini_obs + i * r->n, r->obs + row * r->n, r->n * sizeof(float));
        memcpy(r->mini_action + i * r->m, r->action + row * r->m, r->m * sizeof(float));
        density[i] = r->log_density[row];
        advantage[i] = r->advantage[row];
        target[i] = r->target[row];
        value[i] = r->value[row];
    }
    return (ppo_minibatch){count, r->mini_obs, r->mini_action, density, advantage, target, value};
}
