/* SPDX-License-Identifier: Apache-2.0 */
/* shared_state - instances in two threads share a variable. */
#include <stdatomic.h>
#include <time.h>
#define BAD_ID "shared_state"
static atomic_int inside; /* atomic: a lost count would hide the sin in every later call */
#define BAD_EVALUATE                                                                                         \
    {                                                                                                        \
        const struct timespec pause = {0, 2000000};                                                          \
        inside++;                                                                                            \
        nanosleep(&pause, NULL);                                                                             \
        io->loss += inside > 1;                                                                              \
        inside--;                                                                                            \
    }
#include "env_base.h"
