/* SPDX-License-Identifier: Apache-2.0 */
/* run_internal.h - the state of a run, shared by the files of the engine: run.c, objective.c,
 * summary.c. */
#ifndef DS_RUN_RUN_INTERNAL_H
#define DS_RUN_RUN_INTERNAL_H

#include <diffsim/optimizer.h>

#include "evaluate/pool.h"
#include "run/objective_rl.h"
#include "run/progress.h"
#include "run/run.h"
#include "run/statistics.h"
#include "store/recorder.h"
#include "store/replay.h"
#include "store/run_folder.h"
#include "store/runlock.h"

/* Why a run ended. */
enum {
    DS_END_NONE = 0,
    DS_END_BUDGET,    /* all evaluations used */
    DS_END_TARGET,    /* a loss at or below the target */
    DS_END_TIME,      /* run.seconds are over */
    DS_END_SIGNAL,    /* SIGINT or SIGTERM */
    DS_END_OPTIMIZER, /* the optimizer had nothing more to ask */
    DS_END_FAILURES,  /* too large a share of the evaluations failed */
    DS_END_ERROR      /* see ds_run.error */
};

typedef struct ds_run {
    char *folder;
    ds_settings settings;
    ds_run_options options;
    const ds_module *env_module, *opt_module;
    ds_params *opt_params;
    ds_run_spec spec;
    ds_pool *pool;
    const ds_pool_env *env;
    ds_runlock *lock;
    ds_store *store;
    ds_recorder *recorder; /* NULL until the replay is over */
    ds_replay *replay;     /* NULL once it is over */
    ds_progress *progress;
    double *width;   /* upper - lower */
    uint64_t budget; /* of this start */
    uint64_t plan;   /* of the first start: what the optimizer is told */
    ds_statistics statistics;
    ds_problem problem;
    ds_services opt_services;
    void *opt_self;
    ds_objective objective;
    ds_run_episodes *episodes;    /* of stepwise control; NULL until the optimizer asks for it */
    ds_batch *batch;              /* being answered */
    ds_residual_batch *residuals; /* the same, where residuals or products are asked for; else NULL */
    ds_residual_objective residual_objective;
    const double *batch_x; /* rows from the current part of it on */
    uint64_t batch_first;  /* row of the batch that row 0 of the pool is */
    int end;               /* DS_END_* */
    ds_error error;
    uint64_t calls_after_end;
    uint64_t failures_told;
    const ds_observer *observer; /* or NULL */
    uint64_t start_ns;
    double wall_before;    /* seconds of earlier starts */
    char crash_text[4400]; /* PATH_MAX and a line */
} ds_run;

/* objective.c: fills run->objective; and ends the replay: from here on evaluations are recorded. */
void ds_objective_init(ds_run *run);
int ds_run_go_live(ds_run *run, ds_error *e);

/* One evaluation that has been answered. */
typedef struct ds_entry {
    const double *x;
    const double *grad; /* NULL where none was wanted */
    uint32_t want;      /* DS_WANT_*, for the statistics */
    const ds_answer *answer;
    const char *tag;
    uint64_t group;
    ds_extra extra;                 /* of residuals */
    struct ds_row_episode *episode; /* of stepwise control: taken over */
    int replayed;
} ds_entry;

/* objective.c: enters evaluation count + 1 into statistics and record, and looks whether the run ends behind it
 * (nonzero, run->end is set). */
int ds_journal_append(ds_run *run, const ds_entry *entry);
void ds_run_copy_tag(char to[16], const char *from);
/* For calls after the end, of which not too many are put up with. */
void ds_run_refuse_late_call(ds_run *run);

/* objective.c, for the extensions: says how a batch breaks the contract; enters row i of the batch (nonzero =
 * the run ends behind it), where `values` is its gradient or what the extension asked for; a stored row as an
 * answer; the signal, or time limit, that asks to stop. */
ds_status ds_objective_refuse(ds_run *run, const char *text);
int ds_objective_deliver(ds_run *run, uint64_t i, const ds_answer *answer, const double *values,
                         int replayed);
int ds_run_stopped(void);

/* objective_residuals.c: what the optimizer gets for an extension id; what is recorded of row i of a batch of
 * residuals; handing its answer to the optimizer; answering rows from the store. */
const void *ds_objective_extension(const ds_objective *objective, const char *id);
ds_extra ds_residuals_extra(const ds_run *run, uint64_t i, const double *values);
void ds_residuals_take(ds_run *run, uint64_t i, const double *values);
int ds_residuals_replay(ds_run *run, uint64_t rows);

/* run_recheck.c: repeats one recorded evaluation. DS_EXIT_PLUGIN where it comes out differently: the
 * environment is another one. */
int ds_run_recheck(ds_run *run, ds_error *e);

/* summary.c: the content of summary.json, and the file. */
json_t *ds_run_summary(const ds_run *run);
const char *ds_end_name(int end);

/* run.c: tells the observer of DS_RUN_BEGINS, ... */
void ds_run_tell(const ds_run *run, int event);

#endif
