/* SPDX-License-Identifier: Apache-2.0 */
/* sized.h - reading structs of the other side of the plugin interface, which may know fewer or more fields
 * than we. */
#ifndef DS_BASE_SIZED_H
#define DS_BASE_SIZED_H

#include "base/error.h"

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
