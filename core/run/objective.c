/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - how the optimizer of a run evaluates: the contract of a batch, budget, replay, recording, and
 * the rules that end a run. Rows are answered and recorded in order, so that the record does not depend on
 * the number of jobs. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stop.h"
#include "run/run_internal.h"
#include "run/signals.h"
#include "store/episode_store.h"

enum {
    MIN_FOR_SHARE = 50,      /* evaluations before the share of failures counts */
    FAILURES_TOLD = 5,       /* failures that get a line each */
    FAILURE_FILES = 100,     /* reproducer files of one start */
    STUBBORN_CALLS = 1000000 /* calls after the end that are put up with */
};
static const double URGENT_SECONDS = 0.01; /* an evaluation that took longer is committed at once */

static int end_with_error(ds_run *run)
{
    run->end = DS_END_ERROR;
    return DS_POOL_STOPPED;
}

/* ---- the contract of a batch ---- */

ds_status ds_objective_refuse(ds_run *run, const char *text)
{
    ds_fail(&run->error, DS_EXIT_PLUGIN, "%s: breaks the contract of evaluate(): %s", run->opt_module->id,
            text);
    run->end = DS_END_ERROR;
    return DS_E_ARG;
}

static ds_status check_batch(ds_run *run, const ds_batch *b)
{
    char text[DS_BATCH_TEXT];
    return ds_batch_allowed(b, &run->problem, text) ? DS_OK : ds_objective_refuse(run, text);
}

/* ---- one row ---- */

/* The tag as it is recorded: at most 15 bytes of printable ASCII. */
void ds_run_copy_tag(char to[16], const char *from)
{
    size_t k = 0;
    for (; from != NULL && k < 15 && from[k] != '\0'; k++) {
        to[k] = from[k] < ' ' || from[k] > '~' ? '?' : from[k];
    }
    to[k] = '\0';
}

static void tell_failure(ds_run *run, uint64_t id, const double *x, const ds_answer *a)
{
    char file[80] = "";
    if (a->outcome >= DS_EVAL_INVALID && run->failures_told < FAILURE_FILES) {
        ds_error e = {0, ""};
        if (ds_folder_write_failure(run->folder, &run->spec, id, x, run->problem.n,
                                    ds_pool_noise_key(run->pool, id), a, &e) != 0) {
            ds_log(DS_LOG_WARNING, NULL, "%s", e.text);
        } else {
            snprintf(file, sizeof(file), "; failure-%04llu.ini repeats it", (unsigned long long)id);
        }
    }
    if (a->outcome >= DS_EVAL_INVALID) {
        run->failures_told++;
        if (run->failures_told <= FAILURES_TOLD) {
            ds_log(DS_LOG_WARNING, run->env_module->id, "evaluation %llu %s: %s%s", (unsigned long long)id,
                   ds_outcome_name(a->outcome), a->message, file);
        } else if (run->failures_told == FAILURES_TOLD + 1) {
            ds_log(DS_LOG_WARNING, run->env_module->id, "evaluation %llu %s; further ones are only counted",
                   (unsigned long long)id, ds_outcome_name(a->outcome));
        }
    }
}

static int record(ds_run *run, uint64_t id, const ds_entry *entry)
{
    const ds_answer *a = entry->answer;
    ds_row row = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    row.id = id;
    row.n = run->problem.n;
    row.x = entry->x;
    row.grad = entry->grad;
    row.episode = entry->episode;
    row.extra = entry->extra;
    row.answer = *a;
    row.group = entry->group;
    row.at = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    ds_run_copy_tag(row.tag, entry->tag);
    return ds_recorder_append(run->recorder, &row, a->wall_s > URGENT_SECONDS, &run->error);
}

/* Text of a plugin becomes one line of printable ASCII: it goes into files of several formats. */
static void tidy_message(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~') {
            *text = '?';
        }
    }
}

int ds_journal_append(ds_run *run, const ds_entry *entry)
{
    ds_answer answer = *entry->answer;
    uint64_t id = run->statistics.count + 1;
    tidy_message(answer.message);
    ds_statistics_add(&run->statistics, entry->x, &answer, entry->want, entry->replayed);
    if (!entry->replayed) {
        ds_entry tidy = *entry;
        tidy.answer = &answer;
        if (record(run, id, &tidy) != 0) {
            return end_with_error(run);
        }
        if (answer.outcome > DS_EVAL_INFEASIBLE) {
            tell_failure(run, id, entry->x, &answer);
        }
    }
    if (answer.loss <= run->options.target) {
        run->end = DS_END_TARGET;
    } else if (run->statistics.count >= MIN_FOR_SHARE &&
               (double)run->statistics.failed > run->options.max_failed * (double)run->statistics.count) {
        run->end = DS_END_FAILURES;
    }
    return run->end != DS_END_NONE;
}

int ds_objective_deliver(ds_run *run, uint64_t i, const ds_answer *answer, const double *values, int replayed)
{
    ds_batch *b = run->batch;
    uint64_t n = run->problem.n;
    b->loss[i] = answer->loss;
    if (b->outcome != NULL) {
        b->outcome[i] = answer->outcome;
    }
    if ((b->want & DS_WANT_GRAD) != 0) {
        memcpy(b->grad + i * n, values, n * sizeof(double));
    }
    b->done = i + 1;
    ds_entry entry = {.x = b->x + i * n,
                      .grad = (b->want & DS_WANT_GRAD) != 0 ? values : NULL,
                      .want = b->want,
                      .answer = answer,
                      .tag = b->tag,
                      .group = b->group,
                      .replayed = replayed};
    if (run->residuals != NULL) {
        entry.grad = NULL;
        if (run->residuals->kind != DS_RESIDUALS_VALUE) {
            entry.want = DS_WANT_GRAD; /* a product counts as one with gradient */
        }
        if (!replayed) {
            ds_residuals_take(run, i, values);
            entry.extra = ds_residuals_extra(run, i, values);
        }
    }
    return ds_journal_append(run, &entry);
}

static int sink(void *ctx, uint64_t i, const ds_answer *answer, const double *values)
{
    ds_run *run = ctx;
    return ds_objective_deliver(run, run->batch_first + i, answer, values, 0);
}

/* ---- replay ---- */

int ds_run_go_live(ds_run *run, ds_error *e)
{
    char text[32];
    ds_replay_close(run->replay);
    run->replay = NULL;
    if (run->recorder != NULL) {
        return 0;
    }
    snprintf(text, sizeof(text), "%llu", (unsigned long long)run->budget);
    int rc = ds_store_set(run->store, "budget", text, e);
    rc = rc != 0 ? rc : ds_store_set(run->store, "ended", "", e);
    if (rc == 0 && run->env->rl.horizon > 0) {
        rc = ds_episode_store_make(run->store, e);
    }
    uint64_t n = run->problem.n, m = run->env->residuals; /* a row has r, or v of either length */
    rc = rc != 0 ? rc : ds_recorder_open_extra(run->store, m == 0 ? 0 : n > m ? n : m, &run->recorder, e);
    if (rc == 0) {
        ds_progress_live(run->progress);
        ds_crash_watch(run->crash_text, run->recorder);
    }
    return rc;
}

int ds_run_stopped(void)
{
    return atomic_load_explicit(&ds_stop_flag, memory_order_relaxed);
}

/* Answers rows from the store while there are any. */
static int replay_rows(ds_run *run, uint64_t rows)
{
    uint64_t n = run->problem.n;
    const ds_batch *b = run->batch;
    ds_row row;
    while (b->done < rows && run->replay != NULL && ds_replay_left(run->replay) > 0) {
        static const ds_extra none = {0};
        if (ds_run_stopped() != 0) {
            return DS_POOL_STOPPED;
        }
        if (ds_replay_next(run->replay, b->x + b->done * n, b->want, &row, &run->error) != 0 ||
            ds_replay_compare_extra(run->replay, &row, &none, &run->error) != 0) {
            return end_with_error(run);
        }
        if (ds_objective_deliver(run, b->done, &row.answer, row.grad, 1) != 0) {
            return DS_POOL_STOPPED;
        }
    }
    return 0;
}

/* ---- evaluate ---- */

/* An optimizer that goes on calling after the end would keep us here for ever. */
void ds_run_refuse_late_call(ds_run *run)
{
    if (++run->calls_after_end > STUBBORN_CALLS) {
        ds_log(DS_LOG_ERROR, run->opt_module->id,
               "does not return from run() though evaluate() says DS_STOPPED; everything is saved in %s",
               run->folder);
        ds_recorder_close(run->recorder, NULL);
        ds_store_close(run->store, NULL);
        ds_crash_unwatch();
        _exit(DS_EXIT_PLUGIN);
    }
}

/* Computes the next `rows` rows of the batch. */
static int ask_pool(ds_run *run, uint64_t rows)
{
    const ds_batch *b = run->batch;
    const ds_residual_batch *r = run->residuals;
    uint64_t n = run->problem.n, first = run->statistics.count + 1;
    const double *x = b->x + b->done * n;
    if (r == NULL) {
        return ds_pool_evaluate(run->pool, rows, x, b->want, first, sink, run, &run->error);
    }
    uint64_t in = ds_residual_input(r->kind, n, run->env->residuals);
    return ds_pool_residuals(run->pool, r->kind, rows, x, in > 0 ? r->v + b->done * in : NULL, first, sink,
                             run, &run->error);
}

static ds_status evaluate(const ds_objective *objective, ds_batch *b)
{
    ds_run *run = objective->ctx;
    if (run->end != DS_END_NONE) {
        if (b != NULL && DS_HAS(ds_batch, b, done)) {
            b->done = 0;
        }
        ds_run_refuse_late_call(run);
        return DS_STOPPED;
    }
    ds_status st =
        ds_run_episodes_open(run) > 0 ? ds_objective_refuse(run, "episodes are open") : check_batch(run, b);
    if (st != DS_OK) {
        return st;
    }
    run->batch = b;
    b->done = 0;
    uint64_t left = run->budget - run->statistics.count;
    uint64_t rows = b->count < left ? b->count : left;
    int rc = 0;
    if (run->replay != NULL) {
        rc = run->residuals != NULL ? ds_residuals_replay(run, rows) : replay_rows(run, rows);
    }
    if (rc == 0 && b->done < rows && run->recorder == NULL && ds_run_go_live(run, &run->error) != 0) {
        rc = end_with_error(run);
    }
    if (rc == 0 && b->done < rows) {
        run->batch_first = b->done;
        rc = ask_pool(run, rows - b->done);
        if (rc > 0) {
            end_with_error(run);
        }
    }
    if (rc != 0 && run->end == DS_END_NONE) {
        run->end = atomic_load(&ds_stop_flag) == DS_STOP_TIME ? DS_END_TIME : DS_END_SIGNAL;
    }
    if (run->end == DS_END_NONE && run->statistics.count >= run->budget) {
        run->end = DS_END_BUDGET;
    }
    if (run->end == DS_END_NONE && run->recorder != NULL) {
        ds_run_tell(run, DS_RUN_STEP);
    }
    /* All rows answered is DS_OK even where the budget is used up: an extended run must get
     * the same answer. */
    return b->done == b->count && (run->end == DS_END_NONE || run->end == DS_END_BUDGET) ? DS_OK : DS_STOPPED;
}

void ds_objective_init(ds_run *run)
{
    run->objective = (ds_objective){.struct_size = sizeof(ds_objective),
                                    .ctx = run,
                                    .evaluate = evaluate,
                                    .get_extension = ds_objective_extension};
}
