/* SPDX-License-Identifier: Apache-2.0 */
/* npz_read.h - reads .npz files: zip files of .npy members, stored or deflated, as numpy.savez() and
 * numpy.savez_compressed() write them. */
#ifndef DS_POLICY_NPZ_READ_H
#define DS_POLICY_NPZ_READ_H

#include <stddef.h>
#include <stdint.h>

#include "config/npy.h"

/* A file in memory. */
typedef struct ds_npz_reader ds_npz_reader;

/* Reads a file of at most `limit` bytes, whose members have at most as many in total, and validates its
 * directory. Fails with DS_EXIT_CONFIG or DS_EXIT_MEMORY; messages name the file. */
int ds_npz_read(const char *path, size_t limit, ds_npz_reader **out, ds_error *e);

/* The same from bytes of malloc(), which are owned from now on even on failure; `name` stands for the file.
 */
int ds_npz_parse(void *data, size_t bytes, const char *name, size_t limit, ds_npz_reader **out, ds_error *e);
void ds_npz_reader_free(ds_npz_reader *r);

int ds_npz_has(const ds_npz_reader *r, const char *name);

/* Number of members, and the name of one without its .npy; it belongs to the reader. */
size_t ds_npz_count(const ds_npz_reader *r);
const char *ds_npz_name(const ds_npz_reader *r, size_t i);

/* An array of finite numbers, one that may miss some (nan), and a single text (to be freed); messages begin
 * "FILE: NAME: ". */
int ds_npz_array(const ds_npz_reader *r, const char *name, ds_array *out, ds_error *e);
int ds_npz_array_gaps(const ds_npz_reader *r, const char *name, ds_array *out, ds_error *e);
int ds_npz_text(const ds_npz_reader *r, const char *name, char **out, ds_error *e);

#endif
