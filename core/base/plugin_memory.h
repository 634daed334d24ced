/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - buffers for plugins that end (or begin) at a page without access: one number too many faults
 * at once. The rest of their pages holds marks. */
#ifndef DS_BASE_GUARD_H
#define DS_BASE_GUARD_H

#include "base/error.h"

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

/* ---- sized ---- */

/* reading structs of the other side of the plugin interface, which may know fewer or more fields
 * than we. */

/* A struct_size above this was never set. */
enum { DS_SIZE_MAX = 65536 };

/* Copies the fields that both sides know of `theirs`, whose struct_size is `said`, into our own struct of
 * `size` bytes; the others become 0. `least` is how long version 1.0 of the struct is. DS_EXIT_PLUGIN and
 * "WHERE: WHAT: ..." (WHERE may be "") where `theirs` is NULL or `said` is not possible. */
int ds_sized_read(void *own, size_t size, const void *theirs, size_t said, size_t least, const char *where,
                  const char *what, ds_error *e);

/* The same with the sizes of a type and of its pointer `theirs`. */
#define DS_SIZED_READ(own, theirs, least, where, what, e)                                                    \
    ds_sized_read((own), sizeof *(own), (theirs), (theirs) != NULL ? (theirs)->struct_size : 0, (least),     \
                  (where), (what), (e))

#endif
