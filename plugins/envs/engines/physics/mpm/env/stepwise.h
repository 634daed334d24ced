/* SPDX-License-Identifier: Apache-2.0 */
/* stepwise.h - stepwise control of an episode: takes the action of one segment and returns the state after it
 * and a reward. The state between two segments stays in the episode; mpm_episode_run() ends an open episode.
 */
#ifndef MPM_STEPWISE_H
#define MPM_STEPWISE_H

#include "engines/physics/mpm/env/episode.h"

#include <diffsim/helper/eval.h>

/* Begins an episode in e->parts. n_obs: numbers of an observation. Reports DS_E_NOMEM to the host. */
ds_status mpm_stepwise_reset(mpm_episode *e, const ds_host *host, uint64_t n_obs);

/* Simulates a segment and sets all of *io except the observation. The reward is the decrease of the loss of
 * the state or, if the loss is a sum over time, minus what the segment adds to it. Returns DS_E_STATE without
 * an open episode, or DS_E_ARG if the action is not finite, which leaves the episode unchanged. */
ds_status mpm_stepwise_act(mpm_episode *e, const ds_host *host, ds_step *io);

/* The current tools, one pose each; the particles are in e->now. */
const mpm_pose *mpm_stepwise_poses(const mpm_episode *e);

/* ---- derivatives ----
 *
 * Derivatives of stepwise control (diffsim/ext/draft/steps_gradient.h): back over the segments of
 * the episode in e->parts. The first sweep of an instance, and one that does not begin at the current
 * segment, simulate the episode again; afterwards the data is stored while simulating, as in an evaluation
 * with gradient. */

/* Adds the adjoint of an observation, obs_bar, to the adjoints `bar` of the particles and `poses_bar` of the
 * tools. */
typedef void mpm_observe_adjoint(const void *self, const double *obs_bar, mpm_particle *bar,
                                 mpm_pose *poses_bar);

/* Begins after segment last - 1. Returns DS_E_NOMEM, reported to the host, or DS_STOPPED. */
ds_status mpm_sweep_begin(mpm_episode *e, const ds_host *host, uint64_t last);

/* Sweeps back over segment io->step, the one before that of the previous call. Errors as above. */
ds_status mpm_sweep_back(mpm_episode *e, const ds_host *host, ds_back *io, mpm_observe_adjoint *observed,
                         const void *self);

#endif
