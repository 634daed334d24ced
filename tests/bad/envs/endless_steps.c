/* SPDX-License-Identifier: Apache-2.0 */
/* endless_steps - says that it took 2^64 - 1 steps. */
#define BAD_ID "endless_steps"
#define BAD_EVALUATE io->cost_steps = UINT64_MAX;
#include "env_base.h"
