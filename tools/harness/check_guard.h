/* SPDX-License-Identifier: Apache-2.0 */
/* check_guard.h - buffers between inaccessible pages: an access outside of one is reported with its name and
 * distance. */
#ifndef DS_HARNESS_CHECK_GUARD_H
#define DS_HARNESS_CHECK_GUARD_H

#include "base/plugin_memory.h"
#include "harness/check.h"

typedef struct ds_check_buffer {
    const char *name;
    const char *size; /* what there is room for, in words; NULL = n numbers */
    ds_guard guard;
} ds_check_buffer;

/* n numbers; 1 = ok. The guard is closed by its owner. */
int ds_check_buffer_open(ds_check_buffer *b, const char *name, uint64_t n, int at_end);

/* Records it where a mark beside the numbers was overwritten. */
void ds_check_buffer_look(ds_check *c, const ds_check_buffer *b, const char *who);

/* From now on a segmentation fault is recorded with the buffer next to it, and ends the process. For children
 * only. `buffers` must stay valid. */
void ds_check_buffer_watch(ds_check *c, const ds_check_buffer *buffers, size_t count, const char *who);

#endif
