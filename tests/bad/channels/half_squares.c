/* SPDX-License-Identifier: Apache-2.0 */
/* half_squares - residuals for a loss of half the sum of squares. */
#define BAD_ID "half_squares"
#define BAD_SCALE 1.4142135623730951
#include "channel_base.h"

#include "env_base.h"
