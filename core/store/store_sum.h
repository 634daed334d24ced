/* SPDX-License-Identifier: Apache-2.0 */
/* store_sum.h - the checksum of a row of a store: of its table, its key and every column.
 *
 * The scalars of a row are written one behind the other: a letter for the type ('n' NULL, 'i' integer, 'r'
 * real, 't' text), then 8 bytes, the number or the length of the text (little-endian), then the text. Column
 * `sum` holds in its upper 32 bits the lower half of the XXH3 of the blobs (each with the one before as its
 * seed), and in its lower 32 bits that of the letter of the table, the scalars and the upper half: whoever
 * needs no blobs does not read them, and knows that the rest is whole.
 */
#ifndef DS_STORE_STORE_SUM_H
#define DS_STORE_STORE_SUM_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Binds the columns of a row, scalars, then blobs, in the order of its table, and adds them up; at last the
 * sum, whose place is between them. */
typedef struct ds_sum {
    sqlite3_stmt *q;
    int column; /* scalar that was bound last */
    int behind; /* blobs behind the sum */
    uint32_t blobs;
    size_t used;
    uint64_t hash;
    unsigned char room[512];
} ds_sum;

/* `table` is its letter. */
void ds_sum_begin(ds_sum *s, sqlite3_stmt *q, char table);
void ds_sum_whole(ds_sum *s, int64_t value);
void ds_sum_real(ds_sum *s, double value);     /* NULL where it is not finite */
void ds_sum_text(ds_sum *s, const char *text); /* which outlives the step; NULL is NULL */
void ds_sum_numbers(ds_sum *s, const double *numbers, uint64_t count); /* the same; a blob */
void ds_sum_end(ds_sum *s);

enum { DS_SUM_WHOLE = 0, DS_SUM_SCALARS = 1, DS_SUM_BLOBS = 2 /* is damaged */ };

/* Does a row that was read fit its sum? From column `first` on it holds `scalars` scalars, the sum, and
 * `blobs` blobs (0: they were not read, and are not looked at). */
int ds_sum_check(sqlite3_stmt *q, char table, int first, int scalars, int blobs);

#endif
