/* SPDX-License-Identifier: Apache-2.0 */
/* wears_out - from the 300th call on a component of the gradient lacks a tenth. */
#define BAD_ID "wears_out"
#define BAD_AFTER                                                                                            \
    static int calls;                                                                                        \
    g[MIDDLE] *= ++calls > 300 ? 0.9 : 1;
#include "smooth_base.h"
