/* SPDX-License-Identifier: Apache-2.0 */
/* hangs - does not end at the upper bound of a variable. */
#define BAD_ID "hangs"
#define BAD_EVALUATE                                                                                         \
    for (volatile int hang = io->x[0] == 2; hang;) {                                                         \
    }
#include "env_base.h"
