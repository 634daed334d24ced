/* SPDX-License-Identifier: Apache-2.0 */
/* hangs_at_gradient - never ends where a gradient is wanted in a part of the box. */
#include <unistd.h>
#define BAD_ID "hangs_at_gradient"
#define BAD_EVALUATE                                                                                         \
    while ((io->want & DS_WANT_GRAD) && io->x[1] < -0.5) {                                                   \
        usleep(1000);                                                                                        \
    }
#include "env_base.h"
