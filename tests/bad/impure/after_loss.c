/* SPDX-License-Identifier: Apache-2.0 */
/* after_loss - the gradient is right but where the loss of the same point was asked for just before. */
#define BAD_ID "after_loss"
#define BAD_KEEPS static double at[BAD_N];
#define BAD_LOSS_ONLY memcpy(at, x, sizeof at);
#define BAD_AFTER                                                                                            \
    g[MIDDLE] *= memcmp(at, x, sizeof at) == 0 ? 0.9 : 1;                                                    \
    at[0] = 9;
#include "smooth_base.h"
