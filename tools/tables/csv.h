/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - reads the records of a CSV file (RFC 4180), whoever wrote it: quoted fields, ends of lines with and
 * without CR, a byte order mark. */
#ifndef DS_TABLES_CSV_H
#define DS_TABLES_CSV_H

#include <stddef.h>

#include "base/error.h"

enum { DS_CSV_RECORD = 1 << 16 /* bytes, at most */, DS_CSV_FIELDS = 256 };

/* A record: its fields are lines of UTF-8, until the next one is read. */
typedef struct ds_csv {
    const char *path;     /* for messages */
    const char *at, *end; /* what is not read yet */
    size_t line, next;    /* where the record begins, and the one behind it */
    size_t fields;
    char *field[DS_CSV_FIELDS];
    char room[DS_CSV_RECORD];
    size_t used;
} ds_csv;

/* `text` and `path` are borrowed. */
void ds_csv_begin(ds_csv *c, const char *text, size_t size, const char *path);

/* The next record that is no blank line: 1, 0 at the end, or -1 after filling *e, with DS_EXIT_CONFIG. */
int ds_csv_next(ds_csv *c, ds_error *e);

#endif
