/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - arrays of numbers in files: NumPy's .npy (read, write) and .npz (write), and plain
 * text tables (read). */
#ifndef DS_CONFIG_NPY_H
#define DS_CONFIG_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { DS_ARRAY_MAX_NDIM = 8, DS_NPY_HEADER_MAX = 512 };

/* More numbers than any parameter file needs; 1 GiB as doubles. */
#define DS_ARRAY_MAX_DEFAULT ((uint64_t)1 << 27)

/* ---- reading ---- */

/* An array of finite doubles, row-major. */
typedef struct ds_array {
    double *data;  /* owned, `size` numbers */
    uint64_t size; /* product of the shape, at least 1 */
    uint32_t ndim; /* 0..DS_ARRAY_MAX_NDIM */
    uint64_t shape[DS_ARRAY_MAX_NDIM];
} ds_array;

/* Reads `path` ("-" is the standard input). The content decides: .npy by its magic bytes, else text; a name
 * ending in .npy must be one. At most `max_size` numbers (0 = DS_ARRAY_MAX_DEFAULT). On failure *out is
 * empty and the result is `status` (DS_EXIT_MEMORY when memory is short) with one line that names the file
 * and the reason. */
int ds_array_read(const char *path, uint64_t max_size, int status, ds_array *out, ds_error *e);

/* The two formats from memory; `name` stands for the file in messages.
 *
 *   - .npy: format 1.0 or 2.0, C order, dtype <f8, <f4, <i8 or <i4, exactly as many bytes as the shape says,
 *     finite.
 *   - text: decimal numbers separated by white space and/or single commas, '#' starts a comment, one row per
 *     line. One row or one column gives a vector, else the shape is (rows, columns) and all rows have the
 *     same length. The decimal sign is '.' in every locale; nan, inf, hexadecimal and numbers outside the
 *     range of double are refused. */
int ds_array_parse_npy(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                       ds_array *out, ds_error *e);
int ds_array_parse_text(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                        ds_array *out, ds_error *e);

void ds_array_free(ds_array *a);

/* ---- writing ---- */

/* Element types of arrays that are written; in memory they are in native (little-endian) order. */
enum {
    DS_NPY_F8 = 0, /* double */
    DS_NPY_I4 = 1, /* int32_t */
    DS_NPY_U4 = 2, /* uint32_t */
    DS_NPY_I8 = 3, /* int64_t */
    DS_NPY_U8 = 4  /* uint64_t */
};

/* Bytes per element. */
size_t ds_npy_item_size(int type);

/* The .npy header (format 1.0, a multiple of 64 bytes) for an array in C order; returns its length. */
size_t ds_npy_header(char out[DS_NPY_HEADER_MAX], int type, uint32_t ndim, const uint64_t *shape);

/* Writes one array to `path`, atomically (file.h). Failures are DS_EXIT_IO. */
int ds_npy_write(const char *path, int type, uint32_t ndim, const uint64_t *shape, const void *data,
                 ds_error *e);

/* An .npz archive: a zip file of .npy members, stored without compression, with fixed time stamps, so that
 * equal data give equal files. Members and archives over 4 GiB use the zip64 fields. */
typedef struct ds_npz ds_npz;

int ds_npz_open(ds_npz **out, const char *path, ds_error *e);

/* Adds array `name` (without ".npy"; at most 200 bytes). After a failure the archive can only be aborted, or
 * closed with the same failure. */
int ds_npz_add(ds_npz *z, const char *name, int type, uint32_t ndim, const uint64_t *shape, const void *data,
               ds_error *e);

/* Writes the directory and makes the file appear under its name. Frees `z` in every case. */
int ds_npz_close(ds_npz *z, ds_error *e);

/* Removes what was written and frees `z` (NULL is fine). */
void ds_npz_abort(ds_npz *z);

#endif
