/* SPDX-License-Identifier: Apache-2.0 */
/* soft_actor_critic.c - networks and losses of soft actor-critic, see soft_actor_critic.h. */
#include "methods/rl/soft_actor_critic.h"

#include "methods/rl/mlp_loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- replay buffer: a transition is one row s, a, s', r, end ---- */

int replay_buffer_init(replay_buffer *b, size_t obs, size_t act, size_t capacity)
{
    memset(b, 0, sizeof *b);
    b->obs = obs;
    b->act = act;
    b->capacity = capacity;
    b->stride = 2 * obs + act + 2;
    b->rows = malloc(capacity * b->stride * sizeof(float)); /* pages are taken as the ring fills */
    return b->rows != NULL;
}

void replay_buffer_free(replay_buffer *b)
{
    free(b->rows);
    b->rows = NULL;
}

void replay_buffer_add(replay_buffer *b, const float *obs, const float *action, double reward,
                       const float *next, int end)
{
    float *row = b->rows + b->next * b->stride;
    memcpy(row, obs, b->obs * sizeof(float));
    memcpy(row + b->obs, action, b->act * sizeof(float));
    memcpy(row + b->obs + b->act, next, b->obs * sizeof(float));
    row[b->stride - 2] = (float)reward;
    row[b->stride - 1] = end ? 1.0f : 0.0f;
    b->next = (b->next + 1) % b->capacity;
    b->count += b->count < b->capacity;
}

void replay_buffer_draw(const replay_buffer *b, size_t rows, double scale, ds_random *random, float *obs,
                        float *action, float *reward, float *next, float *end)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = b->rows + (size_t)ds_random_below(random, b->count) * b->stride;
        memcpy(obs + i * b->obs, row, b->obs * sizeof(float));
        memcpy(action + i * b->act, row + b->obs, b->act * sizeof(float));
        memcpy(next + i * b->obs, row + b->obs + b->act, b->obs * sizeof(float));
        reward[i] = (float)(scale * (double)row[b->stride - 2]);
        end[i] = row[b->stride - 1];
    }
}

static const double half_ln_2pi = 0.91893853320467274178;
static const double ln_2 = 0.69314718055994530942;

/* ---- memory ---- */

int sac_init(soft_actor_critic *sac, const sac_shape *shape, double alpha, ds_random *random)
{
    size_t b = shape->batch, obs = shape->obs, act = shape->act, pair = obs + act;
    memset(sac, 0, sizeof *sac);
    sac->shape = *shape;
    sac->actor = mlp_make(obs, shape->hidden_count, shape->hidden, 2 * act, shape->activation);
    sac->critic = mlp_make(pair, shape->hidden_count, shape->hidden, 1, shape->activation);
    size_t actor = sac->actor.weights, critic = sac->critic.weights;
    float **part[] = {&sac->w_actor,     &sac->w_critic[0], &sac->w_critic[1], &sac->w_target[0],
                      &sac->w_target[1], &sac->g,           &sac->states,      &sac->action,
                      &sac->noise,       &sac->pair,        &sac->d_pair,      &sac->d_kept,
                      &sac->d_q,         &sac->target,      &sac->d_head};
    size_t size[] = {
        actor,       critic,      critic,      critic,   critic,   actor > critic ? actor : critic,
        2 * b * obs, 2 * b * act, 2 * b * act, b * pair, b * pair, b * pair,
        b,           b,           2 * b * act};
    size_t floats = 0;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        floats += loop_room(size[i]);
    }
    float *at = sac->memory = loop_memory(floats);
    sac->log_density = calloc(2 * b, sizeof(double));
    sac->keep[0] = calloc(2 * b, sizeof(size_t));
    if (!at || !sac->log_density || !sac->keep[0] ||
        !float_adam_init(&sac->adam_actor, actor, shape->adam_eps) ||
        !float_adam_init(&sac->adam_critic[0], critic, shape->adam_eps) ||
        !float_adam_init(&sac->adam_critic[1], critic, shape->adam_eps) ||
        !float_adam_init(&sac->adam_alpha, 1, shape->adam_eps) ||
        !mlp_tape_init(&sac->actor_tape, &sac->actor, 2 * b) ||
        !mlp_tape_init(&sac->critic_tape[0], &sac->critic, b) ||
        !mlp_tape_init(&sac->critic_tape[1], &sac->critic, b)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        *part[i] = at;
        at += loop_room(size[i]);
    }
    sac->keep[1] = sac->keep[0] + b;
    mlp_init_uniform(&sac->actor, sac->w_actor, random);
    for (int i = 0; i < 2; i++) {
        mlp_init_uniform(&sac->critic, sac->w_critic[i], random);
        memcpy(sac->w_target[i], sac->w_critic[i], critic * sizeof(float));
    }
    sac->ln_alpha = (float)log(alpha);
    return 1;
}

void sac_free(soft_actor_critic *sac)
{
    free(sac->memory);
    free(sac->log_density);
    free(sac->keep[0]);
    float_adam_free(&sac->adam_actor);
    float_adam_free(&sac->adam_critic[0]);
    float_adam_free(&sac->adam_critic[1]);
    float_adam_free(&sac->adam_alpha);
    mlp_tape_free(&sac->actor_tape);
    mlp_tape_free(&sac->critic_tape[0]);
    mlp_tape_free(&sac->critic_tape[1]);
    memset(sac, 0, sizeof *sac);
}

/* ---- the policy ---- */

/* ln d of the network's output o, and its derivative. */
static double log_deviation(double o, int form, double *slope)
{
    if (form == SAC_TANH) {
        double t = tanh(o);
        *slope = 3.5 * (1.0 - t * t);
        return -5.0 + 3.5 * (t + 1.0);
    }
    *slope = o >= -20.0 && o <= 2.0;
    return fmin(fmax(o, -20.0), 2.0);
}

static double softplus(double x)
{
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

double squashed_log_density(size_t act, const float *head, const float *noise, int log_std, float *action)
{
    double sum = 0.0, slope;
    for (size_t k = 0; k < act; k++) {
        double xi = (double)noise[k], ln_d = log_deviation((double)head[act + k], log_std, &slope);
        double x = (double)head[k] + exp(ln_d) * xi;
        action[k] = (float)tanh(x);
        sum -= 0.5 * xi * xi + ln_d + half_ln_2pi + 2.0 * (ln_2 - x - softplus(-2.0 * x));
    }
    return sum;
}

void sac_act(soft_actor_critic *sac, const float *obs, ds_random *random, float *action)
{
    size_t act = sac->shape.act;
    const float *head = mlp_forward(&sac->actor, sac->w_actor, 1, obs, &sac->actor_tape);
    for (size_t k = 0; k < act; k++) {
        sac->noise[k] = random ? (float)ds_random_normal(random) : 0.0f;
    }
    squashed_log_density(act, head, sac->noise, sac->shape.log_std, action);
}

void sac_sample(soft_actor_critic *sac, const sac_minibatch *b, ds_random *random)
{
    size_t rows = sac->shape.batch, obs = sac->shape.obs, act = sac->shape.act;
    memcpy(sac->states, b->obs, rows * obs * sizeof(float));
    memcpy(sac->states + rows * obs, b->next, rows * obs * sizeof(float));
    for (size_t i = 0; i < 2 * rows * act; i++) {
        sac->noise[i] = (float)ds_random_normal(random);
    }
    const float *head = mlp_forward(&sac->actor, sac->w_actor, 2 * rows, sac->states, &sac->actor_tape);
    for (size_t r = 0; r < 2 * rows; r++) {
        sac->log_density[r] = squashed_log_density(act, head + 2 * r * act, sac->noise + r * act,
                                                   sac->shape.log_std, sac->action + r * act);
    }
}

/* ---- critics ---- */

static void make_pairs(soft_actor_critic *sac, const float *obs, const float *action)
{
    size_t n = sac->shape.obs, m = sac->shape.act;
    for (size_t r = 0; r < sac->shape.batch; r++) {
        memcpy(sac->pair + r * (n + m), obs + r * n, n * sizeof(float));
        memcpy(sac->pair + r * (n + m) + n, action + r * m, m * sizeof(float));
    }
}

void sac_targets(soft_actor_critic *sac, const sac_minibatch *b, double gamma)
{
    size_t rows = sac->shape.batch;
    double alpha = exp((double)sac->ln_alpha);
    make_pairs(sac, b->next, sac->action + rows * sac->shape.act);
    const float *q0 = mlp_forward(&sac->critic, sac->w_target[0], rows, sac->pair, &sac->critic_tape[0]);
    const float *q1 = mlp_forward(&sac->critic, sac->w_target[1], rows, sac->pair, &sac->critic_tape[1]);
    for (size_t r = 0; r < rows; r++) {
        double v = (double)fminf(q0[r], q1[r]) - alpha * sac->log_density[rows + r];
        sac->target[r] = (float)((double)b->reward[r] + gamma * (1.0 - (double)b->end[r]) * v);
    }
}

double sac_critic_loss(soft_actor_critic *sac, const sac_minibatch *b, int i)
{
    size_t rows = sac->shape.batch;
    double weight = sac->shape.full_critic_loss ? 1.0 : 0.5, loss = 0.0;
    make_pairs(sac, b->obs, b->action);
    const float *q = mlp_forward(&sac->critic, sac->w_critic[i], rows, sac->pair, &sac->critic_tape[i]);
    for (size_t r = 0; r < rows; r++) {
        double error = (double)q[r] - (double)sac->target[r];
        loss += weight * error * error / (double)rows;
        sac->d_q[r] = (float)(2.0 * weight * error / (double)rows);
    }
    mlp_backward(&sac->critic, sac->w_critic[i], rows, sac->pair, &sac->critic_tape[i], sac->d_q, sac->g,
                 NULL);
    return loss;
}

/* ---- actor ---- */

/* d (-min Q) / d a of the rows whose lower critic is critic i, rows `keep` of the last forward pass. */
static void slope_through(soft_actor_critic *sac, int i, size_t count, const size_t *keep)
{
    size_t width = sac->shape.obs + sac->shape.act;
    mlp_tape_keep(&sac->critic, &sac->critic_tape[i], count, keep);
    mlp_backward(&sac->critic, sac->w_critic[i], count, sac->pair, &sac->critic_tape[i], sac->d_q, NULL,
                 sac->d_kept);
    for (size_t r = 0; r < count; r++) {
        memcpy(sac->d_pair + keep[r] * width, sac->d_kept + r * width, width * sizeof(float));
    }
}

double sac_actor_loss(soft_actor_critic *sac, const sac_minibatch *b)
{
    size_t rows = sac->shape.batch, n = sac->shape.obs, m = sac->shape.act, count[2] = {0, 0};
    double alpha = exp((double)sac->ln_alpha), loss = 0.0, slope;
    make_pairs(sac, b->obs, sac->action);
    const float *q[2];
    for (int i = 0; i < 2; i++) {
        q[i] = mlp_forward(&sac->critic, sac->w_critic[i], rows, sac->pair, &sac->critic_tape[i]);
    }
    for (size_t r = 0; r < rows; r++) {
        loss += (alpha * sac->log_density[r] - (double)fminf(q[0][r], q[1][r])) / (double)rows;
        sac->d_q[r] = -1.0f / (float)rows;
        int lower = q[0][r] <= q[1][r] ? 0 : 1;
        sac->keep[lower][count[lower]++] = r;
    }
    for (int i = 0; i < 2; i++) {
        slope_through(sac, i, count[i], sac->keep[i]);
    }
    const float *head = sac->actor_tape.layer[sac->actor.layers - 1];
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < m; k++) {
            size_t at = r * (n + m) + n + k, o = 2 * r * m + k;
            double a = (double)sac->action[r * m + k], xi = (double)sac->noise[r * m + k];
            double d_a = (double)sac->d_pair[at];
            double d_x = d_a * (1.0 - a * a) + alpha / (double)rows * 2.0 * a; /* d ln pi / d x = 2 a */
            double ln_d = log_deviation((double)head[o + m], sac->shape.log_std, &slope);
            sac->d_head[o] = (float)d_x;
            sac->d_head[o + m] = (float)(slope * (d_x * exp(ln_d) * xi - alpha / (double)rows));
        }
    }
    mlp_backward(&sac->actor, sac->w_actor, rows, sac->states, &sac->actor_tape, sac->d_head, sac->g, NULL);
    return loss;
}

double sac_alpha_slope(const soft_actor_critic *sac, double target_entropy, int form)
{
    double mean = 0.0;
    for (size_t r = 0; r < sac->shape.batch; r++) {
        mean += (sac->log_density[r] + target_entropy) / (double)sac->shape.batch;
    }
    return form == SAC_ALPHA ? -exp((double)sac->ln_alpha) * mean : -mean;
}
