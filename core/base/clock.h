/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clock, sleeping, processors, and durations as text. */
#ifndef DS_BASE_CLOCK_H
#define DS_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

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

#endif
