/* SPDX-License-Identifier: Apache-2.0 */
/* unknown_end - ends its episodes in a way that there is not. */
#define BAD_ID "unknown_end"
#define BAD_FLAGS 0
#define BAD_END (DS_STEPS_TRUNCATED + 1)
#include "steps_base.h"
#include "env_base.h"
