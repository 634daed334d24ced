/* SPDX-License-Identifier: Apache-2.0 */
/* Stepwise control of the plasticine environments. */
#ifndef MPM_ENV_RL_H
#define MPM_ENV_RL_H

#include <diffsim/ext/rl.h>

extern const ds_rl mpm_env_rl; /* of an mpm_env */

/* Stepwise control, for the description of a task. */
#define MPM_STEPWISE_TEXT                                                                                    \
    "\nStepwise control: an action is the variables of a segment. Observations are PlasticineLab's: x, y, "  \
    "z "                                                                                                     \
    "and velocity of some particles (parameter observed), then position and quaternion of each tool, and "   \
    "the "                                                                                                   \
    "gap of chopsticks. Rewards: minus what the segment adds to the loss; with loss=final the decrease of "  \
    "the "                                                                                                   \
    "loss of the state."

#endif
