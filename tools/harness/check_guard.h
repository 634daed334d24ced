/* SPDX-License-Identifier: Apache-2.0 */
/* check_guard.h - buffers between inaccessible pages: an access outside of one is reported with its name and
 * distance. */
#ifndef DS_HARNESS_CHECK_GUARD_H
#define DS_HARNESS_CHECK_GUARD_H

#include <stddef.h>

#include "harness/check.h"

typedef struct ds_guard {
    const char *name;
    unsigned char *map; /* guard page, usable pages, guard page */
    size_t map_size;
    unsigned char *data;
    size_t length;
} ds_guard;

/* `length` bytes flush with the page behind them (at_end) or before them; the rest of the pages holds
 * canaries. 1 = ok. */
int ds_guard_make(ds_guard *g, const char *name, size_t length, int at_end);
void ds_guard_free(ds_guard *g);

/* Makes the data read-only, or writable again. */
void ds_guard_readonly(ds_guard *g, int on);

/* Records it where a canary was overwritten. */
void ds_guard_look(ds_check *c, const ds_guard *g, const char *who);

/* From now on a segmentation fault is recorded with the buffer next to it, and ends the process. For children
 * only. `guards` must stay valid. */
void ds_guard_watch(ds_check *c, const ds_guard *guards, size_t count, const char *who);

#endif
