/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - an environment for another program: implements diffsim/lib/environment.h. */
#include "config.h"

#include <diffsim/lib/environment.h>

#include "base/clock.h"
#include "base/program.h"
#include "base/plugin_memory.h"
#include "base/text.h"
#include "embed/embed.h"
#include "evaluate/pool.h"
#include "protect/call_state.h"
#include "run/queries.h"
#include "snapshot/episode_scene.h"
#include "worker/process.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The episode in a lane. */
typedef struct open_episode {
    int open;
    uint64_t key, steps; /* taken */
    double *x;           /* n: the actions of all steps; allocated with obs */
    double *obs;         /* n_obs: the last observation */
} open_episode;

struct ds_environment {
    atomic_int stop;
    ds_settings settings; /* [env] */
    ds_scene_source source;
    const ds_pool_env *facts;
    const char *id;
    char message[600];                     /* of the last call */
    uint32_t(DS_CALL *waiting)(void *ctx); /* callback of the program, with its ctx; NULL = none */
    void *ctx;

    double *x; /* n: the last evaluated point, with its noise key */
    uint64_t noise_key;
    int evaluated;
    char **reason; /* messages for the rows of the last call; NULL = no message */
    uint64_t reasons;

    ds_snapshot *scene; /* NULL = none */

    /* Stepwise control; NULL until the first episode. */
    uint64_t lanes;
    struct open_episode *episode; /* lanes */
    ds_lane_step *step;           /* lanes */
    unsigned char *named;         /* lanes; zeros between calls */
};

/* Is the struct there, and long enough to hold everything up to its field `last`? */
#define TAKES(type, ptr, last) ((ptr) != NULL && DS_HAS(type, ptr, last))

/* ---- messages and tests ---- */

/* Keeps the line that ds_environment_message() returns, and returns `status`. */
static __attribute__((format(printf, 3, 4))) ds_status set_message(ds_environment *e, ds_status status,
                                                                   const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->message, sizeof e->message, format, ap);
    va_end(ap);
    return status;
}

/* Turns a status of the pool, an exit status or DS_POOL_STOPPED, into one for the program, and keeps the
 * line. */
static ds_status outcome_of(ds_environment *e, int rc, const ds_error *error)
{
    return rc == 0 ? DS_OK
           : rc == DS_POOL_STOPPED || rc == DS_EXIT_SIGINT
               ? set_message(e, DS_STOPPED, "stopped: nothing more is evaluated")
               : set_message(e, ds_embed_status(rc), "%s", error->text);
}

/* Tests that x lies inside the bounds; `row` is its number in the table. */
static int is_inside(ds_environment *e, const double *x, uint64_t row)
{
    const ds_pool_env *f = e->facts;
    for (uint64_t i = 0; i < f->info.n; i++) {
        if (!(x[i] >= f->lower[i] && x[i] <= f->upper[i])) { /* also catches NaN */
            set_message(e, DS_E_ARG, "point %llu, variable %llu is %s, outside of its bounds %s..%s",
                        (unsigned long long)row, (unsigned long long)i, DS_TEXT_OF(x[i]),
                        DS_TEXT_OF(f->lower[i]), DS_TEXT_OF(f->upper[i]));
            return 0;
        }
    }
    return 1;
}

DS_EXPORT const char *ds_environment_message(const ds_environment *e)
{
    return e != NULL ? e->message : "";
}

/* ---- open and close ---- */

static void drop_episodes(ds_environment *e)
{
    for (size_t i = 0; e->episode != NULL && i < e->lanes; i++) {
        free(e->episode[i].x);
    }
    free(e->episode);
    free(e->step);
    free(e->named);
}

/* Reads the options and fills in every default, for the pool. */
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

/* Called while waiting for workers: the program decides whether to continue; a stop is final. */
static int poll_program(void *ctx)
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
        c.waiting = poll_program;
        c.ctx = e;
    }
    ds_embed_quiet();
    rc = rc != 0 || o == NULL ? rc : ds_embed_settings(DS_SECTION_ENV, o->settings, &e->settings, error);
    rc = rc != 0 ? rc : ds_pool_find_env(&c, name, error);
    /* A waiting process would end with this thread, but the environment may live longer. */
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
        drop_episodes(e);
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
    if (e == NULL || !TAKES(ds_environment_box, box, dt)) {
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
    if (e == NULL || !TAKES(ds_variable, out, group) || i >= e->facts->info.n) {
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
        return set_message(e, DS_E_ARG, "count is 0, or x or loss is NULL");
    }
    if (r->rows.n != e->facts->info.n || r->rows.stride < r->rows.n || r->rows.memory != DS_MEMORY_HOST) {
        return set_message(e, DS_E_ARG,
                           "n is not that of the environment, stride is less than n, or memory is not "
                           "DS_MEMORY_HOST");
    }
    if ((r->rows.want & DS_WANT_GRAD) != 0 && !e->facts->has_gradient) {
        return set_message(e, DS_E_UNSUPPORTED, "%s has no gradient", e->id);
    }
    if ((r->rows.want & ~(uint32_t)DS_WANT_GRAD) != 0 ||
        ((r->rows.want & DS_WANT_GRAD) != 0 && (r->results.grad == NULL || r->results.stride < r->rows.n))) {
        return set_message(e, DS_E_ARG,
                           "want holds more than DS_WANT_GRAD, or a gradient is wanted and grad is NULL "
                           "or its stride is less than n");
    }
    for (uint64_t row = 0; row < r->rows.count; row++) {
        if (!is_inside(e, r->rows.x + row * r->rows.stride, row)) {
            return DS_E_ARG;
        }
    }
    return DS_OK;
}

/* A call in progress. */
typedef struct evaluation {
    ds_environment *e;
    const ds_request *request;
    double *seconds; /* count, or NULL */
    uint64_t done;
    ds_packed_queries asked; /* about channels */
} evaluation;

/* Keeps why a row has no loss or gradient; has a default text for a plugin without a message. */
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
        set_message(e, DS_OK, "%s", text);
    }
    e->reason[row] = strdup(text); /* without memory there is no message */
}

static int take_row(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    evaluation *p = ctx;
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
    if (p->asked.queries.product && a->outcome == DS_EVAL_OK) {
        p->asked.kind[i] = a->product_kind;
    }
    keep_reason(p->e, i, a);
    p->done = i + 1;
    return 0;
}

/* Keeps the last point for ds_environment_simulate(). */
static void remember(ds_environment *e, const double *x, uint64_t noise_key)
{
    memcpy(e->x, x, e->facts->info.n * sizeof *x);
    e->noise_key = noise_key;
    e->evaluated = 1;
}

/* Evaluates packed rows of a valid request; p->asked is open. */
static ds_status evaluate_rows(evaluation *p, const double *x, const uint64_t *key)
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
        return set_message(e, DS_E_NOMEM, "out of memory for %llu points", (unsigned long long)r->count);
    }
    e->reasons = r->count;
    remember(e, x + (r->count - 1) * r->n, key[r->count - 1]);
    int rc = ds_pool_execute(e->source.pool, &q, take_row, p, &error);
    return outcome_of(e, rc, &error);
}

/* The points of a request, packed; *room gets a copy if one had to be made. */
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
    evaluation p = {.e = e, .request = &r, .seconds = seconds};
    char text[DS_REQUEST_TEXT] = "out of memory";
    if (e == NULL) {
        return DS_E_ARG;
    }
    e->message[0] = '\0';
    if (done != NULL) {
        *done = 0;
    }
    if (ds_request_read(&r, rows, NULL, results, text) != 0) {
        return set_message(e, DS_E_ARG, "%s", text);
    }
    ds_status status = check_request(e, &r);
    if (status != DS_OK) {
        return status;
    }
    int rc = ds_queries_pack(&p.asked, &r, e->facts->channels, e->facts->info.n, text);
    if (rc != 0) {
        status = set_message(e, rc < 0 ? DS_E_ARG : DS_E_NOMEM, "%s", text);
    } else {
        double *room;
        uint64_t *none = r.rows.noise_key == NULL ? calloc(r.rows.count, sizeof *none) : NULL;
        status = evaluate_rows(&p, dense(&r.rows, &room), r.rows.noise_key != NULL ? r.rows.noise_key : none);
        free(none);
        free(room);
        ds_queries_reply(&p.asked, &r, p.done);
    }
    ds_queries_free(&p.asked);
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

/* ---- scenes: metrics and frames of an episode ---- */

_Static_assert(DS_FRAMES_ALL == (int)DS_KEEP_ALL && DS_FRAMES_FEW == (int)DS_KEEP_FEW &&
                   DS_FRAMES_NONE == (int)DS_KEEP_METRICS,
               "the program's numbers are the host's");

/* Keeps the scene of a point inside the bounds. */
static ds_status simulate(ds_environment *e, const double *x, uint64_t noise_key, uint32_t frames,
                          ds_answer *a)
{
    ds_error error = {0, ""};
    int rc = ds_episode_scene(&e->source, x, noise_key, frames, a, &e->scene, &error);
    if (rc == DS_POOL_STOPPED || rc == DS_EXIT_SIGINT) {
        return outcome_of(e, rc, &error);
    }
    if (rc != 0) {
        return set_message(e, rc == DS_EXIT_MEMORY ? DS_E_NOMEM : DS_E_DATA, "%s", error.text);
    }
    if (a->loss < (double)INFINITY && e->scene == NULL) {
        return set_message(e, DS_E_UNSUPPORTED, "%s has no scene", e->id);
    }
    if (a->outcome != DS_EVAL_OK) {
        set_message(e, DS_OK, "%s", a->message[0] != '\0' ? a->message : ds_outcome_name(a->outcome));
    }
    return DS_OK;
}

DS_EXPORT ds_status ds_environment_simulate(ds_environment *e, const double *x, uint64_t noise_key,
                                            uint32_t frames, double *loss, uint32_t *outcome)
{
    DS_LOCALE_C_HERE;
    ds_answer a = {.loss = INFINITY, .outcome = DS_EVAL_ERROR};
    if (e == NULL) {
        return DS_E_ARG;
    }
    e->message[0] = '\0';
    ds_snapshot_free(e->scene);
    e->scene = NULL;
    if (frames > DS_FRAMES_NONE) {
        return set_message(e, DS_E_ARG, "frames is %u: allowed are DS_FRAMES_ALL, _FEW and _NONE", frames);
    }
    if (x == NULL && !e->evaluated) {
        return set_message(e, DS_E_STATE, "no point is given, and none was evaluated before");
    }
    if (x != NULL && !is_inside(e, x, 0)) {
        return DS_E_ARG;
    }
    if (atomic_load(&e->stop) != 0) {
        return outcome_of(e, DS_POOL_STOPPED, NULL);
    }
    ds_status status =
        x != NULL ? simulate(e, x, noise_key, frames, &a) : simulate(e, e->x, e->noise_key, frames, &a);
    if (loss != NULL) {
        *loss = a.loss;
    }
    if (outcome != NULL) {
        *outcome = a.outcome;
    }
    return status;
}

DS_EXPORT ds_status ds_environment_scene(const ds_environment *e, ds_scene_view *out)
{
    DS_LOCALE_C_HERE;
    if (e == NULL || !TAKES(ds_scene_view, out, ground)) {
        return DS_E_ARG;
    }
    const ds_snapshot *s = e->scene;
    if (s == NULL) {
        return DS_E_STATE;
    }
    *out = (ds_scene_view){.struct_size = out->struct_size,
                           .flat = s->flat,
                           .frames = s->frames,
                           .kept = s->kept,
                           .frame = s->frame,
                           .bodies = s->bodies,
                           .metrics = s->metrics,
                           .dt = s->dt,
                           .ground = s->ground};
    memcpy(out->box, s->box, sizeof out->box);
    return DS_OK;
}

DS_EXPORT ds_status ds_environment_body(const ds_environment *e, uint64_t b, ds_body_view *out)
{
    if (e == NULL || !TAKES(ds_body_view, out, data)) {
        return DS_E_ARG;
    }
    if (e->scene == NULL) {
        return DS_E_STATE;
    }
    if (b >= e->scene->bodies) {
        return DS_E_ARG;
    }
    const ds_snapshot_body *body = &e->scene->body[b];
    *out = (ds_body_view){.struct_size = out->struct_size,
                          .shape = body->shape,
                          .role = body->role,
                          .variety = body->variety,
                          .width = body->width,
                          .count = body->count,
                          .name = body->name,
                          .index = body->index,
                          .index_count = body->index_count,
                          .data = body->data};
    memcpy(out->size, body->size, sizeof out->size);
    return DS_OK;
}

DS_EXPORT ds_status ds_environment_metric(const ds_environment *e, uint64_t m, ds_metric_view *out)
{
    if (e == NULL || !TAKES(ds_metric_view, out, count)) {
        return DS_E_ARG;
    }
    if (e->scene == NULL) {
        return DS_E_STATE;
    }
    if (m >= e->scene->metrics) {
        return DS_E_ARG;
    }
    const ds_snapshot_metric *metric = &e->scene->metric[m];
    *out = (ds_metric_view){.struct_size = out->struct_size,
                            .name = metric->name,
                            .unit = metric->unit,
                            .values = metric->values,
                            .count = e->scene->frames};
    return DS_OK;
}

/* ---- stepwise control ---- */

DS_EXPORT uint64_t ds_environment_lanes(const ds_environment *e)
{
    return e != NULL && e->facts->steps.horizon > 0 ? ds_pool_lanes(e->source.pool) : 0;
}

DS_EXPORT ds_status ds_environment_episodes(const ds_environment *e, ds_steps_info *out)
{
    if (e == NULL || !TAKES(ds_steps_info, out, max_lanes)) {
        return DS_E_ARG;
    }
    if (e->facts->steps.horizon == 0) {
        return DS_E_UNSUPPORTED;
    }
    uint32_t size = out->struct_size;
    memcpy(out, &e->facts->steps, size < sizeof *out ? size : sizeof *out);
    out->struct_size = size;
    return DS_OK;
}

/* Makes the lanes at first use. */
static ds_status open_lanes(ds_environment *e)
{
    if (e->facts->steps.horizon == 0) {
        return set_message(e, DS_E_UNSUPPORTED, "%s has no stepwise control", e->id);
    }
    e->lanes = ds_pool_lanes(e->source.pool);
    e->episode = e->episode != NULL ? e->episode : calloc(e->lanes, sizeof *e->episode);
    e->step = e->step != NULL ? e->step : calloc(e->lanes, sizeof *e->step);
    e->named = e->named != NULL ? e->named : calloc(e->lanes, 1);
    return e->episode != NULL && e->step != NULL && e->named != NULL
               ? DS_OK
               : set_message(e, DS_E_NOMEM, "out of memory for episodes");
}

static ds_status check_action(ds_environment *e, const double *action, uint64_t row, uint64_t lane)
{
    const ds_pool_env *f = e->facts;
    uint64_t m = f->steps.n_act, first = e->episode[lane].steps * m;
    for (uint64_t i = 0; i < m; i++) {
        if (!(action[i] >= f->lower[first + i] && action[i] <= f->upper[first + i])) { /* also catches NaN */
            return set_message(e, DS_E_ARG,
                               "row %llu, number %llu of the action is %s, outside of its bounds "
                               "%s..%s",
                               (unsigned long long)row, (unsigned long long)i, DS_TEXT_OF(action[i]),
                               DS_TEXT_OF(f->lower[first + i]), DS_TEXT_OF(f->upper[first + i]));
        }
    }
    return DS_OK;
}

/* The structs of a call, in this version's size. */
typedef struct call {
    ds_step_rows rows;
    ds_step_results results;
} call;

static ds_status check_lane(ds_environment *e, const call *c, uint64_t k, int stepping)
{
    const uint64_t lane = c->rows.lane[k];
    if (lane >= e->lanes || e->named[lane]) {
        return set_message(e, DS_E_ARG, "row %llu: lane %llu is not below %llu, or named twice",
                           (unsigned long long)k, (unsigned long long)lane, (unsigned long long)e->lanes);
    }
    e->named[lane] = 1;
    if (stepping && !e->episode[lane].open) {
        return set_message(e, DS_E_STATE, "row %llu: lane %llu holds no open episode; reset it",
                           (unsigned long long)k, (unsigned long long)lane);
    }
    return stepping ? check_action(e, c->rows.action + k * e->facts->steps.n_act, k, lane) : DS_OK;
}

/* Can these rows be begun, or stepped? */
static ds_status check_rows(ds_environment *e, const call *c, int stepping)
{
    const ds_step_results *r = &c->results;
    ds_status status = DS_OK;
    if (c->rows.count < 1 || c->rows.count > e->lanes || c->rows.lane == NULL || r->obs == NULL ||
        (stepping && (c->rows.action == NULL || r->reward == NULL || r->ended == NULL || r->loss == NULL))) {
        return set_message(e, DS_E_ARG, "no rows, more rows than lanes, or a buffer is NULL");
    }
    for (uint64_t k = 0; k < c->rows.count && status == DS_OK; k++) {
        status = check_lane(e, c, k, stepping);
    }
    memset(e->named, 0, e->lanes);
    return status;
}

/* The common beginning of both kinds of calls. */
static ds_status prepare(ds_environment *e, const ds_step_rows *rows, const ds_step_results *results,
                         uint64_t *done, int stepping, call *c)
{
    ds_error why = {0, "rows or results is NULL"};
    if (e == NULL) {
        return DS_E_ARG;
    }
    e->message[0] = '\0';
    if (done != NULL) {
        *done = 0;
    }
    if (rows == NULL || results == NULL ||
        DS_SIZED_READ(&c->rows, rows, DS_STEP_ROWS_SIZE_1_0, "", "the rows", &why) != 0 ||
        DS_SIZED_READ(&c->results, results, DS_STEP_RESULTS_SIZE_1_0, "", "the results", &why) != 0) {
        return set_message(e, DS_E_ARG, "%s", why.text);
    }
    ds_status status = open_lanes(e);
    return status != DS_OK ? status : check_rows(e, c, stepping);
}

/* Sends the rows in e->step to the lanes. */
static ds_status play(ds_environment *e, const call *c)
{
    ds_error error = {0, ""};
    for (uint64_t k = 0; k < c->rows.count; k++) {
        const uint64_t lane = c->rows.lane[k];
        const open_episode *ep = &e->episode[lane];
        e->step[k] =
            (ds_lane_step){.lane = lane, .key = ep->key, .step = ep->steps, .x = ep->x, .obs = ep->obs};
    }
    return outcome_of(e, ds_pool_step(e->source.pool, c->rows.count, e->step, &error), &error);
}

/* The message of a call is its first failure. */
static void note(ds_environment *e, const ds_answer *a)
{
    if (a->outcome != DS_EVAL_OK && e->message[0] == '\0') {
        set_message(e, DS_OK, "%s", a->message[0] != '\0' ? a->message : ds_outcome_name(a->outcome));
    }
}

DS_EXPORT ds_status ds_environment_reset(ds_environment *e, const ds_step_rows *rows,
                                         const ds_step_results *results, uint64_t *done)
{
    DS_LOCALE_C_HERE;
    call c;
    ds_status status = prepare(e, rows, results, done, 0, &c);
    if (status != DS_OK) {
        return status;
    }
    uint64_t n = e->facts->info.n, n_obs = e->facts->steps.n_obs;
    for (uint64_t k = 0; k < c.rows.count; k++) {
        open_episode *ep = &e->episode[c.rows.lane[k]];
        ep->open = 0;
        ep->steps = 0;
        ep->key = c.rows.noise_key != NULL ? c.rows.noise_key[k] : 0;
        ep->x = ep->x != NULL ? ep->x : calloc(n + n_obs, sizeof *ep->x);
        if (ep->x == NULL) {
            return set_message(e, DS_E_NOMEM, "out of memory for an episode");
        }
        ep->obs = ep->x + n;
        memset(ep->obs, 0, n_obs * sizeof *ep->obs);
    }
    status = play(e, &c);
    for (uint64_t k = 0; status == DS_OK && k < c.rows.count; k++) {
        open_episode *ep = &e->episode[c.rows.lane[k]];
        const ds_answer *a = &e->step[k].answer;
        ep->open = a->outcome == DS_EVAL_OK;
        memcpy(c.results.obs + k * n_obs, ep->obs, n_obs * sizeof *ep->obs);
        if (c.results.outcome != NULL) {
            c.results.outcome[k] = a->outcome;
        }
        if (c.results.cost_steps != NULL) {
            c.results.cost_steps[k] = a->cost_steps;
        }
        note(e, a);
    }
    if (done != NULL) {
        *done = status == DS_OK ? c.rows.count : 0;
    }
    return status;
}

/* Writes the result of a step to row k. */
static void take_step(ds_environment *e, const call *c, uint64_t k)
{
    open_episode *ep = &e->episode[c->rows.lane[k]];
    const ds_lane_step *out = &e->step[k];
    const ds_step_results *r = &c->results;
    uint64_t n_obs = e->facts->steps.n_obs;
    int failed = out->answer.outcome != DS_EVAL_OK;
    memcpy(r->obs + k * n_obs, ep->obs, n_obs * sizeof *ep->obs);
    r->reward[k] = failed ? 0.0 : out->reward;
    r->ended[k] = failed ? DS_STEPS_TERMINATED : out->ended;
    r->loss[k] = failed ? (double)INFINITY : out->ended != 0 ? out->answer.loss : 0.0;
    if (r->outcome != NULL) {
        r->outcome[k] = out->answer.outcome;
    }
    if (r->cost_steps != NULL) {
        r->cost_steps[k] = out->answer.cost_steps;
    }
    ep->open = r->ended[k] == DS_STEPS_CONTINUES;
    note(e, &out->answer);
}

DS_EXPORT ds_status ds_environment_step(ds_environment *e, const ds_step_rows *rows,
                                        const ds_step_results *results, uint64_t *done)
{
    DS_LOCALE_C_HERE;
    call c;
    ds_status status = prepare(e, rows, results, done, 1, &c);
    if (status != DS_OK) {
        return status;
    }
    uint64_t m = e->facts->steps.n_act;
    for (uint64_t k = 0; k < c.rows.count; k++) {
        open_episode *ep = &e->episode[c.rows.lane[k]];
        memcpy(ep->x + ep->steps * m, c.rows.action + k * m, m * sizeof *ep->x);
        ep->steps++;
    }
    status = play(e, &c);
    for (uint64_t k = 0; status == DS_OK && k < c.rows.count; k++) {
        take_step(e, &c, k);
    }
    if (done != NULL) {
        *done = status == DS_OK ? c.rows.count : 0;
    }
    return status;
}
