/* SPDX-License-Identifier: Apache-2.0 */
/* needs_loss - the gradient is right where the loss was asked for just before, and else that of the last such
 * point. */
#define BAD_ID "needs_loss"
#define BAD_KEEPS static double at[BAD_N];
#define BAD_LOSS_ONLY memcpy(at, x, sizeof at);
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N; t++) {                                                                            \
        g[t] += 0.01 * (x[t] - at[t]);                                                                       \
    }
#include "smooth_base.h"
