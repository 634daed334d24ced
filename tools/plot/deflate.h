/* SPDX-License-Identifier: Apache-2.0 */
/* deflate.h - compresses drawings: the blocks of a deflate stream (RFC 1951) in a quarter of zlib's time. */
#ifndef DS_PLOT_DEFLATE_H
#define DS_PLOT_DEFLATE_H

#include <stddef.h>

/* Bytes that grow; starts as zeros. The user frees `data`. */
typedef struct ds_bytes {
    unsigned char *data;
    size_t size, room;
} ds_bytes;

/* Makes room for `more` bytes after the first `size`; 0 without memory. */
int ds_bytes_reserve(ds_bytes *b, size_t more);
int ds_bytes_append(ds_bytes *b, const void *data, size_t n);

typedef struct ds_deflate ds_deflate;

/* Compresses what is put in and appends it to `out`. NULL without memory. */
ds_deflate *ds_deflate_open(ds_bytes *out);

/* 0 without memory. */
int ds_deflate_put(ds_deflate *d, const unsigned char *data, size_t n);

/* Ends the stream with its last block, and frees it, also where ds_deflate_put() failed. 0 without memory. */
int ds_deflate_close(ds_deflate *d);

#endif
