/* SPDX-License-Identifier: Apache-2.0 */
/* soft_actor_critic.h - the networks of soft actor-critic, and one gradient step of each of them.
 *
 * The policy is a squashed Gaussian, x_k = mu_k(s) + d_k(s) xi_k with standard normal xi, a_k = tanh(x_k):
 *
 *     ln pi(a|s) = sum_k [ -xi_k^2/2 - ln d_k - 0.5 ln 2 pi - 2 (ln 2 - x_k - softplus(-2 x_k)) ]
 *
 * Two critics Q_i(s, a) with slowly following targets Qt_i. With alpha the temperature, t the target entropy
 * and a' ~ pi(.|s'):
 *
 *     y           = r + gamma (1 - end) [ min_i Qt_i(s', a') - alpha ln pi(a'|s') ]
 *     critic loss = sum_i w mean (Q_i(s, a) - y)^2
 *     actor loss  = mean( alpha ln pi(a|s) - min_i Q_i(s, a) ),     a ~ pi(.|s)
 *     alpha loss  = -mean(ln pi + t) times ln alpha, or times alpha
 *
 * Source: T. Haarnoja et al., "Soft actor-critic algorithms and applications", arXiv:1812.05905.
 */
#ifndef DS_METHODS_SOFT_ACTOR_CRITIC_H
#define DS_METHODS_SOFT_ACTOR_CRITIC_H

#include "methods/rl/mlp.h"

#include <diffsim/helper/random.h>

#include <stddef.h>

/* ---- replay buffer ---- */

/* The last transitions (s, a, r, s', end) of a run, in a ring; minibatches are
 * drawn uniformly, with repetition. */

typedef struct replay_buffer {
    size_t obs, act, capacity;
    size_t count; /* transitions held */
    size_t next;  /* where the next one goes */
    size_t stride;
    float *rows;
} replay_buffer;

/* 0 without memory. */
int replay_buffer_init(replay_buffer *b, size_t obs, size_t act, size_t capacity);
void replay_buffer_free(replay_buffer *b);

/* Adds a transition; the oldest one goes where the ring is full. */
void replay_buffer_add(replay_buffer *b, const float *obs, const float *action, double reward,
                       const float *next, int end);

/* Draws `rows` transitions; rewards are multiplied by `scale`. */
void replay_buffer_draw(const replay_buffer *b, size_t rows, double scale, ds_random *random, float *obs,
                        float *action, float *reward, float *next, float *end);

/* How ln d comes from the network's output o: clamped to [-20, 2] (Stable-Baselines3), or -5 + 3.5 (tanh(o) +
 * 1) (CleanRL). */
enum { SAC_CLAMP = 0, SAC_TANH = 1 };
enum { SAC_LN_ALPHA = 0, SAC_ALPHA = 1 };

typedef struct sac_shape {
    size_t obs, act, batch;
    size_t hidden_count, hidden[MLP_MAX_LAYERS - 1];
    int activation;       /* MLP_* */
    int log_std;          /* SAC_CLAMP, SAC_TANH */
    int full_critic_loss; /* w = 1 (CleanRL) instead of 1/2 */
    double adam_eps;
} sac_shape;

typedef struct soft_actor_critic {
    sac_shape shape;
    mlp actor, critic;
    float *w_actor, *w_critic[2], *w_target[2];
    float *g; /* gradient of one network */
    float_adam adam_actor, adam_critic[2], adam_alpha;
    float ln_alpha;
    mlp_tape actor_tape, critic_tape[2];
    float *states;       /* 2 batch x obs: s, then s' */
    float *pair;         /* batch x (obs + act): input of the critics */
    float *action;       /* 2 batch x act: a ~ pi of `states` */
    float *noise;        /* 2 batch x act: xi */
    double *log_density; /* 2 batch */
    float *d_q, *d_pair, *d_kept, *d_head, *target;
    size_t *keep[2]; /* rows of the minibatch whose lower critic is critic i */
    float *memory;
} soft_actor_critic;

/* A minibatch of transitions; rows x (obs, act, 1, ...). */
typedef struct sac_minibatch {
    const float *obs, *action, *reward, *next;
    const float *end; /* 1 = the next state is terminal */
} sac_minibatch;

/* 0 without memory. */
int sac_init(soft_actor_critic *sac, const sac_shape *shape, double alpha, ds_random *random);
void sac_free(soft_actor_critic *sac);

/* The action (act numbers in [-1, 1]) for one state: drawn, or, without `random`, tanh(mu). */
void sac_act(soft_actor_critic *sac, const float *obs, ds_random *random, float *action);

/* Draws actions for s and s' of the minibatch, with their densities, from the present actor. */
void sac_sample(soft_actor_critic *sac, const sac_minibatch *b, ds_random *random);

/* y of the minibatch, from sac_sample(), to sac->target. */
void sac_targets(soft_actor_critic *sac, const sac_minibatch *b, double gamma);

/* Loss of critic i and its gradient (sac->g). */
double sac_critic_loss(soft_actor_critic *sac, const sac_minibatch *b, int i);

/* Loss of the actor with the actions of sac_sample() and its gradient (sac->g). */
double sac_actor_loss(soft_actor_critic *sac, const sac_minibatch *b);

/* d alpha loss / d ln alpha, from sac_sample(). */
double sac_alpha_slope(const soft_actor_critic *sac, double target_entropy, int form);

/* x, tanh and log density of rows of the actor's output; used by the functions above. */
double squashed_log_density(size_t act, const float *head, const float *noise, int log_std, float *action);

#endif
