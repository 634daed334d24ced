/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - CSV files (RFC 4180). The reader accepts files of other programs: quoted fields, line ends with and
 * without CR, a byte order mark. The writer gives numbers 17 digits and leaves what is not finite empty. */
#ifndef DS_TABLES_CSV_H
#define DS_TABLES_CSV_H

#include "base/error.h"

#include <stddef.h>

enum { DS_CSV_RECORD = 1 << 16 /* largest size in bytes */, DS_CSV_FIELDS = 256 };

/* A record. Its fields are UTF-8 and valid until the next record is read. */
typedef struct ds_csv {
    const char *path;     /* for messages */
    const char *at, *end; /* what has not been read yet */
    size_t line, next;    /* line of this record, and of the next one */
    size_t fields;
    char *field[DS_CSV_FIELDS];
    char room[DS_CSV_RECORD];
    size_t used;
} ds_csv;

/* `text` and `path` are borrowed. */
void ds_csv_begin(ds_csv *c, const char *text, size_t size, const char *path);

/* Reads the next record that is not a blank line. Returns 1, 0 at the end, or -1 after filling *e with
 * DS_EXIT_CONFIG. */
int ds_csv_next(ds_csv *c, ds_error *e);

/* ---- writing ---- */

typedef struct ds_table ds_table;

/* `header` is the first line. NULL without memory; ds_table_close() reports later failures. */
ds_table *ds_table_new(const char *header);
void ds_table_free(ds_table *t);

/* Adds a row, one letter per cell: t const char * (NULL = empty), n uint64_t, r double. A sequence of letters
 * R takes its cells from one const double *. */
void ds_table_row(ds_table *t, const char *kinds, ...);

/* Writes the file atomically if rc is 0 and path is not NULL; frees `t`. Returns rc, or the status of the
 * failure. */
int ds_table_close(ds_table *t, const char *path, int rc, ds_error *e);

#endif
