/* SPDX-License-Identifier: Apache-2.0 */
/* sem_wait.h - waits for a semaphore by the monotonic clock: the realtime clock may be set back. */
#ifndef DS_BASE_SEM_WAIT_H
#define DS_BASE_SEM_WAIT_H

#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"

/* Takes the semaphore, or waits until ds_clock_ns() is until_ns. 0, or -1 with errno ETIMEDOUT or EINTR. */
static inline int ds_sem_wait_until(sem_t *s, uint64_t until_ns)
{
#if __GLIBC_PREREQ(2, 30)
    const struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    return sem_clockwait(s, CLOCK_MONOTONIC, &until);
#else /* which knows the realtime clock alone */
    while (sem_trywait(s) != 0) {
        if (errno == EINTR) {
            return -1;
        }
        if (ds_clock_ns() >= until_ns) {
            errno = ETIMEDOUT;
            return -1;
        }
        ds_sleep_ms(2);
    }
    return 0;
#endif
}

#endif
