/* SPDX-License-Identifier: Apache-2.0 */
/* holes - has no gradient in a fifth of its box, where BAD_HOLE holds: a factor overflows, and infinity times
 * 0 is NaN. */
#ifndef BAD_ID
#define BAD_ID "holes"
#define BAD_HOLE (x[3] > 0.6)
#endif
#define BAD_AFTER                                                                                            \
    if (BAD_HOLE) {                                                                                          \
        g[N - 1] += 0 * pow(1e300, 2 + x[3]);                                                                \
    }
#include "smooth_base.h"
