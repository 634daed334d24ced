/* SPDX-License-Identifier: Apache-2.0 */
/* An evaluation of the environment interface as an episode, whatever the environment. */
#ifndef MPM_EVALUATE_H
#define MPM_EVALUATE_H

#include "episode.h"

#include <diffsim/helper/eval.h>

/* One evaluation as an episode: sets all that io returns. hook and context: see mpm_episode_run(). */
ds_status mpm_env_episode(mpm_episode *e, const ds_host *host, ds_eval *io, mpm_step_hook *hook,
                          void *context);
bool mpm_env_finite(uint64_t n, const double *values);
/* Whether the host wants the episode to end; context: the ds_host. */
uint32_t mpm_env_should_stop(const void *context);

/* Says where an episode has diverged, and what helps. */
void mpm_env_say_diverged(const ds_host *host, int64_t step);

#endif
