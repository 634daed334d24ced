/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - statistics of a run so far (counts, the best point), and a thread that shows the progress line
 * four times a second and raises the stop flag when the time of the run is over. The time counts from the
 * first evaluation that the record does not answer. Also: the table of several runs. */
#ifndef DS_PROGRESS_PROGRESS_H
#define DS_PROGRESS_PROGRESS_H

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
    uint64_t replayed; /* of them from the store */
    uint64_t outcome[DS_OUTCOMES];
    uint64_t failed;    /* no loss, although x described a simulation */
    uint64_t gradients; /* evaluations with a requested gradient */
    uint64_t cost_steps;
    double wall_s;    /* inside evaluations */
    double best_loss; /* +INFINITY = none yet */
    uint64_t best_id; /* 0 = none yet */
    double *best_x;   /* n values */
    /* Copies for the thread of the progress line. */
    atomic_ullong shown_count, shown_failed, shown_replayed;
    _Atomic double shown_best;
} ds_statistics;

/* 0, or -1 without memory. */
int ds_statistics_open(ds_statistics *l, uint64_t n);
void ds_statistics_close(ds_statistics *l);

/* Enters evaluation count + 1. Returns 1 where it is the best so far. */
int ds_statistics_add(ds_statistics *l, const double *x, const ds_answer *answer, uint32_t want,
                      int replayed);

typedef struct ds_progress ds_progress;

typedef struct ds_progress_config {
    const char *title; /* names the run; NULL = no line */
    uint64_t budget;
    double seconds; /* limit of the run; 0 = none */
    uint64_t
        /* evaluations to replay: the clock starts at ds_progress_live(), or at once where there are none */
        recorded;
    atomic_int *stop; /* raised (DS_STOP_TIME) when the time is over */
} ds_progress_config;

/* The statistics and the flag must live until close. */
int ds_progress_open(const ds_statistics *statistics, const ds_progress_config *config, ds_progress **out,
                     ds_error *e);

/* The replay is over: starts the clock (NULL is allowed). */
void ds_progress_live(ds_progress *p);

void ds_progress_close(ds_progress *p);

/* ---- lines for a given width ---- */

/* A line is made of pieces. The least important ones are shortened or dropped first, and no number is cut. */

/* A part of a line, with its separator. */
typedef struct ds_piece {
    char text[160];
    char brief[96]; /* shorter form; "" = none */
    int weight;     /* the smallest is shortened, then dropped, first */
} ds_piece;

/* Columns of a UTF-8 text, one per letter. */
size_t ds_text_columns(const char *text);

/* Writes the pieces in order, as many as fit into `width` columns and `room` bytes. */
void ds_pieces_line(char *out, size_t room, size_t width, const ds_piece *piece, size_t count);

/* ---- the table of several runs, on stderr ---- */

/* The runs of one optimizer on one environment. */
typedef struct ds_runs_row {
    const char *env, *opt;
    double *loss;         /* best losses of the runs that ended well, +INFINITY = none; will be sorted */
    size_t done, planned; /* `done` losses */
    size_t failed;
    double wall_s; /* of all runs */
} ds_runs_row;

/* Rows with equal environments stay together; within them they are sorted by median. Ends with the command
 * that shows more of the folder. */
void ds_runs_table(ds_runs_row *row, size_t rows, const char *folder);

#endif
