/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - the next row, from the record or fresh: budget, replay, recording, and the rules that end a
 * run. */
#include "config.h"

#include "run/journal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "protect/crash.h"

enum {
    MIN_FOR_SHARE = 50,      /* evaluations before the share of failures counts */
    FAILURES_LOGGED = 5,     /* failures that are logged one by one */
    FAILURE_FILES = 100,     /* reproducer files of one start */
    LATE_CALLS_MAX = 1000000 /* tolerated calls after the end */
};
static const double URGENT_SECONDS = 0.01; /* a longer evaluation is committed at once */

const char *ds_end_name(int end)
{
    static const char *const names[] = {
        "running", "budget", "target", "time", "signal", "optimizer_finished", "too_many_failures", "error"};
    return end >= 0 && end <= DS_END_ERROR ? names[end] : "?";
}

int ds_journal_open(ds_journal *j, uint64_t n, ds_error *e)
{
    int survey = j->spec->survey, bad = ds_statistics_open(&j->statistics, n) != 0;
    j->width = bad || survey ? NULL : malloc(n * sizeof(double));
    for (uint64_t i = 0; j->width != NULL && i < n; i++) {
        j->width[i] = j->env->upper[i] - j->env->lower[i];
    }
    j->room = malloc(ds_queries_record_room(j->env->channels, j->env->info.n) * sizeof(double));
    return !bad && (survey || j->width != NULL) && j->room != NULL ? 0 : ds_no_memory(e);
}

void ds_journal_close(ds_journal *j)
{
    ds_progress_close(j->progress);
    ds_journal_commit(j, NULL);
    ds_store_close(j->store, NULL);
    ds_statistics_close(&j->statistics);
    ds_reports_close(&j->reports);
    free(j->width);
    free(j->room);
    free(j->arithmetic);
}

void ds_journal_notify(const ds_journal *j, int event)
{
    const ds_statistics *l = &j->statistics;
    const ds_observed o = {j->folder, j->spec->options,        l->count,  l->best_id,
                           l->wall_s, j->end == DS_END_SIGNAL, j->budget, l};
    if (j->observer != NULL) {
        j->observer->see(j->observer->ctx, event, &o);
    }
}

/* ---- how it ends ---- */

static int fail(ds_journal *j)
{
    j->end = DS_END_ERROR;
    return DS_POOL_STOPPED;
}

ds_status ds_journal_stop(ds_journal *j, int rc)
{
    if (rc > 0) {
        j->end = DS_END_ERROR;
    } else if (j->end == DS_END_NONE) {
        j->end = atomic_load(j->stop) == DS_STOP_TIME ? DS_END_TIME : DS_END_SIGNAL;
    }
    return DS_STOPPED;
}

ds_status ds_journal_refuse(ds_journal *j, const char *function, const char *text)
{
    ds_fail(&j->error, DS_EXIT_PLUGIN, "%s: breaks the contract of %s: %s", j->spec->opt.id, function, text);
    j->end = DS_END_ERROR;
    return DS_E_ARG;
}

/* An optimizer that keeps calling after the end would keep us here for ever. */
int ds_journal_over(ds_journal *j)
{
    if (j->end != DS_END_NONE && j->crash_text != NULL && ++j->late_calls > LATE_CALLS_MAX) {
        ds_log(
            DS_LOG_ERROR, j->spec->opt.id,
            "does not return from run() although evaluate() returned DS_STOPPED; everything is saved in %s",
            j->folder);
        ds_recorder_close(j->recorder, NULL);
        ds_store_close(j->store, NULL);
        ds_crash_unwatch();
        _exit(DS_EXIT_PLUGIN);
    }
    return j->end != DS_END_NONE;
}

/* Evaluations that count as failed. In a survey, diverged simulations are a result: it may begin in a region
 * of them. */
static uint64_t failures(const ds_journal *j)
{
    uint64_t broken = 0;
    for (uint32_t k = DS_EVAL_INVALID; k < DS_OUTCOMES; k++) {
        broken += j->statistics.outcome[k];
    }
    return j->spec->survey ? broken : j->statistics.failed;
}

/* Does the run end after the last row? A survey replays its record to the end. */
static void look_for_end(ds_journal *j, double loss, int replayed)
{
    const ds_statistics *l = &j->statistics;
    if (!j->spec->survey && loss <= j->spec->options->target) {
        j->end = DS_END_TARGET;
    } else if (l->count >= MIN_FOR_SHARE && !(j->spec->survey && replayed) &&
               (double)failures(j) > j->spec->options->max_failed * (double)l->count) {
        j->end = DS_END_FAILURES;
    }
}

/* ---- one row ---- */

void ds_journal_tag(char to[DS_MAX_TAG + 1], const char *from)
{
    to[0] = '\0';
    strncat(to, from != NULL ? from : "", DS_MAX_TAG);
    ds_text_clean(to); /* may have been cut inside a character */
}

static void report_failure(ds_journal *j, uint64_t id, uint64_t noise, const double *x, const ds_answer *a)
{
    char file[80] = "";
    ds_error e = {0, ""};
    const char *env = j->spec->env.id;
    if (j->failures_logged < FAILURE_FILES &&
        ds_folder_write_failure(j->folder, j->spec, id, x, j->env->info.n,
                                ds_pool_noise_key(j->pool, id, noise), a, &e) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "%s", e.text);
    } else if (j->failures_logged < FAILURE_FILES) {
        snprintf(file, sizeof(file), "; failure-%04llu.ini repeats it", (unsigned long long)id);
    }
    j->failures_logged++;
    if (j->failures_logged <= FAILURES_LOGGED) {
        ds_log(DS_LOG_WARNING, env, "evaluation %llu %s: %s%s", (unsigned long long)id,
               ds_outcome_name(a->outcome), a->message, file);
    } else if (j->failures_logged == FAILURES_LOGGED + 1) {
        ds_log(DS_LOG_WARNING, env, "evaluation %llu %s; further ones are only counted",
               (unsigned long long)id, ds_outcome_name(a->outcome));
    }
}

static int record(ds_journal *j, ds_row *row)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    row->n = j->statistics.n;
    row->at = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    return ds_recorder_append(j->recorder, row, row->answer.wall_s > URGENT_SECONDS, &j->error);
}

int ds_journal_append(ds_journal *j, ds_row *row, uint32_t want, const double *point, int replayed)
{
    row->id = j->statistics.count + 1;
    ds_text_clean(row->answer.message); /* from a worker, which may be broken */
    ds_statistics_add(&j->statistics, row->x, &row->answer, want, replayed);
    if (replayed) {
        ds_reports_skip(&j->reports);
    } else {
        if (ds_reports_take(&j->reports, j->statistics.n, &row->progress, &j->error) != 0 ||
            record(j, row) != 0) {
            return fail(j);
        }
        if (row->answer.outcome > DS_EVAL_INFEASIBLE && j->pool != NULL) {
            report_failure(j, row->id, row->noise, point, &row->answer);
        }
    }
    look_for_end(j, row->answer.loss, replayed);
    return j->end != DS_END_NONE;
}

/* ---- one row of a request ---- */

static const double *recorded_x(const ds_journal *j, const ds_journal_request *q, uint64_t i)
{
    return q->recorded != NULL ? q->recorded + i * j->statistics.n : q->x + i * j->statistics.n;
}

/* Numbers of the gradient. */
static uint64_t width_of(const ds_journal *j, const ds_journal_request *q)
{
    return (q->want & DS_WANT_GRAD) != 0 ? j->statistics.n : 0;
}

static const double *in_of(const ds_journal_request *q, uint64_t i)
{
    return q->queries != NULL && q->queries->in > 0 ? q->in + i * q->queries->in : NULL;
}

static double *out_of(const ds_journal_request *q, uint64_t i)
{
    return q->queries != NULL ? q->out + i * q->queries->out : NULL;
}

static uint64_t noise_of(const ds_journal_request *q, uint64_t i)
{
    return q->noise != NULL ? q->noise[i] : 0;
}

/* The part of row i that channels and noise add to the record. */
static ds_extra extra_of(const ds_journal *j, const ds_journal_request *q, uint64_t i)
{
    return ds_queries_record(j->env->channels, q->queries, in_of(q, i), out_of(q, i), noise_of(q, i),
                             j->room);
}

/* Delivers row i, whose values are in place, to the client and records it. Returns nonzero where the run ends
 * after it. */
static int deliver(ds_journal *j, ds_journal_request *q, uint64_t i, const ds_answer *answer, int replayed)
{
    uint64_t n = j->env->info.n;
    ds_row row = {.x = recorded_x(j, q, i), .answer = *answer, .group = q->group, .noise = noise_of(q, i)};
    int product = q->queries != NULL && q->queries->product;
    uint32_t want = product ? DS_WANT_GRAD : q->want; /* a product counts as one */
    q->loss[i] = answer->loss;
    if (q->product_kind != NULL) {
        q->product_kind[i] =
            product && answer->outcome == DS_EVAL_OK ? answer->product_kind : (uint32_t)DS_GRAD_NONE;
    }
    if (q->outcome != NULL) {
        q->outcome[i] = answer->outcome;
    }
    if (q->cost_steps != NULL) {
        q->cost_steps[i] = answer->cost_steps;
    }
    if (q->grad_kind != NULL) {
        q->grad_kind[i] = (q->want & DS_WANT_GRAD) != 0 ? answer->grad_kind : DS_GRAD_NONE;
    }
    if (q->bad_step != NULL) {
        q->bad_step[i] = answer->bad_step;
    }
    ds_journal_tag(row.tag, q->tag);
    if ((q->want & DS_WANT_GRAD) != 0) {
        row.grad = q->values + i * j->statistics.n;
    }
    if (!replayed) {
        row.extra = extra_of(j, q, i);
    }
    return ds_journal_append(j, &row, want, q->x + i * n, replayed);
}

/* ---- from the record ---- */

int ds_journal_replaying(const ds_journal *j)
{
    return j->replay != NULL && ds_replay_left(j->replay) > 0;
}

/* Copies `count` recorded numbers; zeros where there are none. */
static void restore(double *to, const double *stored, uint64_t count)
{
    if (stored != NULL && count > 0) {
        memcpy(to, stored, count * sizeof(double));
    } else if (count > 0) {
        memset(to, 0, count * sizeof(double));
    }
}

/* Takes the record of row i, which must match the request. */
static int take_row(ds_journal *j, const ds_journal_request *q, uint64_t i, ds_answer *answer)
{
    uint64_t width = width_of(j, q);
    ds_row row;
    if (atomic_load_explicit(j->stop, memory_order_relaxed) != 0) {
        return DS_POOL_STOPPED;
    }
    ds_extra extra = extra_of(j, q, i);
    if (ds_replay_next(j->replay, recorded_x(j, q, i), q->want, &row, &j->error) != 0 ||
        ds_replay_compare_extra(j->replay, &row, &extra, &j->error) != 0) {
        return fail(j);
    }
    *answer = row.answer;
    restore(q->values + i * width, row.grad, width);
    if (q->queries != NULL) {
        double *out = out_of(q, i);
        restore(out, row.extra.answered, q->queries->values);
        memset(out + q->queries->values, 0, (q->queries->out - q->queries->values) * sizeof(double));
    }
    return 0;
}

/* Products of recorded rows that are computed again. */
typedef struct repetition {
    ds_journal *journal;
    const ds_journal_request *q;
    ds_answer *answer; /* recorded */
    uint64_t from, first;
    int differs;
    unsigned char *lost; /* rows whose worker died, to be tried once more; NULL in that second try */
} repetition;

int ds_journal_worker_lost(const ds_answer *a)
{
    return a->outcome == DS_EVAL_CRASHED || a->outcome == DS_EVAL_TIMEOUT;
}

int ds_journal_not_repeated(const char *path, uint64_t id, const ds_answer *a, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN,
                   "%s: recorded evaluation %llu could not be repeated, twice: %s; nothing was changed or "
                   "lost: the same command tries again",
                   path, (unsigned long long)id, a->message);
}

static int repeat_row(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    repetition *r = ctx;
    double loss = r->answer[i].loss, allowed = fmax(1e-9, r->journal->env->info.tolerance);
    (void)grad;
    memcpy(out_of(r->q, r->from + i), out, r->q->queries->out * sizeof(double));
    r->answer[i].product_kind = a->product_kind;
    if (ds_journal_worker_lost(a)) {
        if (r->lost != NULL) {
            r->lost[i] = 1;
            return 0;
        }
        ds_journal_not_repeated(ds_store_path(r->journal->store), r->first + i, a, &r->journal->error);
        r->differs = 1;
        return 1;
    }
    if (a->outcome != DS_EVAL_OK || !(fabs(a->loss - loss) <= allowed * fabs(loss))) {
        ds_fail(&r->journal->error, DS_EXIT_PLUGIN,
                "%s: evaluation %llu now gives the loss %.17g (%s), recorded %.17g: the environment is not "
                "deterministic, or not the version that made this run; nothing was changed",
                ds_store_path(r->journal->store), (unsigned long long)(r->first + i), a->loss,
                ds_outcome_name(a->outcome), loss);
        r->differs = 1;
    }
    return r->differs;
}

/* Rows of a request from number `from`, as evaluations from number `first`. */
static ds_pool_request rows_from(const ds_journal *j, const ds_journal_request *q, uint64_t from,
                                 uint64_t count, uint64_t first)
{
    return (ds_pool_request){.count = count,
                             .x = q->x + from * j->env->info.n,
                             .want = q->want,
                             .queries = q->queries,
                             .in = in_of(q, from),
                             .first = first,
                             .noise = q->noise != NULL ? q->noise + from : NULL};
}

/* Computes the products of `rows` rows again. */
static int repeat_products(ds_journal *j, const ds_journal_request *q, uint64_t from, uint64_t rows,
                           ds_answer *answer)
{
    unsigned char *lost = calloc(rows, 1);
    repetition r = {j, q, answer, from, j->statistics.count + 1, 0, lost};
    ds_pool_request again = rows_from(j, q, from, rows, r.first);
    int rc =
        lost == NULL ? ds_no_memory(&j->error) : ds_pool_execute(j->pool, &again, repeat_row, &r, &j->error);
    for (uint64_t k = 0; rc == 0 && !r.differs && k < rows; k++) {
        if (lost[k]) {
            repetition one = {j, q, answer + k, from + k, r.first + k, 0, NULL};
            again = rows_from(j, q, one.from, 1, one.first);
            rc = ds_pool_execute(j->pool, &again, repeat_row, &one, &j->error);
            r.differs = one.differs;
        }
    }
    free(lost);
    return rc > 0 || r.differs ? fail(j) : rc;
}

/* Answers rows from the record while it has any. Rows that need products are computed together, so that all
 * workers are used. */
static int replay_rows(ds_journal *j, ds_journal_request *q, uint64_t rows, uint64_t *done)
{
    int products = q->queries != NULL && q->queries->product;
    ds_answer one, *answer = products ? malloc(rows * sizeof(*answer)) : &one;
    int rc = answer != NULL ? 0 : ds_no_memory(&j->error);
    while (rc == 0 && *done < rows && ds_journal_replaying(j)) {
        uint64_t from = *done, count = 0, good = 0;
        do {
            rc = take_row(j, q, from + count, &answer[count]);
            good += rc == 0 && answer[count].outcome == DS_EVAL_OK;
            count += rc == 0;
            /* a failure is not repeated */
        } while (rc == 0 && products && good == count && from + count < rows && ds_journal_replaying(j));
        if (rc == 0 && good > 0 && products) {
            rc = repeat_products(j, q, from, good, answer);
        }
        for (uint64_t k = 0; rc == 0 && k < count; k++) {
            rc = deliver(j, q, from + k, &answer[k], 1) != 0 ? DS_POOL_STOPPED : 0;
            *done = from + k + 1;
        }
    }
    if (products) {
        free(answer);
    }
    return rc;
}

/* ---- fresh ---- */

uint64_t ds_journal_limit(const ds_journal *j)
{
    for (size_t k = 0; k < j->halts; k++) {
        if (j->halt[k] > j->statistics.count && j->halt[k] < j->budget) {
            return j->halt[k];
        }
    }
    return j->budget;
}

int ds_journal_read_halts(ds_journal *j, ds_error *e)
{
    char *text = NULL;
    int rc = ds_store_get(j->store, "halts", &text, e);
    for (char *at = text, *end = NULL; rc == 0 && at != NULL && *at != '\0'; at = end) {
        const unsigned long long n = strtoull(at, &end, 10);
        if (end == at || (j->halts > 0 && n <= j->halt[j->halts - 1]) || j->halts == DS_JOURNAL_HALTS) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: halts = '%.40s'", ds_store_path(j->store), text);
            break;
        }
        j->halt[j->halts++] = n;
    }
    free(text);
    return rc;
}

/* Call within an open commit. */
static int write_halts(ds_journal *j)
{
    char text[DS_JOURNAL_HALTS * 21 + 1] = "";
    size_t length = 0;
    for (size_t k = 0; k < j->halts; k++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%llu", k > 0 ? " " : "",
                                   (unsigned long long)j->halt[k]);
    }
    return j->halts > 0 ? ds_store_set(j->store, "halts", text, &j->error) : 0;
}

int ds_journal_halt(ds_journal *j)
{
    size_t at = j->halts; /* not the last one where a resume has a smaller budget than the run had */
    while (at > 0 && j->halt[at - 1] > j->budget) {
        at--;
    }
    if (j->recorder == NULL || j->halts == DS_JOURNAL_HALTS || (at > 0 && j->halt[at - 1] == j->budget)) {
        return 0; /* known already, or too many to wait for */
    }
    memmove(j->halt + at + 1, j->halt + at, (j->halts - at) * sizeof *j->halt);
    j->halt[at] = j->budget;
    j->halts++;
    const int rc = ds_recorder_close(j->recorder, &j->error);
    j->recorder = NULL;
    return rc != 0 ? rc : ds_journal_live(j);
}

int ds_journal_live(ds_journal *j)
{
    char text[32];
    ds_replay_close(j->replay);
    j->replay = NULL;
    if (j->recorder != NULL) {
        return 0;
    }
    snprintf(text, sizeof(text), "%llu", (unsigned long long)j->budget);
    int rc = ds_store_begin(j->store, &j->error);
    rc = rc != 0 || j->spec->survey ? rc : ds_store_set(j->store, "budget", text, &j->error);
    rc = rc != 0 ? rc : write_halts(j);
    rc = rc != 0 ? rc : ds_store_set(j->store, "ended", "", &j->error);
    char *recommended = NULL; /* from before the run was extended */
    rc = rc != 0 ? rc : ds_store_get(j->store, "recommended", &recommended, &j->error);
    rc = rc != 0 || recommended == NULL ? rc : ds_store_set(j->store, "recommended", "", &j->error);
    free(recommended);
    rc = rc != 0 || j->arithmetic == NULL
             ? rc
             : ds_store_set(j->store, "resumed_arithmetic", j->arithmetic, &j->error);
    rc = rc != 0 ? rc : ds_store_commit(j->store, &j->error);
    rc = rc != 0 ? rc
                 : ds_recorder_open(j->store, ds_queries_record_room(j->env->channels, j->env->info.n),
                                    &j->recorder, &j->error);
    if (rc == 0) {
        ds_progress_live(j->progress);
    }
    if (rc == 0 && j->crash_text != NULL) {
        ds_recorder_watch_crash(j->crash_text, j->recorder);
    }
    return rc;
}

/* A request on its way through the pool. */
typedef struct transit {
    ds_journal *journal;
    ds_journal_request *q;
    uint64_t first, width;
    uint64_t *done;
} transit;

static int sink(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    transit *p = ctx;
    ds_journal_request *q = p->q;
    uint64_t row = p->first + i;
    double *to = p->width > 0 ? q->values + row * p->width : NULL;
    if (to != NULL && q->condense == NULL) {
        memcpy(to, grad, p->width * sizeof(double));
    } else if (to != NULL && answer->grad_kind != DS_GRAD_NONE) {
        q->condense(q->ctx, grad, to);
    } else if (to != NULL) {
        memset(to, 0, p->width * sizeof(double));
    }
    if (out != NULL) {
        memcpy(out_of(q, row), out, q->queries->out * sizeof(double));
    }
    *p->done = row + 1;
    return deliver(p->journal, q, row, answer, 0);
}

static int send_to_pool(ds_journal *j, ds_journal_request *q, uint64_t rows, uint64_t *done)
{
    transit p = {j, q, *done, width_of(j, q), done};
    const ds_pool_request fresh = rows_from(j, q, *done, rows - *done, j->statistics.count + 1);
    return ds_pool_execute(j->pool, &fresh, sink, &p, &j->error);
}

ds_status ds_journal_execute(ds_journal *j, ds_journal_request *q, uint64_t *done)
{
    uint64_t left = j->budget - j->statistics.count;
    uint64_t rows = q->count < left ? q->count : left;
    *done = 0;
    int rc = j->replay != NULL ? replay_rows(j, q, rows, done) : 0;
    rc = rc == 0 && *done < rows && j->recorder == NULL ? ds_journal_live(j) : rc;
    rc = rc == 0 && *done < rows ? send_to_pool(j, q, rows, done) : rc;
    if (rc != 0) {
        ds_journal_stop(j, rc);
    }
    if (j->end == DS_END_NONE && j->statistics.count >= j->budget) {
        j->end = DS_END_BUDGET;
    }
    if (j->end == DS_END_NONE && j->recorder != NULL) {
        ds_journal_notify(j, DS_RUN_STEP);
    }
    /* DS_OK where all rows are answered, even with the budget used up: an extended run must get the same
     * status. */
    return *done == q->count && (j->end == DS_END_NONE || j->end == DS_END_BUDGET) ? DS_OK : DS_STOPPED;
}

int ds_journal_commit(ds_journal *j, ds_error *e)
{
    ds_replay_close(j->replay);
    j->replay = NULL;
    int rc = ds_recorder_close(j->recorder, e);
    j->recorder = NULL;
    return rc;
}
