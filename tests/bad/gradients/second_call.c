/* SPDX-License-Identifier: Apache-2.0 */
/* second_call - the first gradient is right, later ones are 1.001 times what they should be. */
#define BAD_ID "second_call"
#define BAD_AFTER                                                                                            \
    static int calls;                                                                                        \
    for (int t = 0; t < N && calls > 0; t++) {                                                               \
        g[t] *= 1.001;                                                                                       \
    }                                                                                                        \
    calls = 1;
#include "smooth_base.h"
