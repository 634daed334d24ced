/* SPDX-License-Identifier: Apache-2.0 */
/* crashes - crashes at the upper bound of a variable. */
#include <stdint.h>
#define BAD_ID "crashes"
#define BAD_EVALUATE                                                                                         \
    if (io->x[0] == 2) {                                                                                     \
        *(volatile int *)(uintptr_t)16 = 0;                                                                  \
    }
#include "env_base.h"
