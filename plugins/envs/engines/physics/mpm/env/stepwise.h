/* SPDX-License-Identifier: Apache-2.0 */
/* Stepwise control of an episode: the action of one segment goes in, the state after it and a reward come
 * out. The state between two segments stays in the episode; mpm_episode_run() ends an open episode. */
#ifndef MPM_STEPWISE_H
#define MPM_STEPWISE_H

#include "episode.h"

#include <diffsim/helper/eval.h>

/* Begins an episode in e->parts. n_obs: numbers of an observation. Errors: DS_E_NOMEM, told to the host. */
ds_status mpm_stepwise_reset(mpm_episode *e, const ds_host *host, uint64_t n_obs);

/* Simulates a segment and sets all of *io but the observation. Rewards are the decrease of the loss of the
 * state or, where the loss is a sum over time, minus what the segment adds to it. DS_E_STATE without an
 * open episode; DS_E_ARG where the action is not finite, which leaves the episode as it was. */
ds_status mpm_stepwise_act(mpm_episode *e, const ds_host *host, ds_step *io);

/* Output steps before segment k begins. */
uint32_t mpm_stepwise_begin_of(const mpm_episode *e, uint32_t k);

/* Simulates the episode again, up to the beginning of segment k; keep: with what a sweep needs. Adds
 * to parts.cost. */
mpm_result mpm_stepwise_again(mpm_episode *e, uint32_t k, bool keep);

/* The tools now, one pose each; the particles are in e->now. */
const mpm_pose *mpm_stepwise_poses(const mpm_episode *e);

#endif
