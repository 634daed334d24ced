/* SPDX-License-Identifier: Apache-2.0 */
/* npy_write.h - writes arrays to NumPy's .npy and .npz files. */
#ifndef DS_RESULTS_NPY_WRITE_H
#define DS_RESULTS_NPY_WRITE_H

#include "base/error.h"
#include "base/variables.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    DS_NPY_CHARACTERS = 48,
    DS_NPY_NAME_CHARACTERS = 64,
    DS_NPY_TAG_CHARACTERS = 16,
    DS_NPY_MAX_NDIM = 8,
    DS_NPY_HEADER_MAX = 512 /* DS_NPZ_HEADER */
};

/* Element types; data in memory are in native (little-endian) order. */
enum {
    DS_NPY_F8 = 0,   /* double */
    DS_NPY_I4 = 1,   /* int32_t */
    DS_NPY_U4 = 2,   /* uint32_t */
    DS_NPY_I8 = 3,   /* int64_t */
    DS_NPY_U8 = 4,   /* uint64_t */
    DS_NPY_TEXT = 5, /* DS_NPY_CHARACTERS code points (uint32_t), padded with zeros */
    DS_NPY_NAME = 6, /* DS_NPY_NAME_CHARACTERS code points */
    DS_NPY_TAG = 7   /* DS_NPY_TAG_CHARACTERS code points */
};

/* Makes the .npy header (format 1.0, a multiple of 64 bytes) of an array in C order; returns its length. */
size_t ds_npy_header(char out[DS_NPY_HEADER_MAX], int type, uint32_t ndim, const uint64_t *shape);

/* Writes one array to `path` atomically. DS_EXIT_IO on failure. */
int ds_npy_write(const char *path, int type, uint32_t ndim, const uint64_t *shape, const void *data,
                 ds_error *e);

/* An .npz archive: a zip file of .npy members without compression and with fixed time stamps, so that equal
 * data give equal files. Members and archives over 4 GiB use zip64 fields. */
typedef struct ds_npz ds_npz;

int ds_npz_open(ds_npz **out, const char *path, ds_error *e);

/* Adds array `name` (without ".npy"; at most 200 bytes). After a failure the archive can only be aborted, or
 * closed with the same failure. */
int ds_npz_add(ds_npz *z, const char *name, int type, uint32_t ndim, const uint64_t *shape, const void *data,
               ds_error *e);

/* The same with the data in a file, which is read twice from its beginning. */
int ds_npz_add_file(ds_npz *z, const char *name, int type, uint32_t ndim, const uint64_t *shape, FILE *data,
                    ds_error *e);

/* Writes the directory and gives the file its name. Frees `z` in any case. */
int ds_npz_close(ds_npz *z, ds_error *e);

/* Removes what was written and frees `z` (may be NULL). */
void ds_npz_abort(ds_npz *z);

/* Adds arrays with the names, units and groups of the variables; none if v is NULL. */
int ds_npz_add_variables(ds_npz *z, const ds_named_variable *v, uint64_t n, ds_error *e);

#endif
