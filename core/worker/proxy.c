/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.c - an optimizer in a worker process. Its objective copies each call into the shared memory, and the
 * results back into the plugin's buffers: as many rows as were evaluated, so that the plugin sees what it
 * would see in the host. Its log goes to stderr, like that of environments in workers; its parameters are in
 * this process. */
#include "config.h"

#include "worker/proxy.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protect/call_state.h"
#include "worker/remote.h"

struct ds_proxy {
    const ds_module *module;
    ds_services services;
    void *self;
    ds_remote_view view;
    ds_remote_shape shape;
    ds_problem problem;
    double *bounds; /* of the problem */
    /* The arguments of run(). */
    ds_objective objective;
    ds_objective_steps episodes;
    ds_objective_steps_gradient gradients;
    ds_steps_info steps_info;
    uint64_t lanes;
    /* the structs of the variables follow in the same block; NULL = not requested yet */
    ds_named_variable *named;
    ds_objective_variables variables;
    ds_objective_channels channels;
    ds_objective_files files;
    ds_objective_progress progress;
    char *texts;               /* of the files, as the host sent them */
    ds_channel_entry *channel; /* as the host sent them */
    const ds_channel **list;   /* in the same block */
    /* Calls come from the thread of run(), one at a time. */
    pthread_t thread;
    int busy;
};

/* ---- calls ---- */

/* Begins a call of the plugin; 0 = refused, and the host reports that. */
static int enter(ds_proxy *p)
{
    if (!pthread_equal(p->thread, pthread_self()) || p->busy) {
        atomic_store(&p->view.head->strayed, 1);
        return 0;
    }
    p->busy = 1;
    return 1;
}

/* Makes a call whose rows are in place; *c becomes the host's reply. Ends the process if the host is gone. */
static void exchange(ds_proxy *p, ds_remote_call *c)
{
    ds_remote_view *v = &p->view;
    v->head->call = *c;
    ds_remote_pass(v);
    while (!ds_remote_await(v)) {
        char bytes[64];
        ssize_t got = recv(v->socket, bytes, sizeof(bytes), 0);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            _exit(DS_EXIT_UNMET);
        }
    }
    *c = v->head->call;
}

static ds_status no_room(ds_proxy *p)
{
    p->services.host.error(&p->services.host, DS_E_NOMEM, "no shared memory for the rows of a call");
    return DS_E_NOMEM;
}

static ds_status make_room(ds_proxy *p, uint64_t bytes)
{
    ds_remote_call c = {.what = DS_REMOTE_ROOM, .count = bytes};
    if (bytes <= p->view.mapped) {
        return DS_OK;
    }
    if (bytes == UINT64_MAX) {
        return no_room(p);
    }
    exchange(p, &c);
    return c.status == DS_OK && ds_remote_follow(&p->view) == 0 ? DS_OK : no_room(p);
}

/* Copies an array of the plugin into the rows, packed. */
static void put(const ds_proxy *p, const ds_remote_array *a, uint64_t count)
{
    const uint64_t stride = a->stride > 0 ? a->stride : a->each;
    unsigned char *to = p->view.rows + a->at;
    if (a->in == NULL || a->each == 0) {
        return;
    }
    if (stride == a->each) {
        memcpy(to, a->in, a->each * count);
        return;
    }
    for (uint64_t k = 0; k < count; k++) {
        memcpy(to + k * a->each, (const unsigned char *)a->in + k * stride, a->each);
    }
}

/* Copies the first `done` rows of an array to the plugin. */
static void get(const ds_proxy *p, const ds_remote_array *a, uint64_t done)
{
    const uint64_t stride = a->stride > 0 ? a->stride : a->each, bytes = a->bytes > 0 ? a->bytes : a->each;
    const unsigned char *from = p->view.rows + a->at;
    if (a->out == NULL || a->each == 0) {
        return;
    }
    if (stride == a->each && bytes == a->each) {
        memcpy(a->out, from, a->each * done);
        return;
    }
    for (uint64_t k = 0; k < done; k++) {
        memcpy((unsigned char *)a->out + k * stride, from + k * a->each, bytes < a->each ? bytes : a->each);
    }
}

/* Makes a call with the arrays whose pointers are set. Afterwards c->done is what the host left there. */
static ds_status call(ds_proxy *p, ds_remote_call *c, ds_remote_array array[DS_REMOTE_ARRAYS])
{
    c->done = DS_REMOTE_UNTOUCHED;
    for (int k = 0; k < DS_REMOTE_ARRAYS; k++) {
        c->given |= (uint64_t)(array[k].in != NULL || array[k].out != NULL) << k;
    }
    ds_status st = make_room(p, ds_remote_lay_out(&p->shape, c, array));
    if (st != DS_OK) {
        return st;
    }
    for (int k = 0; k < DS_REMOTE_ARRAYS; k++) {
        put(p, &array[k], c->count);
    }
    uint64_t count = c->count;
    exchange(p, c);
    uint64_t done = c->done == DS_REMOTE_UNTOUCHED ? 0 : c->done < count ? c->done : count;
    for (int k = 0; k < DS_REMOTE_ARRAYS; k++) {
        get(p, &array[k], done);
    }
    return c->status;
}

/* Copies as much of a plugin's struct as this version knows; 0 where it is shorter than `least`. */
static uint32_t take(void *out, size_t size, const void *given, size_t least)
{
    uint32_t theirs = 0;
    memset(out, 0, size);
    if (given != NULL) {
        memcpy(&theirs, given, sizeof(theirs));
    }
    theirs = theirs > size ? (uint32_t)size : theirs;
    if (theirs < least) {
        return 0;
    }
    memcpy(out, given, theirs);
    return theirs;
}

static void copy_tag(ds_remote_call *c, const char *tag)
{
    strncat(c->tag, tag != NULL ? tag : "", sizeof(c->tag) - 1);
}

/* ---- extensions ---- */

static ds_status request_extension(ds_proxy *p, const char *id, ds_remote_call *c)
{
    ds_remote_array none[DS_REMOTE_ARRAYS] = {{0}};
    *c = (ds_remote_call){.what = DS_REMOTE_EXTENSION};
    strncat(c->text, id, sizeof(c->text) - 1);
    return call(p, c, none);
}

/* The channels, requested once. */
static const ds_objective_channels *channels(ds_proxy *p)
{
    ds_remote_call c;
    if (p->list != NULL) {
        return &p->channels;
    }
    if (request_extension(p, DS_EXT_OBJECTIVE_CHANNELS, &c) != DS_OK || ds_remote_follow(&p->view) != 0) {
        return NULL;
    }
    p->channel = malloc(c.count * (sizeof(*p->channel) + sizeof(const ds_channel *)));
    if (p->channel == NULL) {
        return NULL;
    }
    p->list = (const ds_channel **)(void *)(p->channel + c.count);
    memcpy(p->channel, p->view.rows, c.count * sizeof(*p->channel));
    for (uint64_t i = 0; i < c.count; i++) {
        p->channel[i].c.name = p->channel[i].name;
        p->channel[i].c.unit = p->channel[i].unit;
        p->channel[i].c.doc = p->channel[i].doc;
        p->list[i] = &p->channel[i].c;
    }
    p->channels =
        (ds_objective_channels){.struct_size = sizeof(p->channels), .count = c.count, .channel = p->list};
    p->shape.channels = c.count;
    p->shape.channel = p->list;
    return &p->channels;
}

/* The variables, requested once. */
static const ds_objective_variables *variables(ds_proxy *p)
{
    ds_remote_call c;
    if (p->named != NULL) {
        return &p->variables;
    }
    if (request_extension(p, DS_EXT_OBJECTIVE_VARIABLES, &c) != DS_OK || ds_remote_follow(&p->view) != 0 ||
        c.count != p->shape.n || c.count * sizeof(ds_named_variable) > p->view.mapped) {
        return NULL;
    }
    p->named = malloc(c.count * (sizeof(*p->named) + sizeof(ds_variable) + sizeof(const ds_variable *)));
    if (p->named == NULL) {
        return NULL;
    }
    ds_variable *variable = (ds_variable *)(void *)(p->named + c.count);
    const ds_variable **list = (const ds_variable **)(void *)(variable + c.count);
    memcpy(p->named, p->view.rows, c.count * sizeof(*p->named));
    for (uint64_t i = 0; i < c.count; i++) {
        const ds_named_variable *v = &p->named[i];
        variable[i] = (ds_variable){.struct_size = sizeof(ds_variable),
                                    .flags = v->flags,
                                    .name = v->name,
                                    .unit = v->unit,
                                    .group = v->group};
        list[i] = &variable[i];
    }
    p->variables =
        (ds_objective_variables){.struct_size = sizeof(p->variables), .count = c.count, .variable = list};
    return &p->variables;
}

/* ---- evaluations ---- */

/* The replies of the plugin, for the kinds of values and products. */
typedef struct replies {
    ds_reply reply[DS_MAX_QUERIES];
} replies;

static void put_queries(ds_proxy *p, const ds_rows *rows, const ds_results *results, ds_remote_call *c,
                        ds_remote_array *array, replies *kept)
{
    c->queries = rows->queries;
    if (rows->queries > 0) {
        channels(p); /* sizes depend on them */
    }
    const int there = rows->query != NULL && results->reply != NULL;
    for (uint64_t i = 0; there && i < rows->queries && i < DS_MAX_QUERIES; i++) {
        ds_query q;
        ds_reply *r = &kept->reply[i];
        ds_remote_array *to = &array[DS_REMOTE_QUERIES + 3 * i];
        const uint32_t size = take(&q, sizeof(q), rows->query[i], DS_QUERY_SIZE_1_0);
        const uint32_t reply_size = take(r, sizeof(*r), results->reply[i], DS_REPLY_SIZE_1_0);
        c->query[i] = (ds_remote_query){.query_size = size,
                                        .reply_size = reply_size,
                                        .op = q.op,
                                        .channel = q.channel,
                                        .v_stride = q.v_stride,
                                        .w_stride = q.w_stride,
                                        .stride = r->stride,
                                        .bytes = r->bytes};
        if (q.op != DS_QUERY_VALUE && r->kind != NULL) { /* there is one product at most */
            array[DS_REMOTE_PRODUCT_KIND].out = r->kind;
        }
        to[0] = (ds_remote_array){.in = q.v, .stride = q.v_stride * sizeof(double)};
        to[1] = (ds_remote_array){.in = q.w, .stride = q.w_stride * sizeof(double)};
        to[2] = (ds_remote_array){.out = r->out, .stride = r->stride, .bytes = r->bytes};
    }
}

static ds_status request_rows(ds_proxy *p, const ds_rows *given, const ds_label *tag, const ds_results *out,
                              uint64_t *done)
{
    ds_rows rows;
    ds_label label;
    ds_results results;
    replies kept = {0};
    ds_remote_array array[DS_REMOTE_ARRAYS] = {{0}};
    ds_remote_call c = {.what = DS_REMOTE_EVALUATE};
    c.rows_size = take(&rows, sizeof(rows), given, DS_ROWS_SIZE_1_0);
    c.results_size = take(&results, sizeof(results), out, DS_RESULTS_SIZE_1_0);
    c.label_size = take(&label, sizeof(label), tag, DS_LABEL_SIZE_1_0);
    c.want = rows.want;
    c.memory = rows.memory;
    c.count = rows.count;
    c.n = rows.n;
    c.stride = rows.stride;
    c.grad_stride = results.stride;
    c.group = label.group;
    copy_tag(&c, label.tag);
    if (rows.n == p->shape.n && rows.stride >= rows.n) { /* anything else is refused */
        array[DS_REMOTE_X] = (ds_remote_array){.in = rows.x, .stride = rows.stride * sizeof(double)};
    }
    array[DS_REMOTE_LOSS].out = results.loss;
    if ((rows.want & DS_WANT_GRAD) != 0) {
        array[DS_REMOTE_GRAD] =
            (ds_remote_array){.out = results.grad, .stride = results.stride * sizeof(double)};
    }
    array[DS_REMOTE_OUTCOME].out = results.outcome;
    array[DS_REMOTE_NOISE].in = label.noise;
    array[DS_REMOTE_COST].out = results.cost_steps;
    array[DS_REMOTE_KIND].out = results.grad_kind;
    array[DS_REMOTE_BAD_STEP].out = results.bad_step;
    put_queries(p, &rows, &results, &c, array, &kept);
    ds_status st = call(p, &c, array);
    *done = c.done != DS_REMOTE_UNTOUCHED ? c.done : 0;
    const uint32_t *made = array[DS_REMOTE_PRODUCT_KIND].out;
    for (uint64_t i = 0; i < DS_MAX_QUERIES; i++) {
        for (uint64_t k = 0; kept.reply[i].kind != NULL && k < *done; k++) {
            kept.reply[i].kind[k] =
                c.query[i].op == DS_QUERY_VALUE || made == NULL ? (uint32_t)DS_GRAD_NONE : made[k];
        }
    }
    return st;
}

static ds_status evaluate(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    ds_proxy *p = objective->ctx;
    uint64_t none = 0;
    if (!enter(p)) {
        return DS_E_ARG;
    }
    ds_status st = request_rows(p, rows, label, done != NULL ? results : NULL, done != NULL ? done : &none);
    p->busy = 0;
    return st;
}

/* ---- stepwise control ---- */

static ds_status request_steps(ds_proxy *p, uint32_t what, const ds_step_rows *given, const ds_label *tag,
                               const ds_step_results *out, uint64_t *done)
{
    ds_step_rows rows;
    ds_label label;
    ds_step_results results;
    ds_remote_array array[DS_REMOTE_ARRAYS] = {{0}};
    ds_remote_call c = {.what = what};
    c.rows_size = take(&rows, sizeof(rows), given, DS_STEP_ROWS_SIZE_1_0);
    c.results_size = take(&results, sizeof(results), out, DS_STEP_RESULTS_SIZE_1_0);
    c.label_size = take(&label, sizeof(label), tag, DS_LABEL_SIZE_1_0);
    c.count = rows.count;
    c.group = label.group;
    copy_tag(&c, label.tag);
    if (rows.count <= p->lanes) { /* more are refused */
        array[DS_REMOTE_LANE].in = rows.lane;
        array[DS_REMOTE_OBS].out = results.obs;
    }
    if (rows.count <= p->lanes && what == DS_REMOTE_STEP) {
        array[DS_REMOTE_ACTION].in = rows.action;
        array[DS_REMOTE_REWARD].out = results.reward;
        array[DS_REMOTE_ENDED].out = results.ended;
        array[DS_REMOTE_EPISODE_LOSS].out = results.loss;
        array[DS_REMOTE_EPISODE_OUTCOME].out = results.outcome;
        array[DS_REMOTE_EPISODE_COST].out = results.cost_steps;
    }
    ds_status st = call(p, &c, array);
    *done = c.done != DS_REMOTE_UNTOUCHED ? c.done : 0;
    return st;
}

static ds_status advance(const ds_objective *objective, uint32_t what, const ds_step_rows *rows,
                         const ds_label *label, const ds_step_results *results, uint64_t *done)
{
    ds_proxy *p = objective->ctx;
    uint64_t none = 0;
    if (!enter(p)) {
        return DS_E_ARG;
    }
    ds_status st =
        request_steps(p, what, rows, label, done != NULL ? results : NULL, done != NULL ? done : &none);
    p->busy = 0;
    return st;
}

static ds_status begin(const ds_objective *objective, const ds_step_rows *rows, const ds_label *label,
                       const ds_step_results *results, uint64_t *done)
{
    return advance(objective, DS_REMOTE_BEGIN, rows, label, results, done);
}

static ds_status step(const ds_objective *objective, const ds_step_rows *rows, const ds_step_results *results,
                      uint64_t *done)
{
    return advance(objective, DS_REMOTE_STEP, rows, NULL, results, done);
}

static ds_status request_back(ds_proxy *p, const ds_back_rows *given, const ds_back_results *out,
                              uint64_t *done)
{
    ds_back_rows rows;
    ds_back_results results;
    ds_remote_array array[DS_REMOTE_ARRAYS] = {{0}};
    ds_remote_call c = {.what = DS_REMOTE_BACK};
    c.rows_size = take(&rows, sizeof(rows), given, DS_BACK_ROWS_SIZE_1_0);
    c.results_size = take(&results, sizeof(results), out, DS_BACK_RESULTS_SIZE_1_0);
    c.count = rows.count;
    if (rows.count <= p->lanes) { /* more are refused */
        array[DS_REMOTE_BACK_LANE].in = rows.lane;
        array[DS_REMOTE_BACK_STEP].in = rows.step;
        array[DS_REMOTE_BACK_REWARD].in = rows.reward_bar;
        array[DS_REMOTE_BACK_OBS].in = rows.obs_bar;
        array[DS_REMOTE_BACK_ACTION].out = results.action_bar;
        array[DS_REMOTE_BACK_OUTCOME].out = results.outcome;
        array[DS_REMOTE_BACK_COST].out = results.cost_steps;
    }
    ds_status st = call(p, &c, array);
    *done = c.done != DS_REMOTE_UNTOUCHED ? c.done : 0;
    return st;
}

static ds_status back(const ds_objective *objective, const ds_back_rows *rows, const ds_back_results *results,
                      uint64_t *done)
{
    ds_proxy *p = objective->ctx;
    uint64_t none = 0;
    if (!enter(p)) {
        return DS_E_ARG;
    }
    ds_status st = request_back(p, rows, done != NULL ? results : NULL, done != NULL ? done : &none);
    p->busy = 0;
    return st;
}

/* ---- files ---- */

static ds_status request_save(ds_proxy *p, const char *name, const void *data, uint64_t bytes)
{
    ds_remote_array array[DS_REMOTE_ARRAYS] = {{0}};
    ds_remote_call c = {.what = DS_REMOTE_SAVE, .count = bytes};
    strncat(c.text, name != NULL ? name : "", sizeof(c.text) - 1);
    array[DS_REMOTE_DATA].in = bytes > 0 && bytes <= DS_MAX_FILE_BYTES ? data : NULL; /* more is refused */
    return call(p, &c, array);
}

static ds_status save(const ds_objective *objective, const char *name, const void *data, uint64_t bytes)
{
    ds_proxy *p = objective->ctx;
    if (!enter(p)) {
        return DS_E_ARG;
    }
    ds_status st = request_save(p, name, data, bytes);
    p->busy = 0;
    return st;
}

/* The next text from the host; "" after the last one. */
static const char *next_text(const char **at, const char *end)
{
    const char *text = *at;
    *at += *at < end ? strlen(*at) + 1 : 0;
    return text;
}

static const ds_objective_files *files(ds_proxy *p)
{
    ds_remote_call c;
    if (p->texts != NULL) {
        return &p->files;
    }
    if (request_extension(p, DS_EXT_FILES, &c) != DS_OK || ds_remote_follow(&p->view) != 0 ||
        c.count > p->view.mapped || (p->texts = calloc(c.count + 1, 1)) == NULL) {
        return NULL;
    }
    memcpy(p->texts, p->view.rows, c.count);
    const char *at = p->texts, *end = p->texts + c.count;
    p->files.struct_size = sizeof(p->files);
    p->files.env = next_text(&at, end);
    p->files.env_version = next_text(&at, end);
    p->files.env_settings = next_text(&at, end);
    p->files.save = save;
    return &p->files;
}

/* ---- progress ---- */

/* Packs a report, see DS_REMOTE_REPORT. *data stays NULL without memory. */
static void pack_report(const ds_proxy *p, const ds_progress_report *r, ds_remote_call *c, char **data)
{
    const uint64_t points = r->x != NULL ? p->shape.n : 0, numbers = (r->count + points) * sizeof(double);
    c->count = numbers;
    for (uint64_t k = 0; k < r->count; k++) { /* one byte more than is allowed: it is refused over there */
        c->count += strnlen(r->name[k] != NULL ? r->name[k] : "", DS_MAX_NAME + 1) + 1;
    }
    char *at = *data = calloc(c->count + 1, 1);
    if (at == NULL) {
        return;
    }
    c->group = r->count;
    c->queries = r->x != NULL;
    if (r->count > 0) {
        memcpy(at, r->value, r->count * sizeof(double));
    }
    if (points > 0) {
        memcpy(at + r->count * sizeof(double), r->x, points * sizeof(double));
    }
    at += numbers;
    for (uint64_t k = 0; k < r->count; k++) {
        strncat(at, r->name[k] != NULL ? r->name[k] : "", DS_MAX_NAME + 1);
        at += strlen(at) + 1;
    }
}

static ds_status request_report(ds_proxy *p, const ds_progress_report *given)
{
    ds_progress_report r;
    ds_remote_array array[DS_REMOTE_ARRAYS] = {{0}};
    ds_remote_call c = {.what = DS_REMOTE_REPORT};
    char *data = NULL;
    const int sound = take(&r, sizeof(r), given, DS_PROGRESS_REPORT_SIZE_1_0) != 0 &&
                      r.count <= DS_MAX_SCALARS && (r.count == 0 || (r.name != NULL && r.value != NULL));
    if (!sound) {
        c.group = DS_MAX_SCALARS + 1; /* it is refused over there */
        return call(p, &c, array);
    }
    pack_report(p, &r, &c, &data);
    if (data == NULL) {
        return DS_E_NOMEM;
    }
    array[DS_REMOTE_DATA].in = c.count > 0 ? data : NULL;
    ds_status st = call(p, &c, array);
    free(data);
    return st;
}

static ds_status report(const ds_objective *objective, const ds_progress_report *given)
{
    ds_proxy *p = objective->ctx;
    if (!enter(p)) {
        return DS_E_ARG;
    }
    ds_status st = request_report(p, given);
    p->busy = 0;
    return st;
}

static const ds_objective_progress *progress(ds_proxy *p)
{
    ds_remote_call c;
    if (p->progress.report == NULL && request_extension(p, DS_EXT_OBJECTIVE_PROGRESS, &c) == DS_OK) {
        p->progress = (ds_objective_progress){.struct_size = sizeof(p->progress), .report = report};
    }
    return p->progress.report != NULL ? &p->progress : NULL;
}

/* ---- the objective ---- */

static const ds_objective_steps *episodes(ds_proxy *p)
{
    ds_remote_call c;
    if (request_extension(p, DS_EXT_OBJECTIVE_STEPS, &c) != DS_OK) {
        return NULL;
    }
    p->steps_info = c.steps;
    p->lanes = c.count;
    p->shape.n_act = c.steps.n_act;
    p->shape.n_obs = c.steps.n_obs;
    p->episodes = (ds_objective_steps){.struct_size = sizeof(p->episodes),
                                       .info = &p->steps_info,
                                       .lanes = c.count,
                                       .begin = begin,
                                       .step = step};
    return &p->episodes;
}

static const ds_objective_steps_gradient *gradients(ds_proxy *p)
{
    ds_remote_call c;
    if (request_extension(p, DS_EXT_OBJECTIVE_STEPS_GRADIENT, &c) != DS_OK) {
        return NULL;
    }
    p->lanes = c.count;
    p->shape.n_act = c.steps.n_act;
    p->shape.n_obs = c.steps.n_obs;
    p->gradients = (ds_objective_steps_gradient){.struct_size = sizeof(p->gradients), .back = back};
    return &p->gradients;
}

static const void *extension(const ds_objective *objective, const char *id)
{
    ds_proxy *p = objective->ctx;
    if (!enter(p)) {
        return NULL;
    }
    const void *table = strcmp(id, DS_EXT_OBJECTIVE_STEPS) == 0            ? (const void *)episodes(p)
                        : strcmp(id, DS_EXT_OBJECTIVE_STEPS_GRADIENT) == 0 ? (const void *)gradients(p)
                        : strcmp(id, DS_EXT_FILES) == 0                    ? (const void *)files(p)
                        : strcmp(id, DS_EXT_OBJECTIVE_VARIABLES) == 0      ? (const void *)variables(p)
                        : strcmp(id, DS_EXT_OBJECTIVE_PROGRESS) == 0       ? (const void *)progress(p)
                        : strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0       ? (const void *)channels(p)
                                                                           : NULL;
    p->busy = 0;
    return table;
}

/* ---- from create() to destroy() ---- */

/* Copies the problem into memory of this process. */
static int take_problem(ds_proxy *p, ds_error *e)
{
    p->problem = p->view.head->problem;
    size_t bytes = p->problem.n * sizeof(double);
    p->bounds = malloc(3 * bytes);
    if (p->bounds == NULL) {
        return ds_no_memory(e);
    }
    memcpy(p->bounds, p->view.rows, 3 * bytes);
    p->problem.lower = p->bounds;
    p->problem.upper = p->bounds + p->problem.n;
    p->problem.x0 = p->problem.upper + p->problem.n;
    p->shape.n = p->problem.n;
    return 0;
}

static int create(ds_proxy *p, ds_error *e)
{
    const ds_call_state ours = ds_call_state_save();
    ds_status st = p->module->opt.create(&p->services.host, &p->problem, &p->self);
    ds_call_state_restore(&ours);
    if (st == DS_OK && p->self != NULL) {
        return 0;
    }
    p->self = NULL;
    return ds_services_fail(&p->services, e, "create()", st != DS_OK ? st : DS_E_GENERIC);
}

int ds_proxy_open(const ds_proxy_config *config, ds_proxy **out, ds_error *e)
{
    const ds_module *module = config->module;
    ds_params *params = NULL;
    ds_proxy *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return ds_no_memory(e);
    }
    static ds_proxy *volatile kept; /* one per process, for its whole life */
    kept = p;
    p->module = kept->module = module;
    int rc = ds_params_make(module->plugin->desc->params, module->id, config->settings, DS_SECTION_OPT,
                            &params, e);
    p->view.socket = config->socket;
    if (rc == 0 && ds_remote_join(&p->view, config->share) != 0) {
        rc = ds_fail(e, DS_EXIT_MEMORY, "%s: the optimizer's process cannot map the shared memory",
                     module->id);
    }
    ds_services_init(&p->services, module, params, config->seed, config->threads,
                     rc == 0 ? &p->view.head->stop : NULL);
    p->objective = (ds_objective){
        .struct_size = sizeof(p->objective), .ctx = p, .evaluate = evaluate, .get_extension = extension};
    rc = rc != 0 ? rc : take_problem(p, e);
    rc = rc != 0 ? rc : create(p, e);
    if (rc != 0) {
        ds_proxy_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void ds_proxy_run(ds_proxy *p)
{
    ds_remote_array none[DS_REMOTE_ARRAYS] = {{0}};
    ds_remote_call c = {.what = DS_REMOTE_RETURN};
    p->thread = pthread_self();
    c.status = p->module->opt.run(p->self, &p->objective);
    p->busy = 1; /* refuses threads that the plugin left running */
    snprintf(c.text, sizeof(c.text), "%s", p->services.last_error);
    call(p, &c, none);
}

void ds_proxy_close(ds_proxy *p)
{
    if (p == NULL) {
        return;
    }
    if (p->self != NULL) {
        p->module->opt.destroy(p->self);
    }
}
