/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - answers the questions of a run, row by row: first from its record, then fresh ones, which it
 * records. It keeps the statistics, writes a file for each failure, and knows when the run ends.
 *
 * Its clients are the optimizer's ways to ask (evaluations, residuals, episodes) and the
 * survey of a landscape. Rows are answered and recorded in order, so that the record does not
 * depend on the number of jobs.
 */
#ifndef DS_RUN_JOURNAL_H
#define DS_RUN_JOURNAL_H

#include "evaluate/pool.h"
#include "progress/progress.h"
#include "run/queries.h"
#include "store/optimizer_output.h"
#include "store/recorder.h"
#include "store/replay.h"
#include "store/run_folder.h"

/* Who wants to see how a run goes on, the pictures for example, is told this. */
typedef struct ds_observed {
    const char *folder;
    const ds_run_options *options;
    uint64_t evaluations;
    uint64_t best_id;    /* evaluation with the lowest loss; 0 = none yet */
    double evaluation_s; /* of all evaluations together */
    int interrupted;     /* by a signal: its user waits */
    uint64_t budget;
    const ds_statistics *statistics;
} ds_observed;

enum {
    DS_RUN_BEGINS, /* the search does; a record may be repeated first */
    DS_RUN_STEP,   /* evaluations were handed to the record */
    DS_RUN_ENDED   /* summary and record are complete; not told where this start has changed nothing */
};

/* see() is called by the thread of the run, which waits for it: a step must be cheap. */
typedef struct ds_observer {
    void *ctx;
    void (*see)(void *ctx, int event, const ds_observed *run);
    /* Nonzero ends the run; NULL = ds_stop_flag. A run with a flag of its own is part of another program:
     * it has no handlers of signals and no progress line, and never ends the process. */
    atomic_int *stop;
} ds_observer;

/* Why a run ended. */
enum {
    DS_END_NONE = 0,
    DS_END_BUDGET,    /* all evaluations used */
    DS_END_TARGET,    /* a loss at or below the target */
    DS_END_TIME,      /* run.seconds are over */
    DS_END_SIGNAL,    /* SIGINT or SIGTERM */
    DS_END_OPTIMIZER, /* the optimizer had nothing more to ask */
    DS_END_FAILURES,  /* too large a share of the evaluations failed */
    DS_END_ERROR      /* see ds_journal.error */
};

/* "budget", ..., as it is recorded. */
const char *ds_end_name(int end);

/* Budgets at which the record was used up with episodes open, in order. Lanes that were free could not begin
 * then, and what was learned of the others in the meantime is in the record: on the way through it again, and
 * beyond it, no episode begins at such a number either until all are over. */
enum { DS_JOURNAL_HALTS = 32 };

typedef struct ds_journal {
    /* What it works with. */
    const char *folder;
    const ds_run_spec *spec;
    ds_pool *pool; /* NULL where a program answers */
    const ds_pool_env *env;
    ds_store *store;
    uint64_t budget;             /* evaluations of this start; UINT64_MAX for a survey */
    const ds_observer *observer; /* or NULL */
    atomic_int *stop;            /* nonzero = end */
    const char *crash_text;      /* for ds_crash_watch() once it records; or NULL */
    /* What it keeps. */
    ds_replay *replay;     /* NULL once it is over */
    ds_recorder *recorder; /* NULL until the replay is over */
    ds_progress *progress; /* or NULL */
    ds_statistics statistics;
    double *width; /* upper - lower of each variable; NULL for a survey */
    double *room;  /* of one row, for ds_queries_record() */
    ds_reports reports;
    int end; /* DS_END_* */
    ds_error error;
    uint64_t late_calls, failures_told;
    uint64_t halt[DS_JOURNAL_HALTS];
    size_t halts;
    char *arithmetic; /* other than that the run was begun with: noted with the first new row; or NULL */
} ds_journal;

/* Makes room for the statistics of `n` recorded variables. Spec and env are set. */
int ds_journal_open(ds_journal *j, uint64_t n, ds_error *e);
void ds_journal_close(ds_journal *j);

/* Points that are asked for in one go. */
typedef struct ds_journal_request {
    uint64_t count;
    const double *x;        /* count x n: what is evaluated */
    const double *recorded; /* what is recorded of each row, as long as the rows of the store; NULL = x */
    uint32_t want;          /* DS_WANT_* */
    const ds_query_layout *queries; /* of every row; NULL = none */
    const double *in;               /* count x asks->in */
    const uint64_t *noise;          /* of every row its noise group, or NULL */
    const char *tag;                /* or NULL */
    uint64_t group;
    /* Answers, row by row. */
    double *loss;
    uint32_t *outcome, *grad_kind; /* or NULL */
    int64_t *bad_step;             /* or NULL */
    uint64_t *cost_steps;          /* or NULL */
    double *values;                /* gradients as they are recorded; NULL where none are asked for */
    double *out;                   /* count x asks->out words: answers to the questions */
    uint32_t *product_kind;        /* of each row DS_GRAD_*, NONE where it failed; or NULL */
    /* What is recorded of a gradient; NULL = all of it. */
    void (*condense)(const void *ctx, const double *grad, double *values);
    const void *ctx;
} ds_journal_request;

/* Answers the rows of a question; *done = how many were. DS_OK where all were, else DS_STOPPED: the run
 * ends, and j->end says why. */
ds_status ds_journal_execute(ds_journal *j, ds_journal_request *q, uint64_t *done);

/* A recorded evaluation is made again: has its worker died, or been killed at its time limit? Then it is
 * tried once more; ds_journal_not_repeated() reports that the second try failed, too. Returns
 * DS_EXIT_PLUGIN. */
int ds_journal_worker_lost(const ds_answer *a);
int ds_journal_not_repeated(const char *path, uint64_t id, const ds_answer *a, ds_error *e);

/* For episodes, which are not answered in one go. Is there a record left to answer from? Makes the
 * journal record from here on (else j->error is filled). Enters evaluation count + 1, `point` in full:
 * nonzero = the run ends behind it. */
int ds_journal_replaying(const ds_journal *j);

/* How many rows there may be now: the next halt, or the budget. An episode could not begin for want of
 * budget, while others are open: makes it a halt, in the store at once (nonzero: j->error). Reads those of
 * the store. */
uint64_t ds_journal_limit(const ds_journal *j);
int ds_journal_halt(ds_journal *j);
int ds_journal_read_halts(ds_journal *j, ds_error *e);
int ds_journal_live(ds_journal *j);
int ds_journal_append(ds_journal *j, ds_row *row, uint32_t want, const double *point, int replayed);

/* The run ends: an exit status (j->error is filled), or DS_POOL_STOPPED. Returns DS_STOPPED. */
ds_status ds_journal_stop(ds_journal *j, int rc);

/* The same because the optimizer broke the contract of a function. Returns DS_E_ARG. */
ds_status ds_journal_refuse(ds_journal *j, const char *function, const char *text);

/* Has the run ended already? Not too many such calls are put up with. */
int ds_journal_over(ds_journal *j);

/* The tag as it is recorded: one line of UTF-8 of at most DS_MAX_TAG bytes. */
void ds_journal_tag(char to[DS_MAX_TAG + 1], const char *from);

/* Tells the observer, where there is one, of DS_RUN_BEGINS, ... */
void ds_journal_notify(const ds_journal *j, int event);

/* Ends replay and recording: what was handed over is committed. */
int ds_journal_commit(ds_journal *j, ds_error *e);

#endif
