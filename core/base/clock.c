/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - the clock, sleeping, processors, and durations as text. */
#include "config.h"

#include "base/clock.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

uint64_t ds_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double ds_clock_s(void)
{
    return 1e-9 * (double)ds_clock_ns();
}

void ds_sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000l};
    nanosleep(&t, NULL);
}

uint32_t ds_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

void ds_duration_text(double s, char *out, size_t size)
{
    if (!isfinite(s)) {
        snprintf(out, size, "?");
        return;
    }
    unsigned long t = s < 1e9 ? (unsigned long)(s + 0.5) : 1000000000ul;
    if (t < 60) {
        snprintf(out, size, "%lus", t);
    } else if (t < 3600) {
        snprintf(out, size, "%lu:%02lu", t / 60, t % 60);
    } else {
        snprintf(out, size, "%lu:%02lu:%02lu", t / 3600, t / 60 % 60, t % 60);
    }
}
