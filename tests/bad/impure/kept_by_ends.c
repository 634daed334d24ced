/* SPDX-License-Identifier: Apache-2.0 */
/* kept_by_ends - the gradient is kept for the next call, and known again by the first and the
 * last variable. */
#define BAD_ID "kept_by_ends"
#define BAD_AFTER                                                                                            \
    static double at[2] = {7, 7}, kept[N];                                                                   \
    const int same = x[0] == at[0] && x[N - 1] == at[1];                                                     \
    memcpy(same ? g : kept, same ? kept : g, sizeof g);                                                      \
    at[0] = x[0];                                                                                            \
    at[1] = x[N - 1];
#include "smooth_base.h"
