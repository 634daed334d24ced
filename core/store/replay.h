/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - answers an optimizer that is run again from the record of its run, as long as it
 * asks the same. */
#ifndef DS_STORE_REPLAY_H
#define DS_STORE_REPLAY_H

#include "store/store.h"

typedef struct ds_replay ds_replay;

/* Starts at evaluation 1 of a store. `width` holds upper - lower of each variable; NULL = a survey, which
 * asks for the recorded points to the last bit. */
int ds_replay_open(ds_store *store, const double *width, ds_replay **out, ds_error *e);
void ds_replay_close(ds_replay *r);

/* Evaluations that are left. */
uint64_t ds_replay_left(const ds_replay *r);

/* The record of the next evaluation, for the point x that is asked for now. A point that differs by less than
 * 1e-9 relative is answered all the same, with one warning: another processor may round differently. More, or
 * another kind of question, is an error (DS_EXIT_PLUGIN): nothing is changed. */
int ds_replay_next(ds_replay *r, const double *x, uint32_t want, ds_row *row, ds_error *e);

/* The next record without a question: of an episode, whose actions come one by one. */
int ds_replay_take(ds_replay *r, ds_row *row, ds_error *e);

/* Compares `count` variables of evaluation `id`, from number `first` on, with the record (stored holds all of
 * them), by the rule above. *warned is set with the one warning. */
int ds_replay_compare(const char *path, const double *width, uint64_t id, uint64_t first, uint64_t count,
                      const double *x, const double *stored, int *warned, ds_error *e);

/* The same for what an extension has added to that row: kind, number of answers, and what came with x. */
int ds_replay_compare_extra(const ds_replay *r, const ds_row *row, const ds_extra *now, ds_error *e);

#endif
