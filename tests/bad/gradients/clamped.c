/* SPDX-License-Identifier: Apache-2.0 */
/* clamped - the derivative is 0 where a variable is at its bound. */
#define BAD_ID "clamped"
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N; t++) {                                                                            \
        g[t] *= x[t] > -1 && x[t] < 1;                                                                       \
    }
#include "smooth_base.h"
