/* SPDX-License-Identifier: Apache-2.0 */
/* check_crash.h - what is known where a plugin crashes: buffers between inaccessible pages, so that an access
 * outside of one is reported with its name and distance; and the evaluations in progress, in memory that
 * outlives the process. */
#ifndef DS_HARNESS_CHECK_GUARD_H
#define DS_HARNESS_CHECK_GUARD_H

#include "base/plugin_memory.h"
#include "harness/check.h"

#include <stdint.h>

typedef struct ds_check_buffer {
    const char *name;
    const char *size; /* its size in words; NULL = n numbers */
    ds_guard guard;
} ds_check_buffer;

/* Makes room for n numbers; 1 = ok. The owner closes the guard. */
int ds_check_buffer_open(ds_check_buffer *b, const char *name, uint64_t n, int at_end);

/* Records a failure if a mark next to the numbers was overwritten. */
void ds_check_buffer_check(ds_check *c, const ds_check_buffer *b, const char *who);

/* From now on a segmentation fault is recorded with the nearest buffer and ends the process. For children
 * only. `buffers` must stay valid. */
void ds_check_buffer_watch(ds_check *c, const ds_check_buffer *buffers, size_t count, const char *who);

/* ---- evaluations in progress ---- */

/* An evaluation in progress; its x follows in memory. */
typedef struct ds_flight {
    uint64_t noise_key;
    uint32_t want;
    uint32_t rows; /* points of the call, x being the first; 0 = the slot is unused */
} ds_flight;

enum { DS_FLIGHTS = 8 /* threads that may evaluate at the same time */ };

/* In the test: logs evaluations to the memory file `fd` from now on. Without this call nothing is logged. */
void ds_flight_attach(int fd);

/* Makes room for points with n variables. */
void ds_flight_room(uint64_t n);

/* Called before and after a call of the plugin. Each thread has its own slot. */
void ds_flight_begin(const double *x, uint64_t n, uint32_t want, uint64_t noise_key, uint32_t rows);
void ds_flight_end(void);

/* In the parent: calls fn for every evaluation that was in progress, with its n values. */
void ds_flight_read(int fd, void (*fn)(void *ctx, const ds_flight *f, const double *x, uint64_t n),
                    void *ctx);

#endif
