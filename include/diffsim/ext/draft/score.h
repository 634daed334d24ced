/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/draft/score.h - noise on the actions of a policy, and its score, a draft: environment extension
 * "ds.draft.env.score/1".
 *
 * Purpose: estimate the gradient of the mean loss of a noisy policy from losses alone (zeroth order) and from
 * gradients (first order), with the same episodes.
 *
 * Scenario: the variables x of an environment are the parameters of a policy, and noise is added to its
 * actions, u_t = pi(s_t; x) + w_t with w ~ N(0, sigma^2). With V(x, w) the loss of such an episode,
 *
 *     first order    g1 = d V(x, w) / d x                                     grad
 *     zeroth order   g0 = (V(x, w) - V(x, 0)) / sigma^2 * S                   from loss, baseline, score
 *     score          S  = sum over the steps t of (d pi(s_t; x) / d x)' w_t   s_t of the noisy episode
 *
 * have the same mean, d E_w[V] / d x, where V is continuous; where it is not, only g0 has that mean. The
 * noise on the actions has horizon x actions numbers, for any number of variables of the policy.
 *
 * Rules for the environment: it sets DS_ENV_STOCHASTIC. The noise w and the start of an episode depend on the
 * noise key and the parameters alone, never on x: the same key at another x gives the same noise. Key 0 has
 * no noise and the usual start. The host makes no use of the extension; it is for tools and programs that
 * hold an instance.
 *
 * Source: H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better
 * policy gradients?", ICML 2022, section 2.
 */
#ifndef DIFFSIM_EXT_DRAFT_SCORE_H
#define DIFFSIM_EXT_DRAFT_SCORE_H

#include <diffsim/base.h>
#include <diffsim/env.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_SCORE "ds.draft.env.score/1"

/* ds_score.flags. */
enum {
    DS_SCORE_BASELINE = 1 /* simulate the episode without noise as well */
};

/* The noise of one episode. The same at every call. */
typedef struct ds_score_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t reserved;
    uint64_t noise;  /* numbers w of an episode, at least 1: first those of step 0, then of step 1, ... */
    uint64_t action; /* numbers of one step: noise / action steps */
    double sigma;    /* standard deviation of each where ds_score.sigma is 0; positive */
} ds_score_info;
#define DS_SCORE_INFO_SIZE_1_0 DS_SIZE_WITH(ds_score_info, sigma)

/* Request and results in addition to an evaluation. Buffers belong to the caller and are valid during the
 * call only. */
typedef struct ds_score {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* in: DS_SCORE_* */
    double sigma;         /* in: standard deviation, positive; 0 = ds_score_info.sigma */
    double *score;        /* out: n values S, in units of w squared per unit of x; not NULL */
    double *noise;        /* out: `noise` values w, sigma included; or NULL */
    double baseline;      /* out: V(x, 0), same start, where DS_SCORE_BASELINE is set; else NaN */
} ds_score;
#define DS_SCORE_SIZE_1_0 DS_SIZE_WITH(ds_score, baseline)

/* The table that get_extension() of an environment returns. */
typedef struct ds_env_score {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] Fills the fields that fit into out->struct_size. */
    ds_status(DS_CALL *info)(void *self, ds_score_info *out);

    /* [instance] Simulates one episode at the one row of the table with the noise of its key. Writes the
     * results of evaluate() and the score. With score->sigma = 0 the results have the bits of evaluate(), but
     * for cost_steps, which includes the episode of the baseline. With key 0, score and noise are 0 and the
     * baseline is the loss. Where the outcome is neither DS_EVAL_OK nor DS_EVAL_BAD_GRAD the score is 0. The
     * baseline is +INFINITY where its episode diverges. DS_E_ARG where sigma is negative or not finite. Pure,
     * as evaluate(). */
    ds_status(DS_CALL *evaluate)(void *self, const ds_rows *rows, const ds_results *results, ds_score *score);
} ds_env_score;
#define DS_ENV_SCORE_SIZE_1_0 DS_SIZE_WITH(ds_env_score, evaluate)

#ifdef __cplusplus
}
#endif
#endif
