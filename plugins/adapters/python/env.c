/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - an environment whose loss() is Python: x goes into the shared memory, loss and gradient come back
 * in it. */
#include "adapters/python/adapted.h"
#include "adapters/python/picture.h"

#include <diffsim/ext/channel.h>
#include <diffsim/ext/scene.h>
#include <diffsim/ext/variables.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/fail.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct python_env {
    child child;
    const ds_host *host;
    ds_env_info info;
    uint32_t has_scene;
    uint64_t residuals;  /* 0 = none */
    uint32_t can;        /* be asked about them */
    uint32_t batches;    /* TALK_BATCH_* */
    int batch_failed;    /* reported once */
    ds_steps_info steps; /* horizon 0 = no stepwise control */
    int open;            /* an episode is */
    double *box;         /* lower, upper, x0 */
    json_t *variables;   /* [name, unit, group] of each; NULL = they have none */
    picture picture;
} python_env;

/* ---- set-up ---- */

static void env_destroy(void *self)
{
    python_env *p = self;
    if (p != NULL) {
        child_end(&p->child);
        picture_clear(&p->picture);
        json_decref(p->variables);
        free(p->box);
        free(p);
    }
}

/* What Python has answered to TALK_CREATE. */
enum { ROWS = 1024 /* of one call of a class that takes many */ };

static ds_status take_facts(python_env *p)
{
    const talk_head *h = p->child.talk.head;
    const uint64_t n = h->n;
    if (n == 0 || n > DS_MAX_VARIABLES || p->child.talk.mapped < 24 * n + h->bytes) {
        return ds_host_fail(p->host, DS_E_DATA, "its Python process reports %llu variables",
                            (unsigned long long)n);
    }
    p->info = (ds_env_info){.flags = h->has_gradient ? 0 : DS_INFO_NO_GRADIENT,
                            .n = n,
                            .steps = h->count,
                            .dt = h->loss,
                            .loss_floor = h->loss_floor,
                            .tolerance = h->target,
                            .max_rows = h->batches != 0 ? ROWS : 1};
    p->has_scene = h->has_scene;
    p->batches = h->batches;
    p->steps = (ds_steps_info){.flags = h->time_limit ? DS_STEPS_TIME_LIMIT : 0,
                               .horizon = h->horizon,
                               .n_act = h->n_act,
                               .n_obs = h->n_obs,
                               .dt = h->reward};
    if (p->steps.horizon > 0 && (p->steps.n_obs > DS_MAX_OBSERVED || p->steps.n_act > n ||
                                 p->child.talk.mapped < (p->steps.n_act + p->steps.n_obs) * sizeof(double))) {
        return ds_host_fail(p->host, DS_E_DATA, "its Python process reports %llu numbers of an observation",
                            (unsigned long long)p->steps.n_obs);
    }
    p->residuals = h->residuals <= DS_MAX_ELEMENTS ? h->residuals : 0;
    p->can = h->can;
    p->box = malloc(24 * n);
    if (p->box == NULL) {
        return ds_host_fail(p->host, DS_E_NOMEM, "out of memory");
    }
    memcpy(p->box, p->child.talk.room, 24 * n);
    p->variables =
        h->bytes > 0 ? json_loadb(p->child.talk.room + 24 * n, h->bytes, JSON_DECODE_ANY, NULL) : NULL;
    return DS_OK;
}

ds_status adapted_create_env(adapted *a, const ds_host *host, void **out)
{
    python_env *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    p->host = host;
    ds_status st = adapted_begin(a, host, &p->child);
    if (st != DS_OK) {
        free(p);
        return st;
    }
    st = take_facts(p);
    if (st != DS_OK) {
        env_destroy(p);
        return st;
    }
    *out = p;
    return DS_OK;
}

static ds_status env_info(void *self, ds_env_info *out)
{
    const python_env *p = self;
    ds_env_info all = p->info;
    all.struct_size = out->struct_size;
    memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
    return DS_OK;
}

static ds_status env_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    const python_env *p = self;
    memcpy(lower, p->box, n * sizeof *lower);
    memcpy(upper, p->box + n, n * sizeof *upper);
    if (x0 != NULL) {
        memcpy(x0, p->box + 2 * n, n * sizeof *x0);
    }
    return DS_OK;
}

/* ---- evaluations ---- */

/* Numbers of v, and of the answer. */
static uint64_t asked_with(const python_env *p, uint32_t op)
{
    return op == DS_QUERY_JV ? p->info.n : op == DS_QUERY_JTV ? p->residuals : 0;
}

static uint64_t answered_with(const python_env *p, uint32_t op)
{
    return op == DS_QUERY_JTV ? p->info.n : p->residuals;
}

/* The queries of an evaluation, after x and the gradient. */
static ds_status put_questions(python_env *p, const ds_eval *io)
{
    talk_head *h = p->child.talk.head;
    const uint64_t asks = p->residuals > 0 ? io->queries : 0;
    uint64_t at = 2 * p->info.n;
    for (uint64_t k = 0; k < asks; k++) {
        at += asked_with(p, io->query[k]->op) + answered_with(p, io->query[k]->op);
    }
    if (asks > DS_MAX_QUERIES || talk_grow(&p->child.talk, at * sizeof(double)) != 0) {
        return ds_host_fail(p->host, DS_E_NOMEM, "no memory for the questions of an evaluation");
    }
    at = 2 * p->info.n;
    h->asks = (uint32_t)asks;
    for (uint64_t k = 0; k < asks; k++) {
        const ds_eval_query *q = io->query[k];
        const uint64_t in = asked_with(p, q->op);
        h->ask[k] = q->op;
        if (in > 0) {
            memcpy(p->child.talk.room + at * sizeof(double), q->v, in * sizeof(double));
        }
        at += in + answered_with(p, q->op);
    }
    return DS_OK;
}

static void take_answers(const python_env *p, ds_eval *io)
{
    uint64_t at = 2 * p->info.n;
    for (uint64_t k = 0; k < p->child.talk.head->asks; k++) {
        ds_eval_query *q = io->query[k];
        at += asked_with(p, q->op);
        memcpy(q->out, p->child.talk.room + at * sizeof(double), answered_with(p, q->op) * sizeof(double));
        q->kind = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE
                  : q->op == DS_QUERY_JV  ? DS_GRAD_FORWARD
                                          : DS_GRAD_ADJOINT;
        at += answered_with(p, q->op);
    }
}

static ds_status python_env_evaluate(void *self, ds_eval *io)
{
    python_env *p = self;
    talk *t = &p->child.talk;
    talk_head *h = t->head;
    const size_t bytes = p->info.n * sizeof(double);
    picture_clear(&p->picture);
    p->open = 0;
    ds_status st = child_settle(&p->child, p->host); /* the call still running reads the x there */
    if (st != DS_OK) {
        return st;
    }
    st = put_questions(p, io);
    if (st != DS_OK) {
        return st;
    }
    memcpy(t->room, io->x, bytes);
    h->want = io->want & (DS_WANT_GRAD | DS_WANT_SCENE);
    h->key = io->noise_key;
    st = child_ask(&p->child, p->host, TALK_EVALUATE);
    if (st != DS_OK) {
        return st > 0 ? st : ds_host_fail(p->host, st, "%.500s", h->text);
    }
    io->loss = h->loss;
    io->outcome = h->outcome;
    io->bad_step = h->bad_step;
    io->cost_steps = h->cost;
    if (h->outcome != DS_EVAL_OK && h->text[0] != '\0') {
        p->host->error(p->host, DS_E_NUMERIC, h->text);
    }
    if ((io->want & DS_WANT_GRAD) != 0 && io->grad != NULL) {
        memcpy(io->grad, t->room + bytes, bytes);
        io->grad_kind = h->grad_kind;
    }
    if (h->outcome <= DS_EVAL_BAD_GRAD) {
        take_answers(p, io);
    }
    p->picture.possible = (io->want & DS_WANT_SCENE) != 0 && h->outcome <= DS_EVAL_BAD_GRAD;
    return DS_OK;
}

/* ---- many points in one call of Python: points and noise keys go into the shared memory, losses and
 * gradients follow them there ---- */

static ds_status put_points(python_env *p, const ds_rows *rows)
{
    talk *t = &p->child.talk;
    const size_t n = (size_t)p->info.n;
    const uint64_t count = rows->count;
    const ds_status st = child_settle(&p->child, p->host);
    if (st != DS_OK) {
        return st;
    }
    if (talk_grow(t, count * (2 * n + 2) * sizeof(double)) != 0) {
        return ds_host_fail(p->host, DS_E_NOMEM, "no memory for %llu points", (unsigned long long)count);
    }
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t key = rows->noise_key != NULL ? rows->noise_key[k] : 0;
        memcpy(t->room + k * n * sizeof(double), rows->x + k * rows->stride, n * sizeof(double));
        memcpy(t->room + (count * n + k) * sizeof(double), &key, sizeof key);
    }
    t->head->count = count;
    t->head->want = rows->want & DS_WANT_GRAD;
    return DS_OK;
}

/* One that has no loss gets its message alone, when the host evaluates it again. */
static void take_point(const python_env *p, uint64_t count, uint64_t k, uint32_t want, const ds_results *out)
{
    const size_t n = (size_t)p->info.n;
    const char *losses = p->child.talk.room + count * (n + 1) * sizeof(double),
               *grads = losses + count * sizeof(double);
    memcpy(&out->loss[k], losses + k * sizeof(double), sizeof(double));
    out->outcome[k] = isfinite(out->loss[k]) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    out->loss[k] = isfinite(out->loss[k]) ? out->loss[k] : (double)INFINITY;
    if ((want & DS_WANT_GRAD) != 0) {
        memcpy(out->grad + k * out->stride, grads + k * n * sizeof(double), n * sizeof(double));
        out->grad_kind[k] = DS_GRAD_ADJOINT;
    }
}

/* Can these rows go into one call of Python? */
static int python_env_takes(const python_env *p, const ds_rows *rows)
{
    const uint32_t needed = (rows->want & DS_WANT_GRAD) != 0 ? TALK_BATCH_GRADIENT : TALK_BATCH_LOSS;
    return rows->count > 1 && (p->batches & needed) != 0 && rows->queries == 0 &&
           (rows->want & DS_WANT_SCENE) == 0;
}

static ds_status python_env_batch(python_env *p, const ds_rows *rows, const ds_results *results)
{
    picture_clear(&p->picture);
    p->open = 0;
    ds_status st = put_points(p, rows);
    st = st != DS_OK ? st : child_ask(&p->child, p->host, TALK_MANY);
    if (st < 0 && !p->batch_failed) {
        p->batch_failed = 1;
        ds_host_say(p->host, DS_LOG_WARNING, "%.500s; such points are evaluated one by one",
                    p->child.talk.head->text);
    }
    for (uint64_t k = 0; st == DS_OK && k < rows->count; k++) {
        take_point(p, rows->count, k, rows->want, results);
    }
    return st;
}

/* ---- names of the variables ---- */

static const char *word(const json_t *list, size_t k)
{
    const char *text = json_string_value(json_array_get(list, k));
    return text != NULL ? text : "";
}

static ds_status env_describe(void *self, uint64_t i, ds_variable *out)
{
    const json_t *of = json_array_get(((python_env *)self)->variables, i);
    out->flags = 0;
    out->name = word(of, 0);
    out->unit = word(of, 1);
    out->group = word(of, 2);
    return DS_OK;
}

/* ---- residuals ---- */

static ds_status env_channels(void *self, uint64_t *count)
{
    (void)self;
    *count = 1;
    return DS_OK;
}

static ds_status env_channel(void *self, uint64_t i, ds_channel *out)
{
    const python_env *p = self;
    (void)i;
    out->role = DS_CHANNEL_RESIDUAL;
    out->type = DS_TYPE_F64;
    out->ops = p->can;
    out->ndim = 1;
    out->shape[0] = p->residuals;
    out->name = "residuals";
    out->unit = "";
    out->doc = "What residuals() returns.";
    return DS_OK;
}

/* ---- scene ---- */

/* Requests it from Python, the first time after an evaluation. */
static ds_status ready(python_env *p)
{
    if (!p->picture.possible) {
        return DS_E_STATE;
    }
    if (p->picture.json != NULL) {
        return DS_OK;
    }
    const ds_status st = child_ask(&p->child, p->host, TALK_SCENE);
    const talk_head *h = p->child.talk.head;
    if (st != DS_OK) {
        return st > 0 ? st : ds_host_fail(p->host, st, "%.500s", h->text);
    }
    return picture_read(&p->picture, &p->child.talk) == 0
               ? DS_OK
               : ds_host_fail(p->host, DS_E_DATA,
                              "metrics() or scene(): out of memory, or the result is damaged");
}

static ds_status scene_info(void *self, ds_scene_info *out)
{
    python_env *p = self;
    const ds_status st = ready(p);
    if (st == DS_OK) {
        picture_info(&p->picture, &p->info, out);
    }
    return st;
}

static ds_status scene_body(void *self, uint64_t b, ds_scene_body *out)
{
    python_env *p = self;
    const ds_status st = ready(p);
    return st != DS_OK ? st : picture_body(&p->picture, b, out);
}

static ds_status scene_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    python_env *p = self;
    const ds_status st = ready(p);
    return st != DS_OK ? st : picture_frame(&p->picture, k, b, capacity, out);
}

static ds_status scene_metric(void *self, uint64_t m, ds_scene_metric *out)
{
    python_env *p = self;
    const ds_status st = ready(p);
    return st != DS_OK ? st : picture_metric(&p->picture, m, out);
}

/* ---- stepwise control: actions go into the shared memory, observations follow them there ---- */

static const char *observed(const python_env *p)
{
    return p->child.talk.room + p->steps.n_act * sizeof(double);
}

static ds_status steps_info(void *self, ds_steps_info *out)
{
    const python_env *p = self;
    ds_steps_info all = p->steps;
    all.struct_size = out->struct_size;
    memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
    return DS_OK;
}

static ds_status begin_one(void *self, uint64_t lane, uint64_t noise_key, double *obs)
{
    python_env *p = self;
    (void)lane; /* an instance holds one episode */
    picture_clear(&p->picture);
    p->open = 0;
    ds_status st = child_settle(&p->child, p->host);
    if (st != DS_OK) {
        return st;
    }
    p->child.talk.head->key = noise_key;
    st = child_ask(&p->child, p->host, TALK_RESET);
    if (st != DS_OK) {
        return st > 0 ? st : ds_host_fail(p->host, st, "%.500s", p->child.talk.head->text);
    }
    memcpy(obs, observed(p), p->steps.n_obs * sizeof *obs);
    p->open = 1;
    return DS_OK;
}

static ds_status step_one(void *self, uint64_t lane, ds_step *io)
{
    python_env *p = self;
    (void)lane;
    talk_head *h = p->child.talk.head;
    if (!p->open) {
        return ds_host_fail(p->host, DS_E_STATE, "step() without an episode: reset() begins one");
    }
    p->open = 0;
    ds_status st = child_settle(&p->child, p->host);
    if (st != DS_OK) {
        return st;
    }
    memcpy(p->child.talk.room, io->action, p->steps.n_act * sizeof *io->action);
    st = child_ask(&p->child, p->host, TALK_STEP);
    if (st != DS_OK) {
        return st > 0 ? st : ds_host_fail(p->host, st, "%.500s", h->text);
    }
    io->outcome = h->outcome;
    io->ended = h->ended;
    io->reward = h->reward;
    io->loss = h->loss;
    io->cost_steps = 1;
    if (h->outcome != DS_EVAL_OK) {
        p->host->error(p->host, DS_E_NUMERIC, h->text);
        return DS_OK;
    }
    memcpy(io->obs, observed(p), p->steps.n_obs * sizeof *io->obs);
    p->open = h->ended == DS_STEPS_CONTINUES;
    return DS_OK;
}

static ds_status steps_begin(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_begin_each(self, rows, results, ((const python_env *)self)->steps.n_obs, begin_one);
}

static ds_status steps_step(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    const python_env *p = self;
    return ds_step_each(self, rows, results, p->steps.n_act, p->steps.n_obs, step_one);
}

/* For instances with steps.horizon > 0. */
static const ds_env_steps python_env_steps = {
    .struct_size = sizeof python_env_steps, .info = steps_info, .begin = steps_begin, .step = steps_step};

static ds_status env_evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    return python_env_takes(self, rows) ? python_env_batch(self, rows, results)
                                        : ds_eval_each(self, rows, results, python_env_evaluate);
}

static const void *env_extension(void *self, const char *id)
{
    static const ds_scene scene = {.struct_size = sizeof scene,
                                   .info = scene_info,
                                   .body = scene_body,
                                   .frame = scene_frame,
                                   .metric = scene_metric};
    static const ds_env_variables variables = {.struct_size = sizeof variables, .describe = env_describe};
    static const ds_env_channels channels = {
        .struct_size = sizeof channels, .count = env_channels, .describe = env_channel};
    const python_env *p = self;
    if (strcmp(id, DS_EXT_CHANNELS) == 0 && p->residuals > 0) {
        return &channels;
    }
    if (strcmp(id, DS_EXT_SCENE) == 0 && p->has_scene) {
        return &scene;
    }
    if (strcmp(id, DS_EXT_STEPS) == 0 && p->steps.horizon > 0) {
        return &python_env_steps;
    }
    return strcmp(id, DS_EXT_VARIABLES) == 0 && p->variables != NULL ? &variables : NULL;
}

const ds_env_vtable adapted_env = {.struct_size = sizeof adapted_env,
                                   .destroy = env_destroy,
                                   .info = env_info,
                                   .bounds = env_bounds,
                                   .evaluate = env_evaluate,
                                   .get_extension = env_extension};
