/* SPDX-License-Identifier: Apache-2.0 */
/* check_flight.h - the evaluations that a test is making, in memory that outlives its process: where it dies
 * or hangs, its parent says at which x. */
#ifndef DS_HARNESS_CHECK_FLIGHT_H
#define DS_HARNESS_CHECK_FLIGHT_H

#include <stdint.h>

/* One evaluation as it was asked for; x follows it in memory. */
typedef struct ds_flight {
    uint64_t noise_key;
    uint32_t want;
    uint32_t rows; /* points of the call, of which x is the first; 0 = no evaluation is going on */
} ds_flight;

enum { DS_FLIGHTS = 8 /* threads that evaluate at once */ };

/* In the test: from now on evaluations are written down in the memory file `fd`. Without it nothing is. */
void ds_flight_attach(int fd);

/* Makes room for points of n variables. */
void ds_flight_room(uint64_t n);

/* Around a call of the plugin. Each thread has a place of its own. */
void ds_flight_begin(const double *x, uint64_t n, uint32_t want, uint64_t noise_key, uint32_t rows);
void ds_flight_end(void);

/* In the parent: calls fn for every evaluation that was going on, with its n values. */
void ds_flight_read(int fd, void (*fn)(void *ctx, const ds_flight *f, const double *x, uint64_t n),
                    void *ctx);

#endif
