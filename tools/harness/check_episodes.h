/* SPDX-License-Identifier: Apache-2.0 */
/* check_episodes.h - the small problems as episodes, for optimizers that step through them. */
#ifndef DS_HARNESS_CHECK_EPISODES_H
#define DS_HARNESS_CHECK_EPISODES_H

#include <diffsim/ext/draft/steps_gradient.h>

#include "harness/check_watch.h"

/* The extension ds.objective.steps/1 of the problem; NULL without memory. */
const ds_objective_steps *ds_check_episodes_of(ds_check_watch *w);

/* Their derivatives. */
const ds_objective_steps_gradient *ds_check_episode_gradients_of(ds_check_watch *w);

#endif
