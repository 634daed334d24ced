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

#endif
