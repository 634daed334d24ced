/* SPDX-License-Identifier: Apache-2.0 */
/* stale - the gradient is that of the point before. */
#define BAD_ID "stale"
#define BAD_AFTER                                                                                            \
    static double before[N];                                                                                 \
    double now[N];                                                                                           \
    memcpy(now, g, sizeof g);                                                                                \
    memcpy(g, before, sizeof g);                                                                             \
    memcpy(before, now, sizeof g);
#include "smooth_base.h"
