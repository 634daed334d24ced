/* SPDX-License-Identifier: Apache-2.0 */
/* hidden_state - the result depends on the calls before. */
#define BAD_ID "hidden_state"
static double calls;
#define BAD_EVALUATE io->loss += 1e-9 * calls++;
#include "env_base.h"
