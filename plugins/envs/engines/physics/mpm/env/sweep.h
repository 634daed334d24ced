/* SPDX-License-Identifier: Apache-2.0 */
/* Derivatives of stepwise control (diffsim/ext/draft/steps_gradient.h): back over the segments of the episode
 * in e->parts. The first sweep of an instance, and one that does not begin where the episode is, simulate the
 * episode again for it; from then on what a sweep needs is kept while simulating, as an evaluation with
 * gradient does. */
#ifndef MPM_SWEEP_H
#define MPM_SWEEP_H

#include "episode.h"

#include <diffsim/helper/eval.h>

/* Adds the adjoint of the particles and of the tools to `bar` and `poses_bar`, where the observation
 * has obs_bar. */
typedef void mpm_observe_adjoint(const void *self, const double *obs_bar, mpm_particle *bar,
                                 mpm_pose *poses_bar);

/* Begins behind segment last - 1. Errors: DS_E_NOMEM, told to the host; DS_STOPPED. */
ds_status mpm_sweep_begin(mpm_episode *e, const ds_host *host, uint64_t last);

/* Back over segment io->step, the one before that of the call before. Errors as above. */
ds_status mpm_sweep_back(mpm_episode *e, const ds_host *host, ds_back *io, mpm_observe_adjoint *observed,
                         const void *self);

#endif
