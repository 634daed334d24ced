/* SPDX-License-Identifier: Apache-2.0 */
/* store_internal.h - what the files of the store share: the open file, its tables, and how damage is told. */
#ifndef DS_STORE_STORE_INTERNAL_H
#define DS_STORE_STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* The tables; those before DS_STORE_TOTALS are there from the beginning, or never, and their rows are
 * counted. */
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

/* A row is read as its scalars, its sum, its blobs. */
typedef struct ds_store_table {
    const char *name;
    char letter; /* in its sums */
    int scalars, blobs;
    const char *columns; /* "id, ..., sum, x, grad" */
    const char *order;   /* of its rows */
    const char *create;
} ds_store_table;
extern const ds_store_table ds_store_table_of[DS_STORE_TABLES];

/* eval.parts: the other tables with a row of that id. */
enum { DS_PART_EXTRA = 1, DS_PART_EPISODE = 2, DS_PART_PROGRESS = 4 };

struct ds_store {
    sqlite3 *db;
    sqlite3_stmt *insert[DS_STORE_TABLES]; /* made with the first such row */
    char *path;                            /* as the caller wrote it */
    int folder;                            /* see ds_store_short_path(); -1 = none */
    uint64_t n;
    int writable;
    int format;
    int alone; /* nobody else can have it open: no shared index of the log is needed */
    uint64_t rows[DS_STORE_TOTALS], committed[DS_STORE_TOTALS]; /* format 2 */
    int has[DS_STORE_TOTALS];                                   /* the table is there */
    int place;                                                  /* of the file: O_PATH; -1 = not known */
    int full;                                                   /* see ds_store_is_full() */
    int has_log;                                                /* a write-ahead log, in a file */
    int log_pages;                                              /* in the log, at the last commit */
    int note;                                                   /* see ds_store_note(); -1 = none is open */
    int64_t size;                                               /* of the file, the largest so far */
};

/* Turns the last failure of SQLite into one line: what was done to which file, and why it failed. */
int ds_store_fail(ds_store *s, ds_error *e, const char *doing);

int ds_store_execute(ds_store *s, const char *sql, const char *doing, ds_error *e);

/* Begins a statement that reads. */
int ds_store_select(ds_store *s, const char *sql, sqlite3_stmt **q, ds_error *e);

/* Ends it; `step` is the last answer of sqlite3_step(), rc what came out of the rows: returned
 * unless the step has failed. */
int ds_store_end(ds_store *s, sqlite3_stmt *q, int step, int rc, ds_error *e);

/* Runs a statement that gives one integer, or one real. */
int ds_store_query(ds_store *s, const char *sql, int64_t *whole, double *real, ds_error *e);

/* store_long_path.c: a short name, to be freed, by which SQLite opens a path that is too long for it, below
 * the descriptor *folder, which stays open as long as the store; *layer is the file layer that takes the
 * name. NULL and -1 where the path is short enough. */
char *ds_store_short_path(const char *path, int *folder, const char **layer);

/* store_present.c: from now on ds_store_present() knows the file. */
void ds_store_remember_place(ds_store *s);

/* store_note.c: how many evaluations are committed, in a file of its own ("run.sqlite-rows") as long as
 * somebody writes. The log of SQLite ends, without a word, where its first damaged page is; this tells how
 * far it went. It is written behind a commit, so that it is never ahead of what a killed process has left. */
void ds_store_note(ds_store *s);
/* The writer has closed the store: the file itself is whole now. */
void ds_store_note_end(ds_store *s);
/* What is noted for a path; 0 = nothing. Asked before a reader's view of the store begins, as another
 * process may write. *damaged: there is a note, and it cannot be read. */
uint64_t ds_store_noted(const char *path, int *damaged);
/* Warns where fewer evaluations are there than were noted. */
void ds_store_note_compare(const ds_store *s, uint64_t noted, int damaged);

/* The statement that makes a table, in a store of that format; NULL where it has none. */
const char *ds_store_create_text(int table, int format);

/* Is there such a table? */
int ds_store_has_table(ds_store *s, const char *name, int *has, ds_error *e);

/* A statement that inserts into a table, kept until the store is closed; the table is made where it is not
 * there. */
int ds_store_inserting(ds_store *s, int table, sqlite3_stmt **out, ds_error *e);
/* Its step, behind ds_sum_end(); counts the row. */
int ds_store_inserted(ds_store *s, int table, sqlite3_stmt *q, ds_error *e);

/* What is read between the two is one state of the store, whatever another process writes meanwhile. Within a
 * group, or another such view, they do nothing; *own remembers that. */
void ds_store_view(ds_store *s, int *own);
void ds_store_view_end(ds_store *s, int own);

/* A step of a group has failed: nothing of it is kept. Returns rc. */
int ds_store_rollback(ds_store *s, int rc);

/* Is the store, with what lies beside it, a file that may be changed (base/file.h)? 0, or DS_EXIT_IO. */
int ds_store_check_files(const char *path, ds_error *e);
/* Makes room for a new store: removes what is there, with what lies beside it, or only the latter. */
int ds_store_clear_place(const char *path, ds_error *e);
int ds_store_clear_beside(const char *path, ds_error *e);
/* Connects to a file that is made, without tables. */
int ds_store_connect_new(const char *path, ds_store **out, ds_error *e);

/* Opens the file and looks at nothing but its kind: for what repairs it. */
int ds_store_open_raw(const char *path, int mode, ds_store **out, ds_error *e);
void ds_store_discard(ds_store *s);

/* store_check.c. A reader has found damage, `what`: looks at all tables, and fails with a line that names the
 * rows. DS_EXIT_IO, or DS_EXIT_MEMORY. */
int ds_store_damaged(ds_store *s, ds_error *e, const char *what, ...) __attribute__((format(printf, 3, 4)));

/* What is always looked at: the schema, the counts, meta, setting and variable. Fills s->rows and s->has. */
int ds_store_check_head(ds_store *s, ds_error *e);

/* Refuses a file whose schema has anything but our tables, of plain columns: nothing of its text is carried
 * out. */
int ds_store_check_objects(ds_store *s, ds_error *e);

/* All that ds_store_damaged() and ds_store_verify() know of a store. */
typedef struct ds_store_damage {
    uint64_t rows;        /* that are damaged or missing */
    int head;             /* meta, setting, variable, total or the schema is among them */
    uint64_t first;       /* evaluation with damage; UINT64_MAX = none */
    uint64_t evaluations; /* that were read */
    char text[620];       /* "eval 3, 17..20: ..." */
} ds_store_damage;
int ds_store_examine(ds_store *s, ds_store_damage *d, ds_error *e);

/* ---- store_sum ---- */

/* the checksum of a row of a store: of its table, its key and every column.
 *
 * The scalars of a row are written one behind the other: a letter for the type ('n' NULL, 'i' integer, 'r'
 * real, 't' text), then 8 bytes, the number or the length of the text (little-endian), then the text. Column
 * `sum` holds in its upper 32 bits the lower half of the XXH3 of the blobs (each with the one before as its
 * seed), and in its lower 32 bits that of the letter of the table, the scalars and the upper half: whoever
 * needs no blobs does not read them, and knows that the rest is whole. */

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
