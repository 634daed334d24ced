/* SPDX-License-Identifier: Apache-2.0 */
/* scaled - the whole gradient is 1.001 times what it should be. */
#define BAD_ID "scaled"
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N; t++) {                                                                            \
        g[t] *= 1.001;                                                                                       \
    }
#include "smooth_base.h"
