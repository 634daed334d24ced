/* SPDX-License-Identifier: Apache-2.0 */
/* exchanged - two components are exchanged. */
#define BAD_ID "exchanged"
#define BAD_AFTER                                                                                            \
    double one = g[MIDDLE];                                                                                  \
    g[MIDDLE] = g[N - 1];                                                                                    \
    g[N - 1] = one;
#include "smooth_base.h"
