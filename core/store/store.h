/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the record of a run: one SQLite file with a row per evaluation, the settings, and what the run
 * is.
 *
 *   meta(key, value)               format facts: n, plan, plugin versions, reason of the last end, ...
 *   setting(section, key, value)   the effective settings of [run], [env] and [opt]
 *   eval(id, loss, ..., x, grad)   id = 1, 2, 3 ... in the order in which the optimizer asked
 *   episode(id, key, steps, ended, obs, reward)   what an episode of stepwise control adds to its row
 *   extra(id, kind, asked, answered)   what an extension adds to some of them; `asked` came with x
 *   progress(id, names, value, x)   what the optimizer reported before it requested the row: scalars, and a
 *                                  recommended point
 *   variable(id, name, unit, grp, flags)   what the environment calls its variables 0, 1, 2, ...
 *   total(name, rows)              how many rows each of the tables has that are there from the beginning
 *
 * x and grad are blobs of n doubles in native (little-endian) order; loss is NULL where there is none. Every
 * column but `wall`, `at` and `sum` is the same for any number of jobs and threads and after any
 * interruption.
 *
 * Each row has a checksum in its column `sum` (store_internal.h), and eval.parts says which other tables have a
 * row of that id: whatever is read here is as it was written, or DS_EXIT_IO and a line that names the damaged
 * rows of all tables. A store of format 1, of a dshost before that, has no checksums: it is read, and goes
 * on, without.
 *
 * A ds_store is used by one thread at a time.
 */
#ifndef DS_STORE_STORE_H
#define DS_STORE_STORE_H

#include <stdint.h>

#include "base/answer.h"
#include "base/error.h"
#include "base/variables.h"
#include "config/settings.h"

enum {
    DS_STORE_FORMAT = 3,              /* the newest PRAGMA user_version; 1 and 2 are read, too */
    DS_STORE_FORMAT_PLAIN = 2,        /* that of a store without the table progress, which older hosts read */
    DS_STORE_APPLICATION = 0x4453524e /* PRAGMA application_id: "DSRN" */
};

/* What questions about channels add to an evaluation, see run/queries.h. */
typedef struct ds_extra {
    uint32_t kind; /* 0 = nothing */
    uint32_t reserved;
    const double *asked, *answered; /* may be NULL */
    uint64_t asked_count, answered_count;
    uint64_t head; /* of a question of now: so many numbers of `asked` have to be the recorded ones exactly */
} ds_extra;

/* What an episode of stepwise control adds: its noise key, how it ended (DS_STEPS_TERMINATED or _TRUNCATED; 0
 * where a dshost before 0.2 wrote it, which did not record that), (steps + 1) x n_obs observations and
 * `steps` rewards. Where it ended before its horizon the actions behind `steps` in the row's x were never
 * asked for: they are the start point's. */
typedef struct ds_row_episode {
    uint64_t key, steps, n_obs;
    const double *obs, *reward;
    uint32_t ended, reserved;
} ds_row_episode;

/* What the optimizer reported since the row before (diffsim/ext/draft/progress.h): `count` scalars, their
 * names one after the other with a blank between them, and a recommended point of all variables, or NULL. */
typedef struct ds_row_progress {
    uint64_t count;
    const char *names;
    const double *value, *x;
} ds_row_progress;

/* Copies the next name of ds_row_progress.names; returns where the rest begins, NULL where none is left. */
const char *ds_progress_name(const char *names, char name[DS_MAX_NAME + 1]);

/* One evaluation. Pointers belong to the caller, or to the cursor until its next step. */
typedef struct ds_row {
    uint64_t id;
    uint64_t n; /* values in x, and in grad */
    const double *x;
    const double *grad; /* NULL where none was asked for */
    ds_answer answer;
    uint64_t group;
    uint64_t noise; /* group of rows with the same noise; 0 = none. Part of `extra` in the record */
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

/* Opens an existing store, and refuses foreign and newer ones, and those whose settings and facts are
 * damaged, with one line (DS_EXIT_IO). */
int ds_store_open(const char *path, int mode, ds_store **out, ds_error *e);

/* Closes it (NULL is fine). Fails where the last bytes could not be written; everything is
 * freed in any case. */
int ds_store_close(ds_store *s, ds_error *e);

/* Reads every row of every table: DS_EXIT_IO, and a line that names the damaged ones, or 0. A reader need
 * not: what it reads is checked in any case. */
int ds_store_verify(ds_store *s, ds_error *e);

/* Makes a damaged store one that goes on: the evaluations before the first damaged one stay, and the file as
 * it was is kept beside it, under the name that *kept gets (to be freed; NULL = there was nothing to repair).
 * Fails, and leaves all as it is, where settings or facts are damaged. *rows: the evaluations that stay. The
 * folder is locked by the caller. */
int ds_store_repair(const char *path, char **kept, uint64_t *rows, ds_error *e);

uint64_t ds_store_n(const ds_store *s);
/* 1: a store without checksums; else 2 or more. */
int ds_store_format(const ds_store *s);
const char *ds_store_path(const ds_store *s);

/* Number of evaluations, after a test that the ids are 1, 2, ..., count. */
int ds_store_count(ds_store *s, uint64_t *count, ds_error *e);

/* The lowest loss recorded, +INFINITY where there is none. */
int ds_store_best(ds_store *s, double *best, ds_error *e);

/* meta: a value as text, NULL (out) where there is none; the caller frees it. */
int ds_store_get(ds_store *s, const char *key, char **value, ds_error *e);
int ds_store_set(ds_store *s, const char *key, const char *value, ds_error *e);

/* Adds a value of a section, or reads all of them into *out (layer 0, origin = the store). */
int ds_store_put_setting(ds_store *s, int section, const char *key, const char *value, ds_error *e);
int ds_store_get_settings(ds_store *s, ds_settings *out, ds_error *e);

/* What the environment calls its n variables (base/variables.h): written once, in a group of a new store;
 * *out is NULL and *count 0 where they have no names, else the caller frees *out. A landscape has as many
 * as its environment, which are more than ds_store_n(). */
int ds_store_put_variables(ds_store *s, const ds_named_variable *v, uint64_t n, ds_error *e);
int ds_store_get_variables(ds_store *s, ds_named_variable **out, uint64_t *count, ds_error *e);

/* A group of rows becomes visible as a whole at commit. After a failure nothing of the group is kept. */
int ds_store_begin(ds_store *s, ds_error *e);
int ds_store_insert(ds_store *s, const ds_row *row, ds_error *e);
int ds_store_commit(ds_store *s, ds_error *e);

/* Was the last failure one of room: of the disk, its quota, or the file size limit? */
int ds_store_is_full(const ds_store *s);

/* Is the file that is open still the one at its path, and no shorter than it was? DS_EXIT_IO and a line where
 * it was removed, moved, replaced or cut. Commit asks this, too. */
int ds_store_present(ds_store *s, ds_error *e);
/* Is another file at its path now, or none? Then what lies beside the path is not its own any more. */
int ds_store_displaced(const ds_store *s);

/* Reads rows from `first` on in order. next: 1 = *row is filled, 0 = end, -1 = failed. */
int ds_cursor_open(ds_store *s, uint64_t first, ds_cursor **out, ds_error *e);
int ds_cursor_next(ds_cursor *c, ds_row *row, ds_error *e);
void ds_cursor_close(ds_cursor *c);

/* Reads an episode into obs (room for (horizon + 1) x n_obs) and reward (horizon); *steps = 0 where the row
 * is none. *ended: see ds_row_episode. */
int ds_store_read_episode(ds_store *s, uint64_t id, uint64_t horizon, uint64_t n_obs, uint64_t *steps,
                          uint32_t *ended, double *obs, double *reward, ds_error *e);

/* Reads the point that the optimizer recommended last into x (n values). *has = 0 where there is none. */
int ds_store_recommended_point(ds_store *s, double *x, int *has, ds_error *e);

/* A pass over all reports of the optimizer, in the order of their evaluations. A visit that returns not 0
 * ends it, and is returned. */
typedef int ds_store_visit_progress(void *ctx, uint64_t id, const ds_row_progress *progress);
int ds_store_scan_progress(ds_store *s, ds_store_visit_progress *visit, void *ctx, ds_error *e);

/* A pass over all evaluations without their points: several times as fast as a cursor. A visit that returns
 * not 0 ends it, and is returned. */
typedef int ds_store_visit(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s);
int ds_store_scan(ds_store *s, ds_store_visit *visit, void *ctx, ds_error *e);

#endif
