/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.h - writes the evaluations of a run to its store from a thread of its own, so that disks never
 * hold up the search. Rows are committed in groups, at most 50 ms after they were handed over. */
#ifndef DS_STORE_RECORDER_H
#define DS_STORE_RECORDER_H

#include "store/store.h"

typedef struct ds_recorder ds_recorder;

/* Starts the thread; from now on it alone uses the store, until close. An extension may add at
 * most `extra` numbers to a row. */
int ds_recorder_open(ds_store *store, uint64_t extra, ds_recorder **out, ds_error *e);

/* Hands over a row (copied, but for row->episode and row->progress: each one block from malloc(), taken
 * over). Waits while the queue is full. `urgent` rows are committed at once. Fails, with the reason of the
 * writer, once a group could not be written. One calling thread. */
int ds_recorder_append(ds_recorder *r, const ds_row *row, int urgent, ds_error *e);

/* Waits until everything handed over is committed. */
int ds_recorder_drain(ds_recorder *r, ds_error *e);

/* ds_crash_watch() whose handler first commits what `recorder` (NULL is fine) holds. */
void ds_recorder_watch_crash(const char *text, ds_recorder *recorder);

/* Drains, ends the thread and frees it (NULL is fine). The store stays open. */
int ds_recorder_close(ds_recorder *r, ds_error *e);

#endif
