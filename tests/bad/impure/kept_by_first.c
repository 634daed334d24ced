/* SPDX-License-Identifier: Apache-2.0 */
/* kept_by_first - the gradient is kept for the next call, and known again by the first variable alone. */
#define BAD_ID "kept_by_first"
#define BAD_AFTER                                                                                            \
    static double at = 7, kept[N];                                                                           \
    memcpy(x[0] == at ? g : kept, x[0] == at ? kept : g, sizeof g);                                          \
    at = x[0];
#include "smooth_base.h"
