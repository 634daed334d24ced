/* SPDX-License-Identifier: Apache-2.0 */
/* kept_close_by - a point closer than 1e-6 to the one before has its gradient. */
#define BAD_ID "kept_close_by"
#define BAD_AFTER                                                                                            \
    static double at[N], kept[N];                                                                            \
    double far = 0;                                                                                          \
    for (int t = 0; t < N; t++) {                                                                            \
        far = fmax(far, fabs(x[t] - at[t]));                                                                 \
    }                                                                                                        \
    memcpy(far < 1e-6 ? g : kept, far < 1e-6 ? kept : g, sizeof g);                                          \
    memcpy(at, x, sizeof at);
#include "smooth_base.h"
