/* SPDX-License-Identifier: Apache-2.0 */
/* check_objective.c - the objective that watches an optimizer: points, queries of
 * channels, and files, which are checked and discarded. */
#include "config.h"

#include "harness/check_watch.h"

#include "base/text.h"
#include "store/optimizer_output.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- channels: the residuals, and the point itself ---- */

enum { POINT, RESIDUAL, CHANNELS };

static void describe(ds_channel_entry *entry, const char *name, uint32_t role, uint64_t elements,
                     uint32_t ops)
{
    entry->c = (ds_channel){.struct_size = sizeof entry->c,
                            .role = role,
                            .type = DS_TYPE_F64,
                            .ops = ops,
                            .ndim = 1,
                            .shape = {elements},
                            .lower = -INFINITY,
                            .upper = INFINITY};
    snprintf(entry->name, sizeof entry->name, "%s", name);
}

/* Offers channels if the search has residuals. The residuals are not the first channel: an optimizer has to
 * look for their role. 0 without memory (recorded). */
static int offer_channels(ds_check_watch *w)
{
    uint64_t m = w->s->residuals ? ds_check_problem_residuals(w->s->function, w->s->n) : 0;
    ds_error e = {0};
    if (m == 0) {
        return 1;
    }
    ds_channel_entry *entry = calloc(CHANNELS, sizeof *entry);
    if (entry != NULL) {
        describe(&entry[POINT], "point", DS_CHANNEL_STATE, w->s->n, DS_CAN(DS_QUERY_VALUE));
        describe(&entry[RESIDUAL], "residual", DS_CHANNEL_RESIDUAL, m,
                 DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV));
    }
    if (entry == NULL || ds_channels_receive("dshost check", entry, CHANNELS, &w->channels, &e) != 0) {
        ds_check_fail(w->c, "out of memory");
        ds_channels_clear(&w->channels);
        return 0;
    }
    w->table = (ds_objective_channels){
        .struct_size = sizeof w->table, .count = w->channels.count, .channel = w->channels.list};
    return 1;
}

static int breach(ds_check_watch *w, uint64_t i, const char *what)
{
    ds_check_breach(w, "query %llu of a request %s", (unsigned long long)i, what);
    return 0;
}

static int finite_rows(ds_check_watch *w, uint64_t i, const char *name, const double *v, uint64_t stride,
                       uint64_t rows, uint64_t width)
{
    for (uint64_t k = 0; v != NULL && k < rows * width; k++) {
        const double number = v[k / width * stride + k % width];
        if (!isfinite(number)) {
            ds_check_breach(w, "query %llu of a request, row %llu: component %llu of %s is %g",
                            (unsigned long long)i, (unsigned long long)(k / width),
                            (unsigned long long)(k % width), name, number);
            ds_check_advise(w, "test with isfinite() before the call: a product with NaN has no meaning");
            return 0;
        }
    }
    return 1;
}

/* The strides of query i, which matter for several rows. */
static int sound_strides(ds_check_watch *w, const ds_request *b, uint64_t i, const ds_placed_query *a)
{
    const ds_query *q = &b->query[i];
    const ds_reply *r = &b->reply[i];
    if (b->rows.count > 1 &&
        ((q->v != NULL && q->v_stride < a->v_count) || (q->w != NULL && q->w_stride < a->w_count) ||
         r->stride < a->bytes || r->stride % 8 != 0)) {
        breach(w, i, "has a stride smaller than a row, or not a multiple of 8 bytes");
        ds_check_advise(w,
                        "v_stride and w_stride count doubles from row to row; ds_reply.stride counts bytes");
        return 0;
    }
    return 1;
}

/* The arrays of query i, whose channel and operation are valid. */
static int sound_numbers(ds_check_watch *w, const ds_request *b, uint64_t i, const ds_placed_query *a)
{
    const ds_query *q = &b->query[i];
    const ds_reply *r = &b->reply[i];
    if ((q->v != NULL) != (a->v_count > 0)) {
        breach(w, i, a->v_count > 0 ? "is a product without v" : "requests values but passes v");
        ds_check_advise(w, "v: NULL for DS_QUERY_VALUE, n doubles for DS_QUERY_JV and DS_QUERY_HV, one per "
                           "element for DS_QUERY_JTV");
        return 0;
    }
    if (r->out == NULL || r->bytes != a->bytes) {
        ds_check_breach(w, "query %llu of a request has %s of %llu bytes; %llu bytes are needed",
                        (unsigned long long)i, r->out == NULL ? "no out" : "an out",
                        (unsigned long long)r->bytes, (unsigned long long)a->bytes);
        ds_check_advise(w, "ds_reply.bytes = ds_channel_bytes(channel, op, n)");
        return 0;
    }
    return sound_strides(w, b, i, a) &&
           finite_rows(w, i, "v", q->v, q->v_stride, b->rows.count, a->v_count) &&
           finite_rows(w, i, "w", q->w, q->w_stride, b->rows.count, a->w_count);
}

/* Copies the list of queries to w->queries. */
static int take_list(ds_check_watch *w, const ds_request *b)
{
    for (uint64_t i = 0; i < b->rows.queries; i++) {
        const ds_query *q = &b->query[i];
        if (q->w != NULL && q->op != DS_QUERY_HV) {
            return breach(w, i, "has weights w, which only DS_QUERY_HV takes");
        }
        w->queries.query[i] = (ds_placed_query){.op = q->op, .channel = q->channel, .weighted = q->w != NULL};
    }
    w->queries.count = (uint32_t)b->rows.queries;
    return 1;
}

/* Do the queries of a request keep the contract? Puts them into w->queries; 0 after recording a breach. */
static int sound_queries(ds_check_watch *w, const ds_request *b)
{
    char text[DS_QUERY_TEXT];
    uint32_t place[DS_MAX_QUERIES];
    memset(&w->queries, 0, sizeof w->queries);
    if (b->rows.queries == 0) {
        return 1;
    }
    if (!take_list(w, b)) {
        return 0;
    }
    if (ds_query_layout_make(&w->queries, &w->channels, w->s->n, place, text) != 0) {
        ds_check_breach(w, "a request has a query that cannot be answered: %s", text);
        ds_check_advise(w, "request only what DS_CAN(op) in ds_channel.ops lists, and each once per request; "
                           "another product at the same point needs another row");
        return 0;
    }
    for (uint64_t i = 0; i < b->rows.queries; i++) {
        if (!sound_numbers(w, b, i, &w->queries.query[place[i]])) {
            return 0;
        }
    }
    return 1;
}

/* Computes the queries of row r, and counts them. */
static void answer_queries(ds_check_watch *w, const ds_request *b, uint64_t r, uint32_t outcome)
{
    ds_check_search *s = w->s;
    const double *x = b->rows.x + r * b->rows.stride;
    for (uint64_t i = 0; i < b->rows.queries; i++) {
        const ds_query *q = &b->query[i];
        const ds_reply *reply = &b->reply[i];
        int product = q->op != DS_QUERY_VALUE;
        void *out = (unsigned char *)reply->out + r * reply->stride;
        if (reply->kind != NULL) {
            reply->kind[r] = product ? DS_GRAD_FORWARD : DS_GRAD_NONE;
        }
        if (outcome > (product ? DS_EVAL_OK : DS_EVAL_BAD_GRAD)) {
            memset(out, 0, reply->bytes);
        } else if (q->channel == POINT) {
            memcpy(out, x, reply->bytes);
        } else {
            ds_check_problem_product(s->function, s->n, q->op, x, product ? q->v + r * q->v_stride : NULL,
                                     out);
        }
        s->wanted_residuals += q->channel == RESIDUAL && !product;
        s->wanted_products += product != 0;
    }
}

/* Calls after DS_STOPPED that may still belong to finishing work. */
enum { AFTER_FINE = 100 };

/* Does the request keep the contract? Records the first breach. */
static int sound_request(ds_check_watch *w, const ds_request *r)
{
    const ds_problem *p = &w->problem.problem;
    const ds_rows *rows = &r->rows;
    if (rows->count < 1 || rows->x == NULL || r->results.loss == NULL) {
        ds_check_breach(w, "a request without points or without an array for losses");
        ds_check_advise(
            w, "ds_rows rows = {.struct_size = sizeof rows, .count = ..., .n = problem->n, .stride = "
               "problem->n, .x = ...}; ds_results results = {.struct_size = sizeof results, .loss "
               "= ...};");
        return 0;
    }
    if (rows->n != p->n || rows->stride < p->n || rows->memory != DS_MEMORY_HOST) {
        ds_check_breach(w, "a request with n = %llu and stride = %llu, in memory %u",
                        (unsigned long long)rows->n, (unsigned long long)rows->stride, rows->memory);
        ds_check_advise(w, "n is problem->n, stride at least n, memory DS_MEMORY_HOST");
        return 0;
    }
    if ((rows->want & ~(uint32_t)DS_WANT_GRAD) != 0 ||
        ((rows->want & DS_WANT_GRAD) != 0 && (r->results.grad == NULL || r->results.stride < p->n))) {
        ds_check_breach(w, "a request with want = %u, grad %s and a stride of %llu", rows->want,
                        r->results.grad == NULL ? "NULL" : "set", (unsigned long long)r->results.stride);
        ds_check_advise(w, "want is 0, or DS_WANT_GRAD with grad and its stride");
        return 0;
    }
    if ((rows->want & DS_WANT_GRAD) != 0 && !p->has_gradient) {
        ds_check_breach(w, "a gradient is requested although the problem has none");
        ds_check_advise(w, "look at problem->has_gradient; an optimizer that cannot work without gradients "
                           "lists DS_HAS_GRADIENT in `needs`");
        return 0;
    }
    if (r->label.tag != NULL && strnlen(r->label.tag, DS_MAX_TAG + 1) > DS_MAX_TAG) {
        ds_check_breach(w, "the tag of a request is longer than %u bytes", DS_MAX_TAG);
    }
    if (!sound_queries(w, r)) {
        return 0;
    }
    for (uint64_t k = 0; k < rows->count; k++) {
        for (uint64_t i = 0; i < p->n; i++) {
            double v = rows->x[k * rows->stride + i];
            if (!(v >= p->lower[i] && v <= p->upper[i])) {
                ds_check_breach(w, "evaluation %llu: variable %llu is %s, outside of its bounds %s..%s",
                                (unsigned long long)(w->s->used + k), (unsigned long long)i, DS_TEXT_OF(v),
                                DS_TEXT_OF(p->lower[i]), DS_TEXT_OF(p->upper[i]));
                ds_check_advise(w, isnan(v)
                                       ? "a NaN comes from INFINITY - INFINITY or 0/0: failed points have "
                                         "the loss +INFINITY; leave them out of sums and differences"
                                       : "bring every point back into the box (reflect, or clip with fmin "
                                         "and fmax) before it is evaluated");
                return 0;
            }
        }
    }
    return 1;
}

static void answer_row(ds_check_watch *w, const ds_request *b, uint64_t r)
{
    ds_check_search *s = w->s;
    const ds_results *out = &b->results;
    const double *x = b->rows.x + r * b->rows.stride;
    uint64_t n = s->n, hash = ds_check_hash_row(x, n, b->rows.want);
    double *g = (b->rows.want & DS_WANT_GRAD) != 0 ? out->grad + r * out->stride : NULL;
    double f = ds_check_problem_value(s->function, n, x, g);
    double chance = (double)(ds_check_hash_row(x, n, 77) >> 12) * 0x1p-52;
    uint32_t outcome = DS_EVAL_OK;
    int zero = s->failure == DS_CHECK_FAIL_ZERO;

    if (s->failure == DS_CHECK_FAIL_ALL || (s->failure == DS_CHECK_FAIL_SOME && chance < 0.3)) {
        f = INFINITY;
        outcome = chance < 0.2 ? DS_EVAL_DIVERGED : DS_EVAL_CRASHED;
        zero = 1;
    } else if (s->failure == DS_CHECK_FAIL_HUGE) {
        f = chance < 0.5 ? 1e300 : -1e300;
    } else if (s->failure == DS_CHECK_FAIL_GRADIENT && (g != NULL || w->queries.product) && chance < 0.3) {
        outcome = DS_EVAL_BAD_GRAD;
        zero = 1;
    }
    for (uint64_t i = 0; g != NULL && zero && i < n; i++) {
        g[i] = 0;
    }
    out->loss[r] = f;
    if (out->outcome != NULL) {
        out->outcome[r] = outcome;
    }
    if (out->grad_kind != NULL) {
        out->grad_kind[r] = g != NULL && outcome == DS_EVAL_OK ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    }
    if (out->bad_step != NULL) {
        out->bad_step[r] = -1;
    }
    if (out->cost_steps != NULL) {
        out->cost_steps[r] = 1;
    }
    answer_queries(w, b, r, outcome);
    s->trace[s->used++] = hash;
    s->wanted_gradient += g != NULL;
    s->best = fmin(s->best, f);
}

static ds_status evaluate(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    ds_check_watch *w = objective->ctx;
    ds_check_search *s = w->s;
    ds_request r;
    char why[DS_REQUEST_TEXT] = "done is NULL";
    uint64_t limit = s->stop_after > 0 ? s->stop_after : s->budget;
    if (done != NULL) {
        *done = 0;
    }
    if (w->stopped) {
        return ds_check_called_after(w);
    }
    if (done == NULL || ds_request_read(&r, rows, label, results, why) != 0) {
        ds_check_breach(w, "%s", why);
        ds_check_advise(w, "set struct_size of every struct to its sizeof, and pass an address for *done");
        longjmp(w->cut, 2);
    }
    if (!sound_request(w, &r)) {
        longjmp(w->cut, 2);
    }
    if (ds_check_time_is_up(w)) {
        return ds_check_watch_stop(w);
    }
    while (*done < r.rows.count) {
        if (s->used >= limit) {
            return ds_check_watch_stop(w);
        }
        answer_row(w, &r, (*done)++);
    }
    return DS_OK;
}

static void fold(uint64_t *hash, const void *data, uint64_t bytes)
{
    const unsigned char *b = data;
    for (uint64_t i = 0; i < bytes; i++) {
        *hash = ds_random_mix(*hash ^ b[i]);
    }
}

static ds_status save(const ds_objective *objective, const char *name, const void *data, uint64_t bytes)
{
    ds_check_watch *w = objective->ctx;
    char text[DS_FILES_TEXT];
    if (ds_file_allowed(name, data, bytes, text) != DS_OK) {
        ds_check_breach(w, "save(): %s", text);
        return DS_E_ARG;
    }
    w->s->saved++;
    fold(&w->s->saved_hash, name, strlen(name) + 1);
    fold(&w->s->saved_hash, data, bytes);
    return DS_OK;
}

static ds_status report(const ds_objective *objective, const ds_progress_report *given)
{
    ds_check_watch *w = objective->ctx;
    const ds_problem *p = &w->problem.problem;
    char text[DS_REPORTS_TEXT];
    ds_progress_report report;
    ds_status st = ds_reports_read(&report, given, p, text);
    if (st == DS_E_ARG) {
        ds_check_breach(w, "report(): %s", text);
    }
    return st;
}

static const void *extension(const ds_objective *objective, const char *id)
{
    ds_check_watch *w = objective->ctx;
    if (strcmp(id, DS_EXT_FILES) == 0) {
        w->files = (ds_objective_files){.struct_size = sizeof w->files,
                                        .env = ds_check_function_name(w->s->function),
                                        .env_version = "1",
                                        .env_settings = "",
                                        .save = save};
        return &w->files;
    }
    if (strcmp(id, DS_EXT_OBJECTIVE_PROGRESS) == 0) {
        w->progress = (ds_objective_progress){.struct_size = sizeof w->progress, .report = report};
        return &w->progress;
    }
    if (strcmp(id, DS_EXT_OBJECTIVE_STEPS) == 0) {
        return ds_check_episodes_of(w);
    }
    if (strcmp(id, DS_EXT_OBJECTIVE_STEPS_GRADIENT) == 0) {
        return ds_check_episode_gradients_of(w);
    }
    return w->channels.count > 0 && strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 ? &w->table : NULL;
}

/* run(), cut off if it breaks the contract or does not end; 0 = cut off, and the instance must not be used.
 */
static int run_watched(ds_check_watch *w, void *self)
{
    if (setjmp(w->cut) != 0) {
        return 0;
    }
    w->s->status = w->c->module->opt.run(self, &w->objective);
    return 1;
}

/* Simulates the user's request to stop, from another thread while the optimizer computes. */
static void *press_stop(void *arg)
{
    ds_check_watch *w = arg;
    const struct timespec pause = {0, 5000000};
    while (atomic_load(&w->timer_off) == 0) {
        if (ds_check_now() - w->begin >= w->s->stop_at) {
            atomic_store(&w->h.stop, 1);
            break;
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void judge_end(ds_check_watch *w)
{
    const ds_check_search *s = w->s;
    if (s->asked_after > AFTER_FINE) {
        ds_check_breach(w, "it called the objective %llu%s more times after DS_STOPPED",
                        (unsigned long long)s->asked_after,
                        s->asked_after >= DS_CHECK_AFTER_CUT ? " and" : "");
        ds_check_advise(w, "leave run() with DS_STOPPED when evaluate() returns it");
    } else if (w->stopped && s->status != DS_STOPPED && s->status >= 0) {
        ds_check_breach(w, "run() returned %s after the objective had returned DS_STOPPED",
                        ds_status_name(s->status));
        ds_check_advise(w, "leave run() with DS_STOPPED when evaluate() returns it");
    } else if (!w->stopped && atomic_load(&w->h.stop) == 0 && s->status == DS_STOPPED) {
        ds_check_breach(
            w, "run() returned DS_STOPPED although neither the objective nor the host had stopped it");
        ds_check_advise(w, "return DS_OK when the search ends by itself");
    }
    if (s->status < 0) {
        ds_check_error_explained(w->c, &w->h, "run()", s->status);
    }
}

int ds_check_search_run(ds_check *c, const char *name, ds_check_search *s)
{
    ds_check_watch *w = calloc(1, sizeof *w);
    void *self = NULL;
    pthread_t timer;
    int whole = 1;

    s->created = s->broken = 0;
    s->used = s->asked_after = s->wanted_gradient = s->wanted_residuals = s->wanted_products = 0;
    s->terminated = s->truncated = 0;
    s->wanted_episodes = 0;
    s->saved = s->saved_hash = 0;
    s->best = INFINITY;
    s->told_stop = s->wall = 0;
    s->trace = calloc(s->budget + 1, sizeof *s->trace);
    if (w == NULL || s->trace == NULL ||
        !ds_check_host_open(c, s->settings != NULL ? s->settings : &c->options->settings, s->seed,
                            s->threads > 0 ? s->threads : 1, 0, &w->h)) {
        free(w);
        return 0;
    }
    ds_check_problem_make(&w->problem, s->n, s->has_gradient, s->budget);
    w->objective = (ds_objective){
        .struct_size = sizeof w->objective, .ctx = w, .evaluate = evaluate, .get_extension = extension};
    w->c = c;
    w->name = name;
    w->s = s;
    if (!offer_channels(w)) {
        ds_check_host_close(&w->h);
        free(w);
        return 0;
    }
    w->begin = ds_check_now();
    s->status = c->module->opt.create(w->h.host, &w->problem.problem, &self);
    if (s->status == DS_OK && self != NULL) {
        s->created = 1;
        w->begin = ds_check_now();
        const double worked = ds_check_worked();
        int timed = s->stop_at > 0 && pthread_create(&timer, NULL, press_stop, w) == 0;
        whole = run_watched(w, self);
        s->wall = ds_check_now() - w->begin;
        s->worked = ds_check_worked() - worked;
        if (timed) {
            atomic_store(&w->timer_off, 1);
            pthread_join(timer, NULL);
        }
        if (whole || s->asked_after > 0) {
            judge_end(w);
        }
        if (whole) {
            c->module->opt.destroy(self);
        }
    } else if (s->status == DS_OK) {
        ds_check_fail(c, "%s: create() returned DS_OK without an instance: set *out, or return an error",
                      name);
    } else {
        ds_check_error_explained(c, &w->h, "create()", s->status);
    }
    snprintf(s->message, sizeof s->message, "%.255s", w->h.error_text);
    if (whole) { /* an instance that was cut off still refers to its host */
        ds_check_host_close(&w->h);
        ds_channels_clear(&w->channels);
        free(w->episodes);
        free(w);
    }
    return 1;
}
