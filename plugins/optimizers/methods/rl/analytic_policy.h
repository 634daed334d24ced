/* SPDX-License-Identifier: Apache-2.0 */
/* analytic_policy.h - a policy whose gradient goes through the simulation: windows of episodes of several
 * lanes are rolled out, recorded, and differentiated backwards.
 *
 *     y_t = tanh(mean(o_t) + exp(log_std) xi_t),  o_t the normalised features before step t
 *     J = 1/(lanes steps) sum over lanes of  sum_{t < L} gamma^t r_t + gamma^L V(o_L)
 *
 * with V = 0 after the end of a task, and without a value function. A window of a lane ends with its `steps`
 * steps, or with the episode. The state at its beginning is a constant. Source: J. Xu et al., "Accelerated
 * policy learning with parallel differentiable simulation", ICLR 2022, equations 5 and 6. */
#ifndef DS_METHODS_ANALYTIC_POLICY_H
#define DS_METHODS_ANALYTIC_POLICY_H

#include "methods/rl/mlp.h"
#include "methods/rl/stepwise.h"

/* How the window of a lane has ended. */
enum { ANALYTIC_GOES_ON = 0, ANALYTIC_TERMINATED = 1, ANALYTIC_TRUNCATED = 2 };

#define ANALYTIC_OBS_LIMIT 10.0 /* of normalised features */

typedef struct analytic_policy {
    mlp net;
    mlp_tape tape;
    size_t act, obs, lanes, steps; /* steps: of a window, at most */
    int normalise, noisy;          /* noisy: there is a log_std */
    float *w, *g, *part;           /* weights, then log_std where there is one; gradient of -J; of one step */
    float *log_std;                /* act values, or NULL */
    size_t count;                  /* of w */
    float_adam adam;
    running_moments *moments, *next; /* of each feature: that the policy has now, and has after the window */
    /* The window, rows step x lanes + lane. */
    float *features;               /* as the environment has them: obs each, (steps + 1) x lanes */
    float *action, *noise, *input; /* y and xi: act each; input: normalised features of all lanes */
    double *reward;                /* scaled where that is done */
    size_t *first, *length;        /* per lane: step of the episode where the window begins; steps in it */
    uint32_t *end;                 /* per lane: ANALYTIC_* */
    /* Going back. */
    float *obs_bar, *action_bar, *input_bar, *mean_bar;
    double *reward_bar;
    size_t *at;
    unsigned char *take;
    ds_memory memory;
} analytic_policy;

typedef struct analytic_shape {
    size_t hidden_count, hidden[MLP_MAX_LAYERS - 1];
    int activation; /* MLP_* */
    int normalise;  /* of features, by running moments */
    int noisy;      /* actions are drawn ... */
    double log_std; /* ... with exp() of it at first */
    double adam_eps, beta1, beta2;
} analytic_shape;

/* For windows of `steps` steps in the lanes of s. 0 without memory; release with analytic_free()
 * either way. */
int analytic_init(analytic_policy *p, const analytic_shape *shape, const stepwise *s, size_t steps,
                  ds_random *random);
void analytic_free(analytic_policy *p);

/* Normalised features of `rows` rows. */
void analytic_normalise(const analytic_policy *p, size_t rows, const float *features, float *out);

/* The actions of all lanes of s (train or trial) without noise. */
void analytic_choose(analytic_policy *p, const stepwise *s, float *action);

/* Rolls out a window: episodes begin in free lanes, at most `most`, tagged `tag`; each lane continues until
 * its window is full or its episode ends. Each episode has its own stream of noise. */
ds_status analytic_roll_out(analytic_policy *p, stepwise *s, const ds_host *host, uint64_t most,
                            const char *tag, uint64_t group);

/* The gradient of -J into p->g. value_bar (lanes x obs; NULL = no value): the derivatives of V by the
 * normalised features after each lane's window; entries of ended tasks are not read. */
ds_status analytic_back(analytic_policy *p, stepwise *s, double gamma, double scale, const float *value_bar);

/* A step of Adam against p->g, its norm cut to `longest` (0 = any). Returns that norm; where it is not finite
 * or above 1e6, nothing is done. */
double analytic_improve(analytic_policy *p, double lr, double longest);

/* The features of the window enter the moments. */
void analytic_learn_moments(analytic_policy *p);

#endif
