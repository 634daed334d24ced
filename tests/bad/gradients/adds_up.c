/* SPDX-License-Identifier: Apache-2.0 */
/* adds_up - adds to the gradient in place of setting it. */
#define BAD_ID "adds_up"
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N; t++) {                                                                            \
        g[t] += grad[t];                                                                                     \
    }
#include "smooth_base.h"
