/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the record of a run: one SQLite file with a row per evaluation, and the settings and facts of the
 * run.
 *
 *   meta(key, value)               facts: n, plan, plugin versions, reason of the last end, ...
 *   setting(section, key, value)   the effective settings of [run], [env] and [opt]
 *   eval(id, loss, ..., x, grad)   id = 1, 2, 3 ... in the order of the requests of the optimizer
 *   episode(id, key, steps, ended, obs, reward)   stepwise control: what an episode adds to its row
 *   extra(id, kind, asked, answered)   queries about channels: input that came with x, and values
 *   progress(id, names, value, x)   what the optimizer reported before it requested the row: scalars, and a
 *                                  recommended point
 *   variable(id, name, unit, grp, flags)   names of the variables 0, 1, 2, ...
 *   total(name, rows)              number of rows of each table that exists from the beginning
 *
 * x and grad are blobs of n doubles in native (little-endian) order; loss is NULL where there is none. Every
 * column except `wall`, `at` and `sum` is the same for any number of jobs and threads and after any
 * interruption.
 *
 * Each row has a checksum in its column `sum` (store_internal.h), and eval.parts lists the other tables with
 * a row of that id: a reader gets what was written, or DS_EXIT_IO and a line that names the damaged rows of
 * all tables. A store of format 1 has no checksums; it is read and continued without them.
 *
 * One thread at a time uses a ds_store. */
#ifndef DS_STORE_STORE_H
#define DS_STORE_STORE_H

#include <stdint.h>

#include "base/answer.h"
#include "base/error.h"
#include "base/variables.h"
#include "config/settings.h"

enum {
    DS_STORE_FORMAT = 3,              /* newest PRAGMA user_version; 1 and 2 are read as well */
    DS_STORE_FORMAT_PLAIN = 2,        /* without the table progress: older hosts can read it */
    DS_STORE_APPLICATION = 0x4453524e /* PRAGMA application_id: "DSRN" */
};

/* What queries about channels add to an evaluation, see run/queries.h. */
typedef struct ds_extra {
    uint32_t kind; /* 0 = nothing */
    uint32_t reserved;
    const double *asked, *answered; /* may be NULL */
    uint64_t asked_count, answered_count;
    uint64_t head; /* in a request: the first `head` numbers of `asked` must equal the record exactly */
} ds_extra;

/* What an episode of stepwise control adds: its noise key, how it ended (DS_STEPS_TERMINATED or _TRUNCATED; 0
 * in records of dshost before 0.2), (steps + 1) x n_obs observations and `steps` rewards. Where it ended
 * before its horizon, the actions after `steps` in the row's x were never requested: they are copied from the
 * start point. */
typedef struct ds_row_episode {
    uint64_t key, steps, n_obs;
    const double *obs, *reward;
    uint32_t ended, reserved;
} ds_row_episode;

/* What the optimizer reported since the row before (diffsim/ext/draft/progress.h): `count` scalars, their
 * names separated by blanks, and a recommended point of all variables, or NULL. */
typedef struct ds_row_progress {
    uint64_t count;
    const char *names;
    const double *value, *x;
} ds_row_progress;

/* Copies the next name of ds_row_progress.names. Returns the start of the rest, NULL where no name is left.
 */
const char *ds_progress_name(const char *names, char name[DS_MAX_NAME + 1]);

/* One evaluation. The caller owns the pointers of rows that it writes; those of a cursor are valid until its
 * next step. */
typedef struct ds_row {
    uint64_t id;
    uint64_t n; /* values in x, and in grad */
    const double *x;
    const double *grad; /* NULL where no gradient was requested */
    ds_answer answer;
    uint64_t group;
    uint64_t noise; /* group of rows with the same noise; 0 = none. Recorded as part of `extra` */
    double at;      /* seconds since 1970 */
    char tag[DS_MAX_TAG + 1];
    ds_row_episode *episode;   /* of stepwise control, else NULL */
    ds_row_progress *progress; /* NULL = nothing was reported */
    ds_extra extra;
} ds_row;

typedef struct ds_store ds_store;
typedef struct ds_cursor ds_cursor;

enum { DS_STORE_READ = 0, DS_STORE_WRITE = 1 };

/* Makes a new store; fails where the file exists. `vfs` names an SQLite file layer, NULL = the default. */
int ds_store_create(const char *path, const char *vfs, uint64_t n, ds_store **out, ds_error *e);

/* Opens an existing store. Refuses other files, newer formats, and stores with damaged settings or facts,
 * with one line (DS_EXIT_IO). */
int ds_store_open(const char *path, int mode, ds_store **out, ds_error *e);

/* Closes the store (NULL is allowed) and frees everything. Fails where the last bytes could not be written.
 */
int ds_store_close(ds_store *s, ds_error *e);

/* Reads every row of every table. Returns 0, or DS_EXIT_IO with a line that names the damaged rows. Readers
 * need not call this: every read is checked. */
int ds_store_verify(ds_store *s, ds_error *e);

/* Repairs a damaged store: keeps the evaluations before the first damaged one, and moves the damaged file
 * aside to the name in *kept (to be freed; NULL = nothing to repair). *rows: evaluations kept. Fails without
 * a change where settings or facts are damaged. The caller holds the lock of the folder. */
int ds_store_repair(const char *path, char **kept, uint64_t *rows, ds_error *e);

uint64_t ds_store_n(const ds_store *s);
/* 1: a store without checksums; else 2 or more. */
int ds_store_format(const ds_store *s);
const char *ds_store_path(const ds_store *s);

/* Number of evaluations, after a check that the ids are 1, 2, ..., count. */
int ds_store_count(ds_store *s, uint64_t *count, ds_error *e);

/* The lowest loss recorded, +INFINITY where there is none. */
int ds_store_best(ds_store *s, double *best, ds_error *e);

/* Reads a value of meta; *value is NULL where it is missing, else the caller frees it. */
int ds_store_get(ds_store *s, const char *key, char **value, ds_error *e);
int ds_store_set(ds_store *s, const char *key, const char *value, ds_error *e);

/* Adds a setting of a section, or reads all settings into *out (layer 0, origin = the store). */
int ds_store_put_setting(ds_store *s, int section, const char *key, const char *value, ds_error *e);
int ds_store_get_settings(ds_store *s, ds_settings *out, ds_error *e);

/* Names of the n variables (base/variables.h), written once, in a group of a new store. *out is NULL and
 * *count 0 without names, else the caller frees *out. A landscape stores the names of its environment, which
 * has more variables than ds_store_n(). */
int ds_store_put_variables(ds_store *s, const ds_named_variable *v, uint64_t n, ds_error *e);
int ds_store_get_variables(ds_store *s, ds_named_variable **out, uint64_t *count, ds_error *e);

/* A group of rows becomes visible as a whole at commit. A failure drops the whole group. */
int ds_store_begin(ds_store *s, ds_error *e);
int ds_store_insert(ds_store *s, const ds_row *row, ds_error *e);
int ds_store_commit(ds_store *s, ds_error *e);

/* Did the last failure come from lack of room: on the disk, in the quota, or below the file size limit? */
int ds_store_is_full(const ds_store *s);

/* Is the open file still the one at its path, and not shorter than before? Returns DS_EXIT_IO with one line
 * where it was removed, moved, replaced or cut. Commit checks this as well. */
int ds_store_present(ds_store *s, ds_error *e);
/* Is the path missing, or another file now? Then the files next to the path belong to something else. */
int ds_store_displaced(const ds_store *s);

/* Reads rows from `first` on in order. next: 1 = *row is filled, 0 = end, -1 = failed. */
int ds_cursor_open(ds_store *s, uint64_t first, ds_cursor **out, ds_error *e);
int ds_cursor_next(ds_cursor *c, ds_row *row, ds_error *e);
void ds_cursor_close(ds_cursor *c);

/* Reads an episode into obs (room for (horizon + 1) x n_obs) and reward (horizon). *steps = 0 where the row
 * is not an episode. *ended: see ds_row_episode. */
int ds_store_read_episode(ds_store *s, uint64_t id, uint64_t horizon, uint64_t n_obs, uint64_t *steps,
                          uint32_t *ended, double *obs, double *reward, ds_error *e);

/* Reads the last point that the optimizer recommended into x (n values). *has = 0 where there is none. */
int ds_store_recommended_point(ds_store *s, double *x, int *has, ds_error *e);

/* Visits all reports of the optimizer in the order of their evaluations. A nonzero result of a visit ends the
 * pass and is returned. */
typedef int ds_store_visit_progress(void *ctx, uint64_t id, const ds_row_progress *progress);
int ds_store_scan_progress(ds_store *s, ds_store_visit_progress *visit, void *ctx, ds_error *e);

/* Visits all evaluations without their points, several times as fast as a cursor. A nonzero result of a visit
 * ends the pass and is returned. */
typedef int ds_store_visit(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s);
int ds_store_scan(ds_store *s, ds_store_visit *visit, void *ctx, ds_error *e);

#endif
