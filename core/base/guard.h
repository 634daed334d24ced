/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - buffers for plugins that end (or begin) at a page without access: one number too many faults
 * at once. The rest of their pages holds marks. */
#ifndef DS_BASE_GUARD_H
#define DS_BASE_GUARD_H

#include <stddef.h>
#include <stdint.h>

enum { DS_GUARD_MARK = 0xa5 }; /* every byte of the marks */

typedef struct ds_guard {
    double *data; /* n numbers */
    uint64_t n;
    unsigned char *map; /* page without access, data and marks, page without access; NULL = closed */
    size_t map_size;
} ds_guard;

/* n numbers directly before the page behind them (at_end), with marks in front, or behind the page before
 * them. 0, or -1 without memory. */
int ds_guard_open(ds_guard *g, uint64_t n, int at_end);
void ds_guard_close(ds_guard *g);

/* Are the last marks in front of the buffer as they were? Broken ones are mended. Quick. */
int ds_guard_intact(ds_guard *g);

/* The first byte of the marks that is not as it was, or NULL. */
const unsigned char *ds_guard_breach(const ds_guard *g);

/* Makes the data read-only, or writable again. */
void ds_guard_readonly(ds_guard *g, int on);

#endif
