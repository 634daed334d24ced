/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - see diffsim/lib/environment.h: opening, channels, and evaluations. Scenes and episodes
 * have files of their own. */
#include "config.h"

#include "embed/environment_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/program.h"
#include "protect/call_state.h"
#include "embed/embed.h"
#include "run/asked.h"
#include "worker/describe.h"

/* ---- messages ---- */

DS_EXPORT const char *ds_environment_message(const ds_environment *e)
{
    return e != NULL ? e->message : "";
}

/* ---- open and close ---- */

/* The options with every default filled in, as the pool wants them. */
static int read_options(const ds_environment_options *o, ds_pool_config *c, ds_error *e)
{
    const ds_environment_options none = {.struct_size = sizeof none};
    o = o != NULL ? o : &none;
    if (!DS_HAS(ds_environment_options, o, memory_mb)) {
        return ds_fail(e, DS_EXIT_USAGE, "struct_size of the options is not sizeof(ds_environment_options)");
    }
    if (o->isolation > DS_ISOLATE_NONE) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "isolation is %u: allowed are DS_ISOLATE_PROCESS and DS_ISOLATE_NONE", o->isolation);
    }
    if (o->jobs > 1024 || o->threads > 1024) {
        return ds_fail(e, DS_EXIT_USAGE, "jobs = %u, threads = %u: at most 1024 each", o->jobs, o->threads);
    }
    if (!(o->timeout_s >= 0.0 && isfinite(o->timeout_s)) || o->memory_mb > 1000000000) {
        return ds_fail(
            e, DS_EXIT_USAGE,
            "timeout_s = %g, memory_mb = %llu: allowed are finite seconds, and at most 10^9 MiB; 0 = no "
            "limit",
            o->timeout_s, (unsigned long long)o->memory_mb);
    }
    c->seed = o->seed;
    c->threads = o->threads > 0 ? o->threads : 1;
    c->jobs = o->jobs > 0 ? o->jobs : ds_jobs_default();
    c->isolation = o->isolation == DS_ISOLATE_NONE ? DS_ISOLATION_NONE : DS_ISOLATION_PROCESS;
    c->timeout = o->timeout_s;
    c->memory = (int64_t)o->memory_mb;
    return 0;
}

/* What waits for workers asks the program, whose wish to end is one for good. */
static int ask_program(void *ctx)
{
    ds_environment *e = ctx;
    if (e->waiting(e->ctx) == 0) {
        return 0;
    }
    ds_environment_stop(e);
    return 1;
}

static int open_environment(ds_environment *e, const char *name, const ds_environment_options *o,
                            ds_error *error)
{
    ds_pool_config c = {.settings = &e->settings, .stop = &e->stop};
    int rc = name != NULL ? read_options(o, &c, error)
                          : ds_fail(error, DS_EXIT_USAGE, "the name of the environment is missing");
    if (rc == 0 && o != NULL && DS_HAS(ds_environment_options, o, ctx) && o->waiting != NULL) {
        e->waiting = o->waiting;
        e->ctx = o->ctx;
        c.waiting = ask_program;
        c.ctx = e;
    }
    ds_embed_quiet();
    rc = rc != 0 || o == NULL ? rc : ds_embed_settings(DS_SECTION_ENV, o->settings, &e->settings, error);
    rc = rc != 0 ? rc : ds_pool_find_env(&c, name, error);
    /* A process of this thread would end with it; the environment may live longer. */
    ds_describe_end();
    rc = rc != 0 ? rc : ds_pool_open(&c, &e->source.pool, error);
    if (rc == 0) {
        e->facts = ds_pool_env_of(e->source.pool);
        e->id = c.module->id;
        e->x = calloc(e->facts->info.n, sizeof *e->x);
        rc = e->x != NULL ? 0 : ds_no_memory(error);
    }
    return rc;
}

DS_EXPORT ds_environment *ds_environment_open(const char *environment, const ds_environment_options *options,
                                              char *why, uint64_t size)
{
    DS_LOCALE_C_HERE;
    ds_error error = {0, "out of memory"};
    ds_environment *e = calloc(1, sizeof *e);
    int rc = e != NULL ? open_environment(e, environment, options, &error) : DS_EXIT_MEMORY;
    if (ds_embed_note(rc) != 0) {
        ds_embed_say(&error, why, size);
        ds_environment_close(e);
        return NULL;
    }
    return e;
}

static void drop_reasons(ds_environment *e)
{
    for (uint64_t i = 0; i < e->reasons; i++) {
        free(e->reason[i]);
    }
    free(e->reason);
    e->reason = NULL;
    e->reasons = 0;
}

DS_EXPORT void ds_environment_close(ds_environment *e)
{
    DS_LOCALE_C_HERE;
    if (e != NULL) {
        ds_environment_drop_episodes(e);
        ds_scene_source_close(&e->source);
        ds_snapshot_free(e->scene);
        drop_reasons(e);
        ds_settings_clear(&e->settings);
        free(e->x);
        free(e);
    }
}

DS_EXPORT void ds_environment_stop(ds_environment *e)
{
    if (e != NULL) {
        atomic_store(&e->stop, 1);
    }
}

DS_EXPORT ds_status ds_environment_describe(const ds_environment *e, ds_environment_box *box)
{
    if (e == NULL || !DS_ENVIRONMENT_TAKES(ds_environment_box, box, dt)) {
        return DS_E_ARG;
    }
    const ds_pool_env *f = e->facts;
    *box = (ds_environment_box){.struct_size = box->struct_size,
                                .has_gradient = f->has_gradient != 0,
                                .n = f->info.n,
                                .lower = f->lower,
                                .upper = f->upper,
                                .x0 = f->x0,
                                .loss_floor = f->info.loss_floor,
                                .stochastic = f->stochastic != 0,
                                .stepwise = f->steps.horizon > 0,
                                .steps = f->info.steps,
                                .dt = f->info.dt};
    return DS_OK;
}

DS_EXPORT ds_status ds_environment_variable(const ds_environment *e, uint64_t i, ds_variable *out)
{
    if (e == NULL || !DS_ENVIRONMENT_TAKES(ds_variable, out, group) || i >= e->facts->info.n) {
        return DS_E_ARG;
    }
    if (e->facts->variables == NULL) {
        return DS_E_UNSUPPORTED;
    }
    const ds_named_variable *v = &e->facts->variables[i];
    out->flags = v->flags;
    out->name = v->name;
    out->unit = v->unit;
    out->group = v->group;
    return DS_OK;
}

DS_EXPORT uint64_t ds_environment_noise_key(const ds_environment *e, uint64_t number)
{
    return e != NULL ? ds_pool_noise_key(e->source.pool, number, 0) : 0;
}

/* ---- channels ---- */

DS_EXPORT uint64_t ds_environment_channels(const ds_environment *e)
{
    return e != NULL ? e->facts->channels->count : 0;
}

DS_EXPORT ds_status ds_environment_channel(const ds_environment *e, uint64_t i, ds_channel *out)
{
    if (e == NULL || out == NULL || out->struct_size < DS_CHANNEL_SIZE_1_0 ||
        i >= e->facts->channels->count) {
        return DS_E_ARG;
    }
    uint32_t size = out->struct_size;
    memcpy(out, e->facts->channels->list[i], size < sizeof *out ? size : sizeof *out);
    out->struct_size = size;
    return DS_OK;
}

/* ---- evaluations ---- */

static ds_status check_request(ds_environment *e, const ds_request *r)
{
    if (r->rows.count == 0 || r->rows.x == NULL || r->results.loss == NULL) {
        return ds_environment_say(e, DS_E_ARG, "count is 0, or x or loss is NULL");
    }
    if (r->rows.n != e->facts->info.n || r->rows.stride < r->rows.n || r->rows.memory != DS_MEMORY_HOST) {
        return ds_environment_say(e, DS_E_ARG,
                                  "n is not that of the environment, stride is less than n, or memory is not "
                                  "DS_MEMORY_HOST");
    }
    if ((r->rows.want & DS_WANT_GRAD) != 0 && !e->facts->has_gradient) {
        return ds_environment_say(e, DS_E_UNSUPPORTED, "%s has no gradient", e->id);
    }
    if ((r->rows.want & ~(uint32_t)DS_WANT_GRAD) != 0 ||
        ((r->rows.want & DS_WANT_GRAD) != 0 && (r->results.grad == NULL || r->results.stride < r->rows.n))) {
        return ds_environment_say(
            e, DS_E_ARG,
            "want holds more than DS_WANT_GRAD, or a gradient is wanted and grad is NULL "
            "or its stride is less than n");
    }
    for (uint64_t row = 0; row < r->rows.count; row++) {
        if (!ds_environment_inside(e, r->rows.x + row * r->rows.stride, row)) {
            return DS_E_ARG;
        }
    }
    return DS_OK;
}

/* Rows on their way back. */
typedef struct request_in_progress {
    ds_environment *e;
    const ds_request *request;
    double *seconds; /* count, or NULL */
    uint64_t done;
    ds_asked_rows asked; /* about channels */
    uint32_t kind;       /* how the products were made */
} request_in_progress;

/* Why a row has no loss or gradient; for a plugin that says nothing we do. */
static void keep_reason(ds_environment *e, uint64_t row, const ds_answer *a)
{
    char text[300];
    if (a->outcome == DS_EVAL_OK) {
        return;
    }
    if (a->message[0] != '\0') {
        snprintf(text, sizeof text, "%s", a->message);
    } else {
        snprintf(text, sizeof text, "%s: %s at step %lld", e->id, ds_outcome_name(a->outcome),
                 (long long)a->bad_step);
    }
    if (e->message[0] == '\0') {
        ds_environment_say(e, DS_OK, "%s", text);
    }
    e->reason[row] = strdup(text); /* without memory there is no reason to be told */
}

static int take_row(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    request_in_progress *p = ctx;
    const ds_results *b = &p->request->results;
    const uint64_t n = p->e->facts->info.n;
    const int graded = (p->request->rows.want & DS_WANT_GRAD) != 0;
    b->loss[i] = a->loss;
    if (graded && a->grad_kind != DS_GRAD_NONE) {
        memcpy(b->grad + i * b->stride, grad, n * sizeof *grad);
    } else if (graded) {
        memset(b->grad + i * b->stride, 0, n * sizeof *grad);
    }
    if (b->outcome != NULL) {
        b->outcome[i] = a->outcome;
    }
    if (b->grad_kind != NULL) {
        b->grad_kind[i] = graded ? a->grad_kind : DS_GRAD_NONE;
    }
    if (b->bad_step != NULL) {
        b->bad_step[i] = a->bad_step;
    }
    if (b->cost_steps != NULL) {
        b->cost_steps[i] = a->cost_steps;
    }
    if (p->seconds != NULL) {
        p->seconds[i] = a->wall_s;
    }
    if (out != NULL) {
        memcpy(p->asked.out + i * p->asked.queries.out, out, p->asked.queries.out * sizeof(double));
    }
    if (p->asked.queries.product && a->product_kind != DS_GRAD_NONE) {
        p->kind = a->product_kind;
    }
    keep_reason(p->e, i, a);
    p->done = i + 1;
    return 0;
}

/* The point that is `last`, for ds_environment_simulate(). */
static void remember(ds_environment *e, const double *x, uint64_t noise_key)
{
    memcpy(e->x, x, e->facts->info.n * sizeof *x);
    e->noise_key = noise_key;
    e->evaluated = 1;
}

/* Asks for rows one behind the other, of a request that keeps the rules; p->asked is open. */
static ds_status evaluate_rows(request_in_progress *p, const double *x, const uint64_t *key)
{
    ds_environment *e = p->e;
    const ds_rows *r = &p->request->rows;
    ds_error error = {0, ""};
    const ds_pool_request q = {.count = r->count,
                               .x = x,
                               .want = r->want,
                               .queries = p->asked.queries.count > 0 ? &p->asked.queries : NULL,
                               .in = p->asked.in,
                               .key = key};
    drop_reasons(e);
    e->reason = calloc(r->count, sizeof *e->reason);
    if (e->reason == NULL || key == NULL || x == NULL) {
        return ds_environment_say(e, DS_E_NOMEM, "out of memory for %llu points",
                                  (unsigned long long)r->count);
    }
    e->reasons = r->count;
    remember(e, x + (r->count - 1) * r->n, key[r->count - 1]);
    int rc = ds_pool_execute(e->source.pool, &q, take_row, p, &error);
    return ds_environment_outcome(e, rc, &error);
}

/* The points of a request without gaps: *room, where it had to be made. */
static const double *dense(const ds_rows *r, double **room)
{
    *room = NULL;
    if (r->stride == r->n) {
        return r->x;
    }
    *room = malloc(r->count * r->n * sizeof **room);
    for (uint64_t k = 0; *room != NULL && k < r->count; k++) {
        memcpy(*room + k * r->n, r->x + k * r->stride, r->n * sizeof **room);
    }
    return *room;
}

DS_EXPORT ds_status ds_environment_evaluate_many(ds_environment *e, const ds_rows *rows,
                                                 const ds_results *results, double *seconds, uint64_t *done)
{
    DS_LOCALE_C_HERE;
    ds_request r;
    request_in_progress p = {.e = e, .request = &r, .seconds = seconds};
    char text[DS_REQUEST_TEXT] = "out of memory";
    if (e == NULL) {
        return DS_E_ARG;
    }
    e->message[0] = '\0';
    if (done != NULL) {
        *done = 0;
    }
    if (ds_request_read(&r, rows, NULL, results, text) != 0) {
        return ds_environment_say(e, DS_E_ARG, "%s", text);
    }
    ds_status status = check_request(e, &r);
    if (status != DS_OK) {
        return status;
    }
    int rc = ds_asked_open(&p.asked, &r, e->facts->channels, e->facts->info.n, text);
    if (rc != 0) {
        status = ds_environment_say(e, rc < 0 ? DS_E_ARG : DS_E_NOMEM, "%s", text);
    } else {
        double *room;
        uint64_t *none = r.rows.noise_key == NULL ? calloc(r.rows.count, sizeof *none) : NULL;
        status = evaluate_rows(&p, dense(&r.rows, &room), r.rows.noise_key != NULL ? r.rows.noise_key : none);
        free(none);
        free(room);
        ds_asked_answer(&p.asked, &r, p.done, p.kind);
    }
    ds_asked_close(&p.asked);
    if (done != NULL) {
        *done = p.done;
    }
    return status;
}

DS_EXPORT const char *ds_environment_message_of(const ds_environment *e, uint64_t row)
{
    return e != NULL && row < e->reasons && e->reason[row] != NULL ? e->reason[row] : "";
}

DS_EXPORT ds_status ds_environment_evaluate(ds_environment *e, const double *x, uint64_t noise_key,
                                            double *loss, double *grad, uint32_t *outcome)
{
    const uint64_t n = e != NULL ? e->facts->info.n : 0;
    const ds_rows rows = {.struct_size = sizeof rows,
                          .want = grad != NULL ? DS_WANT_GRAD : 0,
                          .count = 1,
                          .n = n,
                          .stride = n,
                          .x = x,
                          .noise_key = &noise_key};
    const ds_results results = {
        .struct_size = sizeof results, .stride = n, .loss = loss, .grad = grad, .outcome = outcome};
    return ds_environment_evaluate_many(e, &rows, &results, NULL, NULL);
}
