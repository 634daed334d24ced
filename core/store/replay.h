/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - answers an optimizer that is started again from the record of its run, while it sends the same
 * requests. */
#ifndef DS_STORE_REPLAY_H
#define DS_STORE_REPLAY_H

#include "store/store.h"

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
