/* SPDX-License-Identifier: Apache-2.0 */
/* limit_terminates - says that its horizon is a time limit, and terminates there. */
#define BAD_ID "limit_terminates"
#define BAD_FLAGS DS_STEPS_TIME_LIMIT
#define BAD_END DS_STEPS_TERMINATED
#include "steps_base.h"
#include "env_base.h"
