/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c - evaluates rows with an environment instance, and tests the results. */
#include "config.h"

#include "plugin/instance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void set_message(ds_answer *a, const char *text)
{
    size_t n = strnlen(text, sizeof a->message - 1);
    memcpy(a->message, text, n);
    a->message[n] = '\0';
    ds_text_clean(a->message); /* the cut may lie inside a character */
}

void ds_answer_fail(ds_answer *a, uint32_t outcome, const char *text)
{
    a->outcome = outcome;
    a->loss = INFINITY;
    a->grad_kind = DS_GRAD_NONE;
    set_message(a, text);
}

void ds_answer_fail_status(const ds_env *env, ds_answer *a, ds_status st)
{
    const char *why = env->services.last_error;
    ds_answer_fail(a, st > 0 ? DS_EVAL_STOPPED : DS_EVAL_ERROR, why[0] != '\0' ? why : ds_status_text(st));
}

/* ---- results of a table ---- */

/* Results of the rows of one call, as the plugin writes them. */
struct ds_env_results {
    double *loss;
    uint32_t *outcome, *grad_kind, *kind; /* kind: for each query of each row */
    int64_t *bad_step;
    uint64_t *cost_steps;
};

struct ds_env_results *ds_env_results_make(uint64_t rows)
{
    const uint64_t numbers = rows * (3 + 1 + (DS_MAX_QUERIES + 1) / 2);
    struct ds_env_results *r = malloc(sizeof *r + numbers * sizeof(double));
    if (r != NULL) {
        r->loss = (double *)(void *)(r + 1);
        r->bad_step = (int64_t *)(void *)(r->loss + rows);
        r->cost_steps = (uint64_t *)(void *)(r->bad_step + rows);
        r->outcome = (uint32_t *)(void *)(r->cost_steps + rows);
        r->grad_kind = r->outcome + rows;
        r->kind = r->grad_kind + rows;
    }
    return r;
}

static double *grad_of(const ds_env_rows *t, uint64_t k)
{
    return (t->want & DS_WANT_GRAD) != 0 && t->grad != NULL ? t->grad + k * t->grad_stride : NULL;
}

static ds_query_io inquiry_of(const ds_env_rows *t, uint64_t k)
{
    return (ds_query_io){t->queries, t->in != NULL ? t->in + k * t->in_stride : NULL,
                         t->out + k * t->out_stride};
}

static void validate_gradient(const ds_env *env, const double *grad, ds_answer *a)
{
    for (uint64_t i = 0; i < env->info.n; i++) {
        if (!isfinite(grad[i])) {
            a->outcome = DS_EVAL_BAD_GRAD;
            snprintf(a->message, sizeof a->message, "component %llu of the gradient is not finite",
                     (unsigned long long)i);
            return;
        }
    }
    if (a->grad_kind == DS_GRAD_NONE) {
        a->outcome = DS_EVAL_BAD_GRAD;
        set_message(a, "evaluate() did not set the kind of its gradient");
    } else if (a->grad_kind > DS_GRAD_SMOOTHED) {
        a->grad_kind = DS_GRAD_SMOOTHED; /* a kind of a later version: assume the weakest */
    }
}

/* A row without success has no gradient. */
static void drop_gradient(const ds_env *env, double *grad, ds_answer *a)
{
    if (grad != NULL && a->outcome != DS_EVAL_OK) {
        memset(grad, 0, env->info.n * sizeof *grad);
        a->grad_kind = DS_GRAD_NONE;
    }
}

/* Tests what evaluate() returned for row k, and takes it. */
static void validate(const ds_env *env, const ds_env_rows *t, uint64_t k, ds_answer *a)
{
    const struct ds_env_results *r = env->results;
    const uint32_t outcome = r->outcome[k];
    double *grad = grad_of(t, k);
    a->loss = r->loss[k];
    a->outcome = outcome;
    a->grad_kind = (t->want & DS_WANT_GRAD) != 0 ? r->grad_kind[k] : DS_GRAD_NONE;
    a->bad_step = r->bad_step[k];
    a->cost_steps = ds_cost_of(r->cost_steps[k]);
    if (outcome >= DS_EVAL_OUTCOMES) {
        ds_answer_fail(a, DS_EVAL_ERROR, "evaluate() set an outcome unknown to this host");
    } else if (outcome > DS_EVAL_INFEASIBLE) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() set an outcome that only the host sets");
    } else if (outcome >= DS_EVAL_DIVERGED) {
        ds_answer_fail(a, outcome, env->services.last_error);
    } else if (!isfinite(a->loss)) {
        ds_answer_fail(a, DS_EVAL_INVALID,
                       "evaluate() returned a loss that is not finite with outcome DS_EVAL_OK");
    } else if (outcome == DS_EVAL_BAD_GRAD) {
        set_message(a, env->services.last_error);
    } else if (grad != NULL) {
        validate_gradient(env, grad, a);
    }
    drop_gradient(env, grad, a);
}

/* ---- the score of noise on actions ---- */

/* Simulates the episode with noise on the actions; fills `out` with its score and, if wanted, its baseline.
 */
static ds_status evaluate_score(ds_env *env, const ds_query_io *q, const ds_rows *rows,
                                const ds_results *results)
{
    const uint64_t n = env->info.n;
    double *out = q->out;
    memset(out, 0xff, (n + 1) * sizeof *out); /* NaN shows a score that the plugin did not fill */
    ds_score score = {.struct_size = sizeof score,
                      .flags = ds_score_wants_baseline(q->queries) ? DS_SCORE_BASELINE : 0,
                      .sigma = q->in[0],
                      .score = out,
                      .baseline = NAN};
    ds_status st =
        env->score.noise > 0 ? env->score_table.evaluate(env->self, rows, results, &score) : DS_E_UNSUPPORTED;
    out[n] = score.baseline;
    return st;
}

/* A score that is not finite invalidates the row, and so does a NaN baseline. A baseline whose episode
 * diverged is INFINITY. */
static void check_score(const ds_env *env, const ds_query_io *q, ds_answer *a)
{
    const uint64_t n = env->info.n;
    double *out = q->out;
    uint64_t finite = 0;
    while (finite < n && isfinite(out[finite])) {
        finite++;
    }
    if (a->outcome <= DS_EVAL_BAD_GRAD && finite < n) {
        ds_answer_fail(a, DS_EVAL_INVALID,
                       "evaluate() of " DS_EXT_SCORE " returned a score that is not finite");
    } else if (a->outcome <= DS_EVAL_BAD_GRAD && ds_score_wants_baseline(q->queries) && isnan(out[n])) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() of " DS_EXT_SCORE " returned no baseline");
    }
    if (a->outcome > DS_EVAL_BAD_GRAD) {
        memset(out, 0, (n + 1) * sizeof *out);
    } else if (!ds_score_wants_baseline(q->queries)) {
        out[n] = 0;
    }
}

/* ---- one call of the plugin ---- */

/* Presets the results of all rows. */
static void preset(const ds_env *env, const ds_env_rows *t, uint64_t queries)
{
    const struct ds_env_results *r = env->results;
    for (uint64_t k = 0; k < t->count; k++) {
        r->loss[k] = NAN;
        r->outcome[k] = DS_EVAL_OK;
        r->grad_kind[k] = DS_GRAD_NONE;
        r->bad_step[k] = -1;
        r->cost_steps[k] = 0;
        for (uint64_t i = 0; i < queries; i++) {
            r->kind[i * t->count + k] = DS_GRAD_NONE;
        }
    }
}

/* Calls the plugin once for all rows. Out of line, because most evaluations have no queries. */
static __attribute__((noinline)) ds_status call_with_queries(ds_env *env, const ds_env_rows *t, ds_rows *rows,
                                                             ds_results *results)
{
    ds_query query[DS_MAX_QUERIES];
    const ds_query *list[DS_MAX_QUERIES];
    ds_reply reply[DS_MAX_QUERIES];
    const ds_reply *replies[DS_MAX_QUERIES];
    const ds_query_layout *queries = t->queries;
    for (uint64_t k = 0; k < t->count; k++) {
        /* NaN shows a result that the plugin did not fill */
        memset(t->out + k * t->out_stride, 0xff, queries->out * sizeof *t->out);
    }
    for (uint32_t i = 0; i < queries->count; i++) {
        const ds_placed_query *a = &queries->query[i];
        query[i] = (ds_query){.struct_size = sizeof query[i],
                              .op = a->op,
                              .channel = a->channel,
                              .v = a->v_count > 0 ? t->in + a->v : NULL,
                              .w = a->w_count > 0 ? t->in + a->w : NULL,
                              .v_stride = t->in_stride,
                              .w_stride = t->in_stride};
        reply[i] = (ds_reply){.struct_size = sizeof reply[i],
                              .out = t->out + a->out,
                              .stride = t->out_stride * sizeof *t->out,
                              .bytes = a->bytes,
                              .kind = env->results->kind + i * t->count};
        list[i] = &query[i];
        replies[i] = &reply[i];
    }
    rows->queries = queries->count;
    rows->query = list;
    results->reply = replies;
    return env->vt->evaluate(env->self, rows, results);
}

static ds_status call(ds_env *env, const ds_env_rows *t)
{
    const struct ds_env_results *r = env->results;
    const int scored = t->queries != NULL && ds_score_is_queried(t->queries);
    const int graded = (t->want & DS_WANT_GRAD) != 0 && t->grad != NULL;
    ds_rows rows = {.struct_size = sizeof rows,
                    .want = t->want,
                    .count = t->count,
                    .n = env->info.n,
                    .stride = t->x_stride,
                    .x = t->x,
                    .noise_key = t->noise_key};
    ds_results results = {.struct_size = sizeof results,
                          .stride = t->grad_stride,
                          .loss = r->loss,
                          .grad = graded ? t->grad : NULL,
                          .outcome = r->outcome,
                          .grad_kind = r->grad_kind,
                          .bad_step = r->bad_step,
                          .cost_steps = r->cost_steps};
    preset(env, t, t->queries != NULL && !scored ? t->queries->count : 0);
    env->services.last_error[0] = '\0';
    if (scored) {
        const ds_query_io q = inquiry_of(t, 0);
        return evaluate_score(env, &q, &rows, &results);
    }
    return t->queries != NULL ? call_with_queries(env, t, &rows, &results)
                              : env->vt->evaluate(env->self, &rows, &results);
}

/* Takes the result of row k from a call that returned `st`. */
static void take_row(ds_env *env, const ds_env_rows *t, uint64_t k, ds_status st)
{
    ds_answer *a = t->answer[k];
    double *grad = grad_of(t, k);
    a->message[0] = '\0';
    a->product_kind = DS_GRAD_NONE;
    if (st == DS_OK) {
        validate(env, t, k, a);
    } else {
        a->bad_step = -1;
        a->cost_steps = ds_cost_of(env->results->cost_steps[k]);
        ds_answer_fail_status(env, a, st);
        drop_gradient(env, grad, a);
    }
    if (t->queries == NULL) {
        return;
    }
    const ds_query_io q = inquiry_of(t, k);
    if (ds_score_is_queried(t->queries)) {
        check_score(env, &q, a);
    } else {
        ds_query_check(&env->channels, &q, env->results->kind + k, t->count, a);
        a->grad_kind = (t->want & DS_WANT_GRAD) != 0 ? a->grad_kind : a->product_kind;
    }
    drop_gradient(env, grad, a); /* a query result that is not finite invalidates the row */
}

/* Row k of a table, alone. */
static ds_env_rows row_of(const ds_env_rows *t, uint64_t k)
{
    ds_env_rows row = *t;
    row.count = 1;
    row.x = t->x + k * t->x_stride;
    row.noise_key = t->noise_key + k;
    row.in = t->in != NULL ? t->in + k * t->in_stride : NULL;
    row.grad = grad_of(t, k);
    row.out = t->out != NULL ? t->out + k * t->out_stride : NULL;
    row.answer = t->answer + k;
    return row;
}

static int is_stopping(const ds_env *env)
{
    return env->services.stop != NULL && atomic_load_explicit(env->services.stop, memory_order_relaxed) != 0;
}

ds_status ds_env_evaluate_table(ds_env *env, const ds_env_rows *t)
{
    const double start = ds_clock_s();
    const ds_status st = call(env, t);
    const double each = (ds_clock_s() - start) / (double)t->count;
    for (uint64_t k = 0; k < t->count; k++) {
        take_row(env, t, k, st);
        t->answer[k]->wall_s = each;
    }
    if (t->count == 1 || (st > 0 && is_stopping(env))) {
        return st > 0 ? DS_STOPPED : DS_OK;
    }
    ds_status status = DS_OK;
    for (uint64_t k = 0; k < t->count; k++) {
        if (t->answer[k]->outcome != DS_EVAL_OK) {
            /* Evaluate the row alone once more: then the plugin's message, or its unrequested stop, belongs
             * to this row. */
            const ds_env_rows row = row_of(t, k);
            status = ds_env_evaluate_table(env, &row) != DS_OK ? DS_STOPPED : status;
        }
    }
    return status;
}

ds_status ds_env_evaluate_queries(ds_env *env, const double *x, uint64_t noise_key, uint32_t want,
                                  double *grad, const ds_query_io *inquiry, ds_answer *answer)
{
    const uint64_t n = env->info.n;
    ds_answer *const list[] = {answer};
    const ds_env_rows t = {.count = 1,
                           .want = want,
                           .x = x,
                           .x_stride = n,
                           .noise_key = &noise_key,
                           .queries = inquiry != NULL ? inquiry->queries : NULL,
                           .in = inquiry != NULL ? inquiry->in : NULL,
                           .in_stride = inquiry != NULL ? inquiry->queries->in : 0,
                           .grad = grad,
                           .grad_stride = n,
                           .out = inquiry != NULL ? inquiry->out : NULL,
                           .out_stride = inquiry != NULL ? inquiry->queries->out : 0,
                           .answer = list};
    return ds_env_evaluate_table(env, &t);
}

ds_status ds_env_evaluate(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                          ds_answer *answer)
{
    return ds_env_evaluate_queries(env, x, noise_key, want, grad, NULL, answer);
}

const void *ds_env_extension(const ds_env *env, const char *id)
{
    return env->vt->get_extension != NULL ? env->vt->get_extension(env->self, id) : NULL;
}

const ds_scene *ds_env_scene(const ds_env *env)
{
    return ds_env_extension(env, DS_EXT_SCENE);
}
