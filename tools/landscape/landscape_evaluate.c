/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_evaluate.c - evaluates points of a slice in the order in which they are asked for, records them, and
 * answers from the record what was asked before it was interrupted. */
#include "config.h"

#include <diffsim/env.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "landscape/landscape_internal.h"

enum {
    CHUNK_BYTES = 16 << 20, /* memory for points of one chunk, unless single points are larger */
    CHUNK_ROWS = 8192,
    MIN_FOR_SHARE = 50, /* evaluations before the share of broken ones counts */
    FAILURES_TOLD = 5,  /* failures that get a line each */
    FAILURE_FILES = 100 /* reproducer files of one start */
};
static const double URGENT_SECONDS = 0.01; /* an evaluation that took longer is committed at once */

/* The rows of one call that are handed to the pool together. */
typedef struct chunk {
    ds_landscape *l;
    const double *c;     /* coordinates of the call */
    const double *x;     /* rows inside of the box */
    const uint64_t *row; /* number of each of them in the call */
    uint32_t want;
    const char *tag;
    ds_slice_value *out;
    ds_error *e;
    int rc;
} chunk;

static ds_slice_value no_reply(uint32_t outcome)
{
    return (ds_slice_value){NAN, {NAN, NAN}, NAN, outcome};
}

/* ---- the record ---- */

static int other_point(const ds_landscape *l, uint64_t id, ds_error *e)
{
    return ds_fail(
        e, DS_EXIT_PLUGIN,
        "%s: at evaluation %llu another point is recorded than the one that is wanted now: another "
        "version or machine made this landscape; nothing was changed",
        ds_store_path(l->store), (unsigned long long)id);
}

/* Answers a point from the record. */
static int replay(ds_landscape *l, const double *c, uint32_t want, ds_slice_value *out, ds_error *e)
{
    ds_row row;
    const double x[3] = {c[0], c[1], 0};
    int step = ds_cursor_next(l->cursor, &row, e);
    if (step <= 0) {
        return step < 0
                   ? e->status
                   : ds_fail(e, DS_EXIT_IO, "%s: damaged: evaluations are missing", ds_store_path(l->store));
    }
    if (memcmp(x, row.x, sizeof x) != 0 || (want != 0) != (row.grad != NULL)) {
        return other_point(l, row.id, e);
    }
    *out = no_reply(row.answer.outcome);
    if (isfinite(row.answer.loss)) {
        out->loss = row.answer.loss;
    }
    if (row.grad != NULL && row.answer.grad_kind != DS_GRAD_NONE && isfinite(row.answer.loss)) {
        memcpy(out->grad, row.grad, sizeof out->grad);
        out->norm = row.grad[2];
    }
    ds_statistics_add(&l->statistics, x, &row.answer, want, 1);
    if (--l->left == 0) {
        ds_cursor_close(l->cursor);
        l->cursor = NULL;
    }
    return 0;
}

static int go_live(ds_landscape *l, ds_error *e)
{
    if (l->recorder != NULL) {
        return 0;
    }
    int rc = ds_store_set(l->store, "ended", "", e);
    rc = rc != 0 ? rc : ds_recorder_open(l->store, &l->recorder, e);
    ds_progress_live(l->progress);
    return rc;
}

/* ---- new points ---- */

/* Crashes and the like everywhere are a broken environment. Simulations that diverge are a result: a slice may
 * begin with a region of them. */
static int refuse_broken(const ds_landscape *l, ds_error *e)
{
    uint64_t broken = 0;
    for (uint32_t k = DS_EVAL_INVALID; k < DS_OUTCOMES; k++) {
        broken += l->statistics.outcome[k];
    }
    if (l->statistics.count < MIN_FOR_SHARE ||
        !((double)broken > l->options.max_failed * (double)l->statistics.count)) {
        return 0;
    }
    return ds_fail(e, DS_EXIT_ENV,
                   "%s: stopped: %llu of the first %llu evaluations failed (run.max_failed allows a share of "
                   "%g); the files %s/failure-*.ini repeat single ones",
                   l->env_module->id, (unsigned long long)broken, (unsigned long long)l->statistics.count,
                   l->options.max_failed, l->folder);
}

static void tell_failure(ds_landscape *l, uint64_t id, const double *x, const ds_answer *a)
{
    char file[80] = "";
    if (a->outcome < DS_EVAL_INVALID) {
        return;
    }
    ds_error e = {0, ""};
    if (l->failures_told < FAILURE_FILES &&
        ds_folder_write_failure(l->folder, &l->spec, id, x, l->slice.n, ds_pool_noise_key(l->pool, id), a,
                                &e) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "%s", e.text);
    } else if (l->failures_told < FAILURE_FILES) {
        snprintf(file, sizeof file, "; failure-%04llu.ini repeats it", (unsigned long long)id);
    }
    l->failures_told++;
    if (l->failures_told <= FAILURES_TOLD) {
        ds_log(DS_LOG_WARNING, l->env_module->id, "evaluation %llu %s: %s%s", (unsigned long long)id,
               ds_outcome_name(a->outcome), a->message, file);
    } else if (l->failures_told == FAILURES_TOLD + 1) {
        ds_log(DS_LOG_WARNING, l->env_module->id, "evaluation %llu %s; further ones are only counted",
               (unsigned long long)id, ds_outcome_name(a->outcome));
    }
}

/* Norm of the gradient where every variable is measured in widths of its bounds. */
static double norm_of(const ds_slice *s, const double *grad)
{
    double largest = 0, sum = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        largest = fmax(largest, fabs(grad[i]) * (s->upper[i] - s->lower[i]));
    }
    for (uint64_t i = 0; i < s->n && largest > 0; i++) {
        double g = grad[i] * (s->upper[i] - s->lower[i]) / largest;
        sum += g * g;
    }
    return largest * sqrt(sum);
}

static int sink(void *ctx, uint64_t i, const ds_answer *answer, const double *grad)
{
    chunk *k = ctx;
    ds_landscape *l = k->l;
    uint64_t at = k->row[i], id = l->statistics.count + 1;
    const double x[3] = {k->c[2 * at], k->c[2 * at + 1], 0};
    double g[3] = {0, 0, 0};
    ds_slice_value *out = k->out + at;
    ds_answer a = *answer;
    struct timespec now;

    for (char *p = a.message; *p != '\0'; p++) { /* it goes into files of several formats */
        *p = (char)(*p < ' ' || *p > '~' ? '?' : *p);
    }
    *out = no_reply(a.outcome);
    if (isfinite(a.loss)) {
        out->loss = a.loss;
    }
    if (grad != NULL && a.grad_kind != DS_GRAD_NONE && isfinite(a.loss)) {
        ds_slice_gradient(&l->slice, grad, g);
        g[2] = norm_of(&l->slice, grad);
        memcpy(out->grad, g, sizeof out->grad);
        out->norm = g[2];
    }
    ds_statistics_add(&l->statistics, x, &a, k->want, 0);
    clock_gettime(CLOCK_REALTIME, &now);
    ds_row row = {.id = id,
                  .n = 3,
                  .x = x,
                  .grad = k->want != 0 ? g : NULL,
                  .answer = a,
                  .at = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec};
    snprintf(row.tag, sizeof row.tag, "%s", k->tag);
    k->rc = ds_recorder_append(l->recorder, &row, a.wall_s > URGENT_SECONDS, k->e);
    if (a.outcome > DS_EVAL_INFEASIBLE) {
        tell_failure(l, id, k->x + i * l->slice.n, &a);
    }
    k->rc = k->rc != 0 ? k->rc : refuse_broken(l, k->e);
    return k->rc;
}

/* Evaluates points from..to of the call. `x` and `row` are room for them. */
static int evaluate(chunk *k, uint64_t from, uint64_t to, double *x, uint64_t *row)
{
    ds_landscape *l = k->l;
    uint64_t inside = 0;
    for (uint64_t i = from; i < to; i++) {
        if (ds_slice_x(&l->slice, k->c + 2 * i, x + inside * l->slice.n)) {
            row[inside++] = i;
        } else {
            k->out[i] = no_reply(DS_POINT_OUTSIDE);
        }
    }
    int rc = inside > 0 ? go_live(l, k->e) : 0;
    if (rc == 0 && inside > 0) {
        rc = ds_pool_evaluate(l->pool, inside, x, k->want, l->statistics.count + 1, sink, k, k->e);
    }
    return k->rc != 0 ? k->rc : rc;
}

int ds_landscape_ask(ds_landscape *l, uint64_t count, const double *c, int gradient, const char *tag,
                     ds_slice_value *out, ds_error *e)
{
    uint64_t n = l->slice.n, done = 0;
    uint64_t rows = CHUNK_BYTES / (n * sizeof(double));
    rows = rows > CHUNK_ROWS ? CHUNK_ROWS : rows < 64 ? 64 : rows;
    rows = rows > count ? count : rows;
    double *x = malloc((rows + 1) * n * sizeof *x);
    uint64_t *row = malloc((rows + 1) * sizeof *row);
    chunk k = {l, c, x, row, gradient ? DS_WANT_GRAD : 0, tag, out, e, 0};
    int rc = x == NULL || row == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : 0;
    for (; rc == 0 && done < count && l->left > 0; done++) {
        if (ds_slice_x(&l->slice, c + 2 * done, x)) {
            rc = replay(l, c + 2 * done, k.want, out + done, e);
        } else {
            out[done] = no_reply(DS_POINT_OUTSIDE);
        }
    }
    while (rc == 0 && done < count) {
        uint64_t to = count - done < rows ? count : done + rows;
        rc = evaluate(&k, done, to, x, row);
        done = to;
    }
    free(x);
    free(row);
    return rc;
}
