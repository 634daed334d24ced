/* SPDX-License-Identifier: Apache-2.0 */
/* store_internal.h - shared by the files of the store: the open file, its tables, checksums, and reports of
 * damage. */
#ifndef DS_STORE_STORE_INTERNAL_H
#define DS_STORE_STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* The tables. Those before DS_STORE_TOTALS exist from the beginning or never, and their rows are counted. */
enum {
    DS_STORE_META = 0,
    DS_STORE_SETTING,
    DS_STORE_VARIABLE,
    DS_STORE_EVAL,
    DS_STORE_TOTALS, /* number of counted tables */
    DS_STORE_EXTRA = DS_STORE_TOTALS,
    DS_STORE_EPISODE,
    DS_STORE_PROGRESS,
    DS_STORE_TOTAL,
    DS_STORE_TABLES
};

/* Columns are read in the order scalars, sum, blobs. */
typedef struct ds_store_table {
    const char *name;
    char letter; /* in its sums */
    int scalars, blobs;
    const char *columns; /* "id, ..., sum, x, grad" */
    const char *order;   /* of its rows */
    const char *create;
} ds_store_table;
extern const ds_store_table ds_store_table_of[DS_STORE_TABLES];

/* eval.parts: other tables with a row of that id. */
enum { DS_PART_EXTRA = 1, DS_PART_EPISODE = 2, DS_PART_PROGRESS = 4 };

struct ds_store {
    sqlite3 *db;
    sqlite3_stmt *insert[DS_STORE_TABLES]; /* prepared with the first row of the table */
    char *path;                            /* as the caller wrote it */
    int folder;                            /* see ds_store_short_path(); -1 = none */
    uint64_t n;
    int writable;
    int format;
    int alone; /* no other connection has it open: the log needs no shared index */
    uint64_t rows[DS_STORE_TOTALS], committed[DS_STORE_TOTALS]; /* format 2 */
    int has[DS_STORE_TOTALS];                                   /* the table is there */
    int place;                                                  /* of the file: O_PATH; -1 = not known */
    int from;                                                   /* where `path` begins: O_PATH */
    int full;                                                   /* see ds_store_is_full() */
    int has_log;                                                /* a write-ahead log, in a file */
    int log_pages;                                              /* in the log, at the last commit */
    int note;                                                   /* see ds_store_note(); -1 = none is open */
    int64_t size;                                               /* of the file, the largest so far */
};

/* Turns the last failure of SQLite into one line: the file, what was done, and why it failed. */
int ds_store_fail(ds_store *s, ds_error *e, const char *doing);

int ds_store_execute(ds_store *s, const char *sql, const char *doing, ds_error *e);

/* Prepares a statement that reads. */
int ds_store_select(ds_store *s, const char *sql, sqlite3_stmt **q, ds_error *e);

/* Finalizes a statement; `step` is the last result of sqlite3_step(). Returns rc where it is not 0, else the
 * failure of the step. */
int ds_store_end(ds_store *s, sqlite3_stmt *q, int step, int rc, ds_error *e);

/* Runs a statement that returns one integer, or one real. */
int ds_store_query(ds_store *s, const char *sql, int64_t *whole, double *real, ds_error *e);

/* A short name (to be freed) by which SQLite opens a path that is too long for it, below the descriptor
 * *folder, which stays open with the store; *layer is the file layer that takes the name. NULL and -1 where
 * the path is short enough. */
char *ds_store_short_path(const char *path, int *folder, const char **layer);

/* Registers the file for ds_store_present(). */
void ds_store_remember_place(ds_store *s);

/* Writes the number of committed evaluations into "run.sqlite-rows", which exists while a writer has the
 * store open. SQLite ignores its log from the first damaged page on, without a message; this number shows how
 * far the log went. It is written after a commit, so it is never ahead of what a killed process leaves. */
void ds_store_note(ds_store *s);
/* The writer has closed the store: the file itself is complete. */
void ds_store_note_end(ds_store *s);
/* The number noted for a path; 0 = none. Read it before a reader's view of the store begins, because another
 * process may write. *damaged: the note exists and cannot be read. */
uint64_t ds_store_noted(const char *path, int *damaged);
/* Warns where the note has more evaluations than the store. */
void ds_store_note_compare(const ds_store *s, uint64_t noted, int damaged);

/* The statement that makes a table in a store of that format; NULL where the format lacks the table. */
const char *ds_store_create_text(int table, int format);

/* Is there such a table? */
int ds_store_has_table(ds_store *s, const char *name, int *has, ds_error *e);

/* A statement that inserts into a table, kept until the store is closed. Makes the table where it is missing.
 */
int ds_store_inserting(ds_store *s, int table, sqlite3_stmt **out, ds_error *e);
/* Runs the statement after ds_sum_end(), and counts the row. */
int ds_store_inserted(ds_store *s, int table, sqlite3_stmt *q, ds_error *e);

/* Reads between the two see one state of the store, whatever another process writes meanwhile. Inside a group
 * or another view they do nothing; *own remembers which. */
void ds_store_view(ds_store *s, int *own);
void ds_store_view_end(ds_store *s, int own);

/* Drops the group after a failed step. Returns rc. */
int ds_store_rollback(ds_store *s, int rc);

/* May the store and the files next to it be changed (base/file.h)? Returns 0 or DS_EXIT_IO. */
int ds_store_check_files(const char *path, ds_error *e);
/* Make room for a new store: the first also removes the store, the second only the files next to it. */
int ds_store_clear_place(const char *path, ds_error *e);
int ds_store_clear_beside(const char *path, ds_error *e);
/* Creates a file without tables and connects to it. */
int ds_store_connect_new(const char *path, ds_store **out, ds_error *e);

/* For repairs: opens the file and checks only its kind. */
int ds_store_open_raw(const char *path, int mode, ds_store **out, ds_error *e);
void ds_store_discard(ds_store *s);

/* A reader has found damage, `what`: examines all tables and fails with a line that names the damaged rows.
 * Returns DS_EXIT_IO or DS_EXIT_MEMORY. */
int ds_store_damaged(ds_store *s, ds_error *e, const char *what, ...) __attribute__((format(printf, 3, 4)));

/* Checks at every opening: the schema, the counts, meta, setting and variable. Fills s->rows and s->has. */
int ds_store_check_head(ds_store *s, ds_error *e);

/* Refuses a file whose schema has anything except our tables with plain columns: none of its text may run. */
int ds_store_check_objects(ds_store *s, ds_error *e);

/* The damage that ds_store_damaged() and ds_store_verify() report. */
typedef struct ds_store_damage {
    uint64_t rows;        /* damaged or missing */
    int head;             /* meta, setting, variable, total or the schema is among them */
    uint64_t first;       /* evaluation with damage; UINT64_MAX = none */
    uint64_t evaluations; /* rows that could be read */
    char text[620];       /* "eval 3, 17..20: ..." */
} ds_store_damage;
int ds_store_examine(ds_store *s, ds_store_damage *d, ds_error *e);

/* ---- checksums ---- */

/* The checksum of a row covers its table, its key and every column.
 *
 * The scalars of a row are written one after the other: a letter for the type ('n' NULL, 'i' integer, 'r'
 * real, 't' text), then 8 bytes, the number or the length of the text (little-endian), then the text. Column
 * `sum` holds in its upper 32 bits the lower half of the XXH3 of the blobs (each seeded with the one before),
 * and in its lower 32 bits that of the letter of the table, the scalars and the upper half: a reader that
 * needs no blobs skips them and still knows that the rest is whole. */

/* Binds the columns of a row in the order of its table (scalars, then blobs) and hashes them; at the end it
 * binds the sum between them. */
typedef struct ds_sum {
    sqlite3_stmt *q;
    int column; /* last scalar that was bound */
    int behind; /* blobs bound after the sum */
    uint32_t blobs;
    size_t used;
    uint64_t hash;
    unsigned char room[512];
} ds_sum;

/* `table` is its letter. */
void ds_sum_begin(ds_sum *s, sqlite3_stmt *q, char table);
void ds_sum_whole(ds_sum *s, int64_t value);
void ds_sum_real(ds_sum *s, double value);     /* NULL where it is not finite */
void ds_sum_text(ds_sum *s, const char *text); /* must live until the step; NULL = SQL NULL */
void ds_sum_numbers(ds_sum *s, const double *numbers, uint64_t count); /* a blob, with the same rule */
void ds_sum_end(ds_sum *s);

enum { DS_SUM_WHOLE = 0, DS_SUM_SCALARS = 1, DS_SUM_BLOBS = 2 /* what is damaged */ };

/* Does a row match its sum? From column `first` on it holds `scalars` scalars, the sum, and `blobs` blobs (0:
 * blobs were not read and are not checked). */
int ds_sum_check(sqlite3_stmt *q, char table, int first, int scalars, int blobs);

#endif
