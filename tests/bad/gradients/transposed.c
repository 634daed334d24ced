/* SPDX-License-Identifier: Apache-2.0 */
/* transposed - the gradient has its time steps in reverse order. */
#define BAD_ID "transposed"
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N / 2; t++) {                                                                        \
        double one = g[t];                                                                                   \
        g[t] = g[N - 1 - t];                                                                                 \
        g[N - 1 - t] = one;                                                                                  \
    }
#include "smooth_base.h"
