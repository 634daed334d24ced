/* SPDX-License-Identifier: Apache-2.0 */
/* near_bounds - a component is wrong in the outer hundredth of its range, and right at the bound itself. */
#define BAD_ID "near_bounds"
#define BAD_AFTER                                                                                            \
    g[MIDDLE] *= (x[MIDDLE] > 0.98 && x[MIDDLE] < 1) || (x[MIDDLE] < -0.98 && x[MIDDLE] > -1) ? 0.9 : 1;
#include "smooth_base.h"
