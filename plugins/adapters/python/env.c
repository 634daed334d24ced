/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - an environment whose loss() is Python: x goes into the shared memory, loss and gradient come back
 * in it. */
#include "adapters/python/adapted.h"

#include <diffsim/ext/channel.h>
#include <diffsim/ext/scene.h>
#include <diffsim/ext/variables.h>
#include <diffsim/helper/fail.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/python/environment.h"

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

ds_status python_env_evaluate(void *self, ds_eval *io)
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
