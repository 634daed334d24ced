/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/score.h - environment extension "ds.env.score/1": noise on the actions of a policy, and its
 * score.
 *
 * What for: estimates of the gradient of the mean loss of a noisy policy that need values alone (zeroth
 * order), beside those that need gradients (first order), from the same episodes.
 *
 * Scenario: the variables x of an environment are the parameters of a policy, and noise is added to its
 * actions, u_t = pi(s_t; x) + w_t with w ~ N(0, sigma^2). With V(x, w) the loss of such an episode,
 *
 *     first order    g1 = d V(x, w) / d x                                     io->grad
 *     zeroth order   g0 = (V(x, w) - V(x, 0)) / sigma^2 * S                   from io->loss, baseline, score
 *     score          S  = sum over the steps t of (d pi(s_t; x) / d x)' w_t   s_t of the noisy episode
 *
 * have the same mean, d E_w[V] / d x, wherever V is continuous; where it is not, only g0 has. Noise on the
 * actions has horizon x actions numbers, however many variables the policy has.
 *
 * Rules for the environment: it declares DS_ENV_STOCHASTIC; what is drawn (w, and where episodes begin)
 * depends on the noise key and the parameters alone, never on x, so that the same key at another x is the
 * same noise; a key of 0 has no noise and the usual start. The host asks nothing of it by itself: this is
 * for tools and programs that hold an instance.
 *
 * Source: H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better
 * policy gradients?", ICML 2022, section 2.
 */
#ifndef DIFFSIM_EXT_SCORE_H
#define DIFFSIM_EXT_SCORE_H

#include <diffsim/base.h>
#include <diffsim/env.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_SCORE "ds.env.score/1"

/* ds_score.flags. */
enum {
    DS_SCORE_BASELINE = 1 /* simulate the episode without noise as well */
};

/* What is drawn in one episode. The same at every call. */
typedef struct ds_score_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t reserved;
    uint64_t noise;  /* numbers w of an episode, at least 1: those of step 0, of step 1, ... */
    uint64_t action; /* numbers of one step: noise / action steps */
    double sigma;    /* standard deviation of each where ds_score.sigma is 0; positive */
    DS_GROWN
} ds_score_info;
#define DS_SCORE_INFO_SIZE_1_0 DS_SIZE_WITH(ds_score_info, sigma)

/* What is asked beside the evaluation. Buffers belong to the caller and are dead when the call returns. */
typedef struct ds_score {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* in: DS_SCORE_* */
    double sigma;         /* in: standard deviation, positive, or 0 for that of the instance */
    double *score;        /* out: n values S, unit: that of w squared by that of x; not NULL */
    double *noise;        /* out: `noise` values w, sigma included; or NULL */
    double baseline;      /* out: V(x, 0), same start, where DS_SCORE_BASELINE is set; else NaN */
    DS_GROWN
} ds_score;
#define DS_SCORE_SIZE_1_0 DS_SIZE_WITH(ds_score, baseline)

/* The table that get_extension() of an environment returns. */
typedef struct ds_env_score {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] Fills the fields that fit into out->struct_size. */
    ds_status(DS_CALL *info)(void *self, ds_score_info *out);

    /* [instance] One episode at io->x with the noise of io->noise_key: all that evaluate() answers, and the
     * score. With ask->sigma = 0 the answers in io are those of evaluate(), bit for bit (cost_steps aside,
     * which counts the episode of the baseline as well). Without noise (key 0) score and noise are 0 and the
     * baseline is the loss. Where the outcome is neither DS_EVAL_OK nor DS_EVAL_BAD_GRAD the score is 0; an
     * episode of the baseline that diverges has the baseline +INFINITY. DS_E_ARG where sigma is negative or
     * not finite. Pure, as evaluate(). */
    ds_status(DS_CALL *evaluate)(void *self, ds_eval *io, ds_score *ask);
    DS_GROWN
} ds_env_score;
#define DS_ENV_SCORE_SIZE_1_0 DS_SIZE_WITH(ds_env_score, evaluate)

#ifdef __cplusplus
}
#endif
#endif
