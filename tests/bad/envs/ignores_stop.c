/* SPDX-License-Identifier: Apache-2.0 */
/* ignores_stop - goes on for seconds after the host asked to stop. */
#include <time.h>
#define BAD_ID "ignores_stop"
#define BAD_EVALUATE                                                                                         \
    if (b->host->should_stop(b->host)) {                                                                     \
        const struct timespec pause = {2, 300000000};                                                        \
        nanosleep(&pause, NULL);                                                                             \
    }
#include "env_base.h"
