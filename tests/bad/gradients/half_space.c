/* SPDX-License-Identifier: Apache-2.0 */
/* half_space - a component is wrong on one side of a plane. */
#define BAD_ID "half_space"
#define BAD_AFTER g[MIDDLE] *= x[0] + x[7] - x[N - 1] > 0.6 ? 1.001 : 1;
#include "smooth_base.h"
