/* SPDX-License-Identifier: Apache-2.0 */
/* mode_with_threads - changes how the process rounds where it may use several threads. */
#include <fenv.h>
#define BAD_ID "mode_with_threads"
#define BAD_EVALUATE                                                                                         \
    if (b->host->threads > 1) {                                                                              \
        fesetround(FE_UPWARD);                                                                               \
    }
#include "env_base.h"
