/* SPDX-License-Identifier: Apache-2.0 */
/* actor_critic.h - a Gaussian policy and a value function, two separate networks, and the loss of PPO
 * with its gradient.
 *
 * The policy's mean is mu(s). Its standard deviation is
 *     plain   s_k = exp(l_k)                                       the same in all states
 *     sde     s_k^2 = sum_i h_i(s)^2 exp(2 l_ik) + 1e-6            h = last hidden layer of the policy
 * "sde" is generalised state-dependent exploration (A. Raffin, J. Kober, F. Stulp, CoRL 2021,
 * arXiv:2005.05719): noise is a linear map of h that is drawn now and then, so that exploration is smooth in
 * time; h counts as a constant there. l is free in both cases. All weights are one vector: policy, value
 * function, l.
 */
#ifndef DS_METHODS_ACTOR_CRITIC_H
#define DS_METHODS_ACTOR_CRITIC_H

#include "methods/rl/mlp.h"

#include <diffsim/helper/memory.h>
#include <diffsim/helper/random.h>

#include <stddef.h>

typedef struct actor_critic_shape {
    size_t obs, act;
    size_t hidden_count, hidden[MLP_MAX_LAYERS - 1];
    int activation; /* MLP_* */
    int sde;
    double log_std; /* start of l */
} actor_critic_shape;

typedef struct actor_critic {
    actor_critic_shape shape;
    mlp policy, value;
    size_t latent;              /* width of h */
    size_t count;               /* of all weights */
    float *w, *g;               /* weights, and the gradient of the last ppo_loss() */
    float *w_value, *log_std;   /* where the parts begin in w ... */
    float *g_value, *g_log_std; /* ... and in g */
    mlp_tape policy_tape, value_tape;
    float *d_mean, *d_value;          /* work space of ppo_loss() */
    double *deviation, *ln_deviation; /* rows x act each, of the last actor_critic_policy() */
    ds_memory memory;
} actor_critic;

/* Networks for up to `rows` samples at a time with orthogonal weights; 0 without memory. */
int actor_critic_init(actor_critic *ac, const actor_critic_shape *shape, size_t rows, ds_random *random);
void actor_critic_free(actor_critic *ac);

/* Mean (rows x act) of the policy; standard deviations in ac->deviation. */
const float *actor_critic_policy(actor_critic *ac, size_t rows, const float *obs);

/* Values of `rows` states. */
const float *actor_critic_value(actor_critic *ac, size_t rows, const float *obs);

/* Draws the map of sde noise (latent x act), and applies it to row `row` of the last actor_critic_policy().
 */
void actor_critic_draw_map(const actor_critic *ac, ds_random *random, float *map);
double actor_critic_map_noise(const actor_critic *ac, size_t row, size_t k, const float *map);

/* ln of the density of one action: sum_k -(a_k - mu_k)^2/(2 s_k^2) - ln s_k - 0.5 ln 2 pi */
double gaussian_log_density(size_t act, const float *action, const float *mean, const double *deviation,
                            const double *ln_deviation);

/* Coefficients of PPO's loss. */
typedef struct ppo_coefficients {
    double clip;       /* eps of the ratio */
    double clip_value; /* of the change of V; 0 = none */
    double entropy, value;
    int max_value_loss; /* value loss 0.5 max(plain, clipped) (CleanRL) instead of clipped (Stable-Baselines3)
                         */
    int normalise;      /* advantages of the minibatch: mean 0, standard deviation 1 (n - 1) */
} ppo_coefficients;

/* A minibatch; rows x (obs, act, 1, ...). */
typedef struct ppo_minibatch {
    size_t rows;
    const float *obs, *action;
    const double *log_density; /* of the action when it was taken */
    double *advantage;         /* normalised in place if set */
    const double *target;      /* return R */
    const double *old_value;
} ppo_minibatch;

typedef struct ppo_terms {
    double policy, value, entropy, total, kl; /* kl = mean(ratio - 1 - ln ratio) */
    double clipped;                           /* share of ratios outside 1 +- clip */
} ppo_terms;

/* With A the advantage and ratio = density now / then:
 *     L = mean max(-A ratio, -A clip(ratio, 1 - eps, 1 + eps)) - c_e mean(entropy) + c_v value loss
 * Writes dL/dw to ac->g. Source: J. Schulman et al., arXiv:1707.06347, equations 7 and 9. */
ppo_terms ppo_loss(actor_critic *ac, const ppo_coefficients *c, const ppo_minibatch *b);

/* Generalised advantage estimation over one stretch of `steps` steps, backwards (J. Schulman et al.,
 * arXiv:1506.02438): delta_t = r_t + gamma V_{t+1} - V_t, A_t = delta_t + gamma lambda A_{t+1}, with V_steps
 * = `last` (0 where the episode has terminated) and A_steps = 0; target_t = A_t + V_t. */
void advantage_estimate(size_t steps, const double *reward, const double *value, double last, double gamma,
                        double lambda, double *advantage, double *target);

/* ---- rollout ---- */

/* Steps of a policy since its last update: several lanes, in pieces of episodes, with their advantages and
 * returns, and minibatches of them. */

/* A stretch of one episode inside the rollout. */
typedef struct rollout_segment {
    size_t start, length;
    double last; /* value of the state after it, 0 where the episode has terminated */
} rollout_segment;

typedef struct rollout {
    size_t n, m, used; /* numbers of an observation and of an action; steps recorded */
    /* rows x ... */
    float *obs, *action;
    double *log_density, *reward, *value, *advantage, *target;
    size_t *order; /* rows that are used, shuffled */
    rollout_segment *segment;
    size_t segments;
    size_t *block, *fill; /* per lane: where its rows begin, and how many there are in the open segment */
    float *mini_obs, *mini_action;
    double *mini;
    ds_memory memory;
} rollout;

/* Room for `rows` steps of `lanes` lanes, and minibatches of at most `most` steps. 0 without memory. */
int rollout_init(rollout *r, size_t rows, size_t lanes, size_t obs, size_t act, size_t most);
void rollout_free(rollout *r);

/* Forgets all steps. */
void rollout_clear(rollout *r);

/* The next steps of a lane go to the rows from `row` on. */
void rollout_place(rollout *r, size_t lane, size_t row);

/* Records the action of a lane, with the logarithm of its density and the value of the state; then the
 * reward. */
void rollout_action(rollout *r, size_t lane, const float *obs, const float *action, double log_density,
                    double value);
void rollout_reward(rollout *r, size_t lane, double reward);

/* Ends the stretch of a lane, if it has one, before a state with this value. */
void rollout_close(rollout *r, size_t lane, double last);

/* Advantages and returns of all stretches, see advantage_estimate(). */
void rollout_estimate(rollout *r, double gamma, double lambda);

void rollout_shuffle(rollout *r, ds_random *random);

/* Steps at, at + 1, ... of the shuffled ones, at most `most` of the used ones; valid until the next call. */
ppo_minibatch rollout_take(rollout *r, size_t at, size_t most);

#endif
