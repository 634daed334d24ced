/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - answers the requests of a run row by row: first from its record, then by new evaluations, which
 * it records. It keeps the statistics, writes a file for each failure, and decides when the run ends.
 *
 * Its clients are the objective of an optimizer (evaluations, queries, episodes) and the survey of a
 * landscape. Rows are answered and recorded in order, so the record does not depend on the number of jobs. */
#ifndef DS_RUN_JOURNAL_H
#define DS_RUN_JOURNAL_H

#include "evaluate/pool.h"
#include "progress/progress.h"
#include "run/queries.h"
#include "store/optimizer_output.h"
#include "store/recorder.h"
#include "store/run_folder.h"

/* What an observer of a run gets, for example to draw images. */
typedef struct ds_observed {
    const char *folder;
    const ds_run_options *options;
    uint64_t evaluations;
    uint64_t best_id;    /* evaluation with the lowest loss; 0 = none yet */
    double evaluation_s; /* of all evaluations together */
    int interrupted;     /* by a signal: the user waits */
    uint64_t budget;
    const ds_statistics *statistics;
} ds_observed;

enum {
    DS_RUN_BEGINS, /* the search begins, perhaps with a replay */
    DS_RUN_STEP,   /* evaluations were handed to the record */
    DS_RUN_ENDED   /* summary and record are complete; not sent where this start has changed nothing */
};

/* The thread of the run calls see() and waits for it: keep steps cheap. */
typedef struct ds_observer {
    void *ctx;
    void (*see)(void *ctx, int event, const ds_observed *run);
    /* Nonzero ends the run; NULL = ds_stop_flag. A run with its own flag is part of another program: it
     * installs no signal handlers, shows no progress line, and never ends the process. */
    atomic_int *stop;
} ds_observer;

/* Why a run ended. */
enum {
    DS_END_NONE = 0,
    DS_END_BUDGET,    /* all evaluations used */
    DS_END_TARGET,    /* a loss at or below the target */
    DS_END_TIME,      /* run.seconds are over */
    DS_END_SIGNAL,    /* SIGINT or SIGTERM */
    DS_END_OPTIMIZER, /* the optimizer returned without a request to stop */
    DS_END_FAILURES,  /* too large a share of the evaluations failed */
    DS_END_ERROR      /* see ds_journal.error */
};

/* The recorded name: "budget", ... */
const char *ds_end_name(int end);

/* Budgets at which the record ended while episodes were open, in order. Free lanes could not begin an episode
 * there, and the record contains what the optimizer learned from the others meanwhile. A replay, and the run
 * after it, begins no episode at such a number either until all are over. */
enum { DS_JOURNAL_HALTS = 32 };

typedef struct ds_journal {
    /* Inputs: */
    const char *folder;
    const ds_run_spec *spec;
    ds_pool *pool; /* NULL where a program evaluates */
    const ds_pool_env *env;
    ds_store *store;
    uint64_t budget;             /* evaluations of this start; UINT64_MAX for a survey */
    const ds_observer *observer; /* or NULL */
    atomic_int *stop;            /* nonzero = end */
    const char *crash_text;      /* for ds_crash_watch() once it records; or NULL */
    /* State: */
    ds_replay *replay;     /* NULL after the replay */
    ds_recorder *recorder; /* NULL during the replay */
    ds_progress *progress; /* or NULL */
    ds_statistics statistics;
    double *width; /* upper - lower of each variable; NULL for a survey */
    double *room;  /* of one row, for ds_queries_record() */
    ds_reports reports;
    int end; /* DS_END_* */
    ds_error error;
    uint64_t late_calls, failures_logged;
    uint64_t halt[DS_JOURNAL_HALTS];
    size_t halts;
    /* where it differs from the arithmetic at the beginning: noted with the first new row; or NULL */
    char *arithmetic;
} ds_journal;

/* Makes room for statistics of `n` recorded variables. Set spec and env before. */
int ds_journal_open(ds_journal *j, uint64_t n, ds_error *e);
void ds_journal_close(ds_journal *j);

/* A table of points and where its results go. */
typedef struct ds_journal_request {
    uint64_t count;
    const double *x;                /* count x n: evaluated points */
    const double *recorded;         /* recorded points, in the length of the store's rows; NULL = x */
    uint32_t want;                  /* DS_WANT_* */
    const ds_query_layout *queries; /* of every row; NULL = none */
    const double *in;               /* count x queries->in */
    const uint64_t *noise;          /* noise group of every row, or NULL */
    const char *tag;                /* or NULL */
    uint64_t group;
    /* Results, row by row: */
    double *loss;
    uint32_t *outcome, *grad_kind; /* or NULL */
    int64_t *bad_step;             /* or NULL */
    uint64_t *cost_steps;          /* or NULL */
    double *values;                /* gradients as recorded; NULL without gradients */
    double *out;                   /* count x queries->out words: values and products */
    uint32_t *product_kind;        /* DS_GRAD_* of each row, NONE where it failed; or NULL */
    /* Reduces a gradient to what is recorded; NULL = all of it. */
    void (*condense)(const void *ctx, const double *grad, double *values);
    const void *ctx;
} ds_journal_request;

/* Answers the rows of a request; *done = their number. Returns DS_OK where all were answered, else
 * DS_STOPPED: the run ends, and j->end says why. */
ds_status ds_journal_execute(ds_journal *j, ds_journal_request *q, uint64_t *done);

/* Did the worker of a repeated evaluation die, or exceed its time limit? Then try once more; after a second
 * failure ds_journal_not_repeated() reports it and returns DS_EXIT_PLUGIN. */
int ds_journal_worker_lost(const ds_answer *a);
int ds_journal_not_repeated(const char *path, uint64_t id, const ds_answer *a, ds_error *e);

/* For episodes, which are answered step by step. Is there a record left to replay? Makes the journal record
 * from here on (failure: j->error). Enters evaluation count + 1, `point` in full; nonzero = the run ends
 * after it. */
int ds_journal_replaying(const ds_journal *j);

/* The most rows allowed now: the next halt, or the budget. ds_journal_halt(): an episode could not begin for
 * lack of budget while others are open; writes the halt into the store at once (nonzero: j->error).
 * ds_journal_read_halts() reads the halts of the store. */
uint64_t ds_journal_limit(const ds_journal *j);
int ds_journal_halt(ds_journal *j);
int ds_journal_read_halts(ds_journal *j, ds_error *e);
int ds_journal_live(ds_journal *j);
int ds_journal_append(ds_journal *j, ds_row *row, uint32_t want, const double *point, int replayed);

/* Ends the run: rc is an exit status (j->error is filled) or DS_POOL_STOPPED. Returns DS_STOPPED. */
ds_status ds_journal_stop(ds_journal *j, int rc);

/* Ends the run because the optimizer broke the contract of a function. Returns DS_E_ARG. */
ds_status ds_journal_refuse(ds_journal *j, const char *function, const char *text);

/* Has the run ended? Ends the program after too many such calls. */
int ds_journal_over(ds_journal *j);

/* The tag as recorded: one line of UTF-8, at most DS_MAX_TAG bytes. */
void ds_journal_tag(char to[DS_MAX_TAG + 1], const char *from);

/* Sends DS_RUN_BEGINS, ... to the observer, if any. */
void ds_journal_notify(const ds_journal *j, int event);

/* Ends replay and recording, and commits all rows. */
int ds_journal_commit(ds_journal *j, ds_error *e);

#endif
