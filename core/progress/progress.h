/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - what a run knows about its evaluations so far: counts and the best point; and a thread that
 * shows the progress line four times a second and raises the stop flag when the time of the run is over.
 * The time counts from the first evaluation that is not answered from the record. */
#ifndef DS_RUN_PROGRESS_H
#define DS_RUN_PROGRESS_H

#include "base/answer.h"
#include "base/error.h"

#include <diffsim/env.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { DS_OUTCOMES = DS_EVAL_ERROR + 1 };

typedef struct ds_statistics {
    uint64_t n;
    uint64_t count;    /* evaluations answered */
    uint64_t replayed; /* of these, from the store */
    uint64_t outcome[DS_OUTCOMES];
    uint64_t failed;    /* no loss, though x described a simulation */
    uint64_t gradients; /* evaluations that were asked for a gradient */
    uint64_t cost_steps;
    double wall_s;    /* inside evaluations */
    double best_loss; /* +INFINITY = none yet */
    uint64_t best_id; /* 0 = none yet */
    double *best_x;   /* n values */
    /* Copies for the progress line, which another thread writes. */
    atomic_ullong shown_count, shown_failed, shown_replayed;
    _Atomic double shown_best;
} ds_statistics;

/* 0, or -1 without memory. */
int ds_statistics_open(ds_statistics *l, uint64_t n);
void ds_statistics_close(ds_statistics *l);

/* Enters evaluation count + 1. 1 = it is the best so far. */
int ds_statistics_add(ds_statistics *l, const double *x, const ds_answer *answer, uint32_t want,
                      int replayed);

typedef struct ds_progress ds_progress;

typedef struct ds_progress_config {
    const char *title; /* names the run; NULL = no line */
    uint64_t budget;
    double seconds; /* limit of the run; 0 = none */
    uint64_t
        recorded;     /* evaluations that are repeated first: until ds_progress_live() the clock stands still,
                        * unless there are none */
    atomic_int *stop; /* raised (DS_STOP_TIME) when the time is over */
} ds_progress_config;

/* The statistics and the flag must live until close. */
int ds_progress_open(const ds_statistics *statistics, const ds_progress_config *config, ds_progress **out,
                     ds_error *e);

/* The record is used up: starts the clock (NULL is fine). */
void ds_progress_live(ds_progress *p);

void ds_progress_close(ds_progress *p);

/* ---- pieces ---- */

/* one line of text for a given width: what matters least is said shorter or left out, and no
 * number is ever cut. */

/* A part of a line, with the separator that it needs. */
typedef struct ds_piece {
    char text[160];
    char brief[96]; /* said instead where `text` has no room; "" = nothing */
    int weight;     /* the smallest is shortened first, and then left out */
} ds_piece;

/* Columns that a UTF-8 text takes, one for each letter. */
size_t ds_text_columns(const char *text);

/* Writes the pieces in their order, as many as fit into `width` columns and `room` bytes. */
void ds_pieces_line(char *out, size_t room, size_t width, const ds_piece *piece, size_t count);

/* ---- runs_table ---- */

/* what several runs came to, as a table on stderr. */

/* The runs of one optimizer on one environment. */
typedef struct ds_runs_row {
    const char *env, *opt;
    double *loss;         /* best losses of the runs that ended well, +INFINITY = none; gets sorted */
    size_t done, planned; /* `done` losses */
    size_t failed;
    double wall_s; /* of all of them */
} ds_runs_row;

/* Rows with equal environments stand together; within them they get sorted by their median. Then says how to
 * see more of the folder. */
void ds_runs_table(ds_runs_row *row, size_t rows, const char *folder);

#endif
