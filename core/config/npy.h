/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - reads arrays of numbers from files: NumPy's .npy, and plain text tables. */
#ifndef DS_CONFIG_NPY_H
#define DS_CONFIG_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* More numbers than any parameter file needs; 1 GiB as doubles. */
#define DS_ARRAY_MAX_DEFAULT ((uint64_t)1 << 27)

/* An array of finite doubles, row-major. */
typedef struct ds_array {
    double *data;  /* owned, `size` numbers */
    uint64_t size; /* product of the shape, at least 1 */
    uint32_t ndim; /* 0..DS_MAX_DIMENSIONS */
    uint64_t shape[DS_MAX_DIMENSIONS];
} ds_array;

/* Reads `path` ("-" = standard input). The content decides: .npy by its magic bytes, else text; a name ending
 * in .npy must be .npy. At most `max_size` numbers (0 = DS_ARRAY_MAX_DEFAULT). On failure *out is empty, and
 * the result is `status` (DS_EXIT_MEMORY without memory) with one line that names the file and the reason. */
int ds_array_read(const char *path, uint64_t max_size, int status, ds_array *out, ds_error *e);

/* The two formats from memory; `name` stands for the file in messages.
 *
 *   - .npy: format 1.0 or 2.0, C order, dtype <f8, <f4, <i8 or <i4, finite, as many bytes as the shape needs.
 *   - text: decimal numbers separated by white space and/or single commas, '#' starts a comment, one row per
 *     line. One row or one column gives a vector, else the shape is (rows, columns) and all rows have the
 *     same length. The decimal sign is '.' in every locale; nan, inf, hexadecimal and numbers outside the
 *     range of double are refused. */
int ds_array_parse_npy(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                       ds_array *out, ds_error *e);
/* The same; nan is a missing value and may be an element. */
int ds_array_parse_npy_gaps(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                            ds_array *out, ds_error *e);
int ds_array_parse_text(const void *p, size_t len, const char *name, uint64_t max_size, int status,
                        ds_array *out, ds_error *e);

/* A single text ("<U" of no dimensions) of an .npy file as UTF-8, to be freed; NULL on failure. */
int ds_text_parse_npy(const void *p, size_t len, const char *name, int status, char **out, ds_error *e);

void ds_array_free(ds_array *a);

#endif
