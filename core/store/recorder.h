/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.h - writes the evaluations of a run to its store from a separate thread, so that the search never
 * waits for the disk. Rows are committed in groups, at most 50 ms after they were handed over. */
#ifndef DS_STORE_RECORDER_H
#define DS_STORE_RECORDER_H

#include "store/store.h"

typedef struct ds_recorder ds_recorder;

/* Starts the thread, which owns the store until close. An extension adds at most `extra` numbers to a row. */
int ds_recorder_open(ds_store *store, uint64_t extra, ds_recorder **out, ds_error *e);

/* Hands over a row. The row is copied, except row->episode and row->progress: the recorder takes over these
 * blocks, each from malloc(). Waits while the queue is full; commits `urgent` rows at once. Fails with the
 * writer's error once a group could not be written. Call from one thread. */
int ds_recorder_append(ds_recorder *r, const ds_row *row, int urgent, ds_error *e);

/* Waits until everything handed over is committed. */
int ds_recorder_drain(ds_recorder *r, ds_error *e);

/* Like ds_crash_watch(), but the handler first commits the rows in `recorder` (may be NULL). */
void ds_recorder_watch_crash(const char *text, ds_recorder *recorder);

/* Drains, ends the thread and frees it (NULL is allowed). The store stays open. */
int ds_recorder_close(ds_recorder *r, ds_error *e);

/* ---- replay ---- */

/* Answers an optimizer that is started again from the record of its run, while it sends the same
 * requests. */

typedef struct ds_replay ds_replay;

/* Starts at evaluation 1 of a store. `width` holds upper - lower of each variable; NULL = a survey, whose
 * points must match the record bit for bit. */
int ds_replay_open(ds_store *store, const double *width, ds_replay **out, ds_error *e);
void ds_replay_close(ds_replay *r);

/* Evaluations not replayed yet. */
uint64_t ds_replay_left(const ds_replay *r);

/* Reads the record of the next evaluation, which must match the point x and `want` of the request. A point
 * within 1e-9 (relative) is answered with one warning, because another processor may round differently. A
 * larger difference, or another kind of request, returns DS_EXIT_PLUGIN and changes nothing. */
int ds_replay_next(ds_replay *r, const double *x, uint32_t want, ds_row *row, ds_error *e);

/* Reads the next record without a comparison: episodes send their actions one by one. */
int ds_replay_take(ds_replay *r, ds_row *row, ds_error *e);

/* Compares variables first .. first+count-1 of evaluation `id` with the record (stored holds all variables)
 * by the same rule. Sets *warned with the one warning. */
int ds_replay_compare(const char *path, const double *width, uint64_t id, uint64_t first, uint64_t count,
                      const double *x, const double *stored, int *warned, ds_error *e);

/* Compares the queries of that row: kind, number of answers, and input. */
int ds_replay_compare_extra(const ds_replay *r, const ds_row *row, const ds_extra *now, ds_error *e);

#endif
