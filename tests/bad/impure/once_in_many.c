/* SPDX-License-Identifier: Apache-2.0 */
/* once_in_many - every 400th call has another sign in a component of its gradient. */
#define BAD_ID "once_in_many"
#define BAD_AFTER                                                                                            \
    static int calls;                                                                                        \
    g[MIDDLE] *= ++calls % 400 == 0 ? -1 : 1;
#include "smooth_base.h"
