/* SPDX-License-Identifier: Apache-2.0 */
/* changing_channels - the residuals are more after the first evaluation. */
#define BAD_ID "changing_channels"
#define BAD_ELEMENTS (3 + evaluated)
#define BAD_EVALUATE evaluated = 1;
static int evaluated;
#include "channel_base.h"

#include "env_base.h"
