/* SPDX-License-Identifier: Apache-2.0 */
/* report_table.h - builds a CSV file (RFC 4180) row by row; numbers with 17 digits, what is not
 * finite is empty. */
#ifndef DS_REPORT_REPORT_TABLE_H
#define DS_REPORT_REPORT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ds_table ds_table;

/* `header` is the first line. NULL without memory; a later failure is told by ds_table_write(). */
ds_table *ds_table_new(const char *header);
void ds_table_free(ds_table *t);

/* Cells of the row in work, and its end. */
void ds_table_text(ds_table *t, const char *text);
void ds_table_count(ds_table *t, uint64_t v);
void ds_table_reals(ds_table *t, size_t count, const double *v);
void ds_table_end(ds_table *t);

/* Writes the file atomically; nothing where path is NULL. */
int ds_table_write(ds_table *t, const char *path, ds_error *e);

#endif
