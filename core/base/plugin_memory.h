/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_memory.h - memory that plugins write: buffers that end (or begin) at a page without access, so that
 * one number too many faults at once, and structs of other versions of the plugin interface. */
#ifndef DS_BASE_PLUGIN_MEMORY_H
#define DS_BASE_PLUGIN_MEMORY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { DS_GUARD_MARK = 0xa5 }; /* value of every marked byte */

typedef struct ds_guard {
    double *data; /* n numbers */
    uint64_t n;
    unsigned char *map; /* guard page, data and marks, guard page; NULL = closed */
    size_t map_size;
} ds_guard;

/* Places n numbers directly before the guard page behind them (at_end), with marks in front, or directly
 * after the guard page before them. Returns 0, or -1 without memory. */
int ds_guard_open(ds_guard *g, uint64_t n, int at_end);
void ds_guard_close(ds_guard *g);

/* Checks the last marks in front of the buffer, quickly, and restores broken ones. */
int ds_guard_intact(ds_guard *g);

/* The first changed byte of the marks, or NULL. */
const unsigned char *ds_guard_breach(const ds_guard *g);

/* Makes the data read-only, or writable again. */
void ds_guard_readonly(ds_guard *g, int on);

/* ---- structs of other versions ---- */

/* No plugin sets a larger struct_size. */
enum { DS_SIZE_MAX = 65536 };

/* Copies `theirs`, whose struct_size is `said`, into our own struct of `size` bytes: the fields that both
 * sides know; the others become 0. `least` is the length of version 1.0 of the struct. Returns DS_EXIT_PLUGIN
 * with "WHERE: WHAT: ..." (WHERE may be "") where `theirs` is NULL or `said` is impossible. */
int ds_sized_read(void *own, size_t size, const void *theirs, size_t said, size_t least, const char *where,
                  const char *what, ds_error *e);

/* The same with the sizes of a type and of its pointer `theirs`. */
#define DS_SIZED_READ(own, theirs, least, where, what, e)                                                    \
    ds_sized_read((own), sizeof *(own), (theirs), (theirs) != NULL ? (theirs)->struct_size : 0, (least),     \
                  (where), (what), (e))

#endif
