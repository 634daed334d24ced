/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - buffers for plugins that end at a page without access: writing one number too many faults at
 * once. */
#ifndef DS_WORKER_GUARD_H
#define DS_WORKER_GUARD_H

#include <stddef.h>
#include <stdint.h>

typedef struct ds_guard {
    double *data; /* n numbers, directly before the guard page */
    uint64_t n;
    void *map;
    size_t map_size;
} ds_guard;

/* 0, or -1 without memory. */
int ds_guard_open(ds_guard *g, uint64_t n);
void ds_guard_close(ds_guard *g);

/* Is the mark before the buffer as it was? A broken one is mended. */
int ds_guard_intact(ds_guard *g);

#endif
