/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clock, sleeping, processors, and durations as text. */
#ifndef DS_BASE_CLOCK_H
#define DS_BASE_CLOCK_H

#include <errno.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t ds_clock_ns(void);

/* The same in seconds. */
double ds_clock_s(void);

/* Sleeps; a signal ends it. */
void ds_sleep_ms(int ms);

/* Processors that this process may use. */
uint32_t ds_processors(void);

/* "45s", "12:05", "3:02:10"; "?" where s is not finite. */
void ds_duration_text(double s, char *out, size_t size);

/* Takes the semaphore, or waits until ds_clock_ns() is until_ns; the realtime clock may be set back. 0, or -1
 * with errno ETIMEDOUT or EINTR. */
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
