/* SPDX-License-Identifier: Apache-2.0 */
/* kept_by_sum - the gradient is kept for the next call, and known again by the sum of the variables. */
#define BAD_ID "kept_by_sum"
#define BAD_AFTER                                                                                            \
    static double at = 7e9, kept[N];                                                                         \
    double all = 0;                                                                                          \
    for (int t = 0; t < N; t++) {                                                                            \
        all += x[t];                                                                                         \
    }                                                                                                        \
    const int same = fabs(all - at) < 1e-12;                                                                 \
    memcpy(same ? g : kept, same ? kept : g, sizeof g);                                                      \
    at = all;
#include "smooth_base.h"
