/* SPDX-License-Identifier: Apache-2.0 */
/* task_truncates - says that its horizon is a part of the task, and truncates there. */
#define BAD_ID "task_truncates"
#define BAD_FLAGS 0
#define BAD_END DS_STEPS_TRUNCATED
#include "steps_base.h"
#include "env_base.h"
