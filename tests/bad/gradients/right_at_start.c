/* SPDX-License-Identifier: Apache-2.0 */
/* right_at_start - a component is right at the start point only. */
#define BAD_ID "right_at_start"
#define BAD_AFTER g[MIDDLE] *= x[0] > 0.5 || x[0] < 0.5 ? 0.9 : 1;
#include "smooth_base.h"
