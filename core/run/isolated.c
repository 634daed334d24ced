/* SPDX-License-Identifier: Apache-2.0 */
/* isolated.c - the host's side of remote.h: starts the process, makes its calls of the run's objective on
 * rows in shared memory, forwards stop requests, and reports how the process ended. */
#include "config.h"

#include "run/isolated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/variables.h"
#include "worker/process.h"
#include "worker/remote.h"

enum {
    POLL_MS = 50,       /* between two checks of the stop flag */
    LATE_CALLS = 10000, /* tolerated after the end */
    PATIENCE_S = 10,    /* limit for run() after its end, and for destroy() */
    LEAVE_S = 3         /* limit for the process after destroy() */
};

struct ds_isolated {
    ds_isolated_config config;
    ds_process process;
    int share_fd, scene_fd;
    ds_remote_view view;
    ds_remote_shape shape;
    unsigned char *rows;                /* of the present call */
    uint64_t room;                      /* their room in bytes */
    const ds_objective_steps *episodes; /* extensions that the objective has offered */
    const ds_objective_steps_gradient *gradients;
    const ds_objective_files *files;
    const ds_objective_progress *progress;
    uint64_t stopped_ns; /* ds_clock_ns() of the first status or signal that ends the search; 0 = none yet */
    uint64_t late;       /* calls after it */
    atomic_int strayed;  /* used where config.strayed is NULL */
    char how[300];
};

/* ---- the process ---- */

static int is_overdue(const ds_isolated *p)
{
    return p->stopped_ns != 0 && 1e-9 * (double)(ds_clock_ns() - p->stopped_ns) > PATIENCE_S;
}

/* Reaps the ended process, or ends it for the reason `text`. Writes the reason to p->how and returns the wait
 * status. */
static int reap(ds_isolated *p, const char *text)
{
    int status = ds_process_reap(&p->process, text != NULL);
    if (text != NULL) {
        snprintf(p->how, sizeof(p->how), "%s", text);
    } else {
        ds_process_describe_end(&p->process, "the optimizer's process", status, "time", p->how,
                                sizeof(p->how));
    }
    return status;
}

static int ended(const ds_isolated *p, ds_error *e)
{
    const ds_journal *j = p->config.journal;
    return ds_fail(e, DS_EXIT_PLUGIN,
                   "%s: after %llu evaluations %s; everything is saved; once it is fixed continue with: "
                   "dshost resume %s",
                   p->config.module->id, (unsigned long long)j->statistics.count, p->how, j->folder);
}

static int not_returned(ds_isolated *p, const char *function, ds_error *e)
{
    char text[120];
    snprintf(text, sizeof(text), "%s did not return within %d s or %d calls of its end", function, PATIENCE_S,
             LATE_CALLS);
    reap(p, text);
    return ended(p, e);
}

/* ---- start ---- */

/* Takes the process that has described the plugin, or makes a memory file for a new one. */
static int take_process(ds_isolated *p, ds_error *e)
{
    ds_described_process probe;
    p->share_fd = p->scene_fd = -1;
    if (ds_describe_take_process(p->config.module, &probe)) {
        p->process = probe.process;
        p->share_fd = probe.share_fd;
        p->scene_fd = probe.scene_fd;
    } else if ((p->share_fd = ds_memory_file("diffsim-share")) < 0) {
        return ds_no_descriptors("cannot make the shared memory of the optimizer's process", errno, e);
    }
    return 0;
}

/* Sends the settings. */
static int start(ds_isolated *p, ds_error *e)
{
    const ds_isolated_config *c = &p->config;
    const ds_process_place place = {NULL, p->share_fd, p->share_fd, c->module->id};
    ds_start_arguments orders = {
        .seed = c->seed, .memory = c->memory > 0 ? c->memory << 20 : 0, .threads = c->threads};
    int rc = ds_start_arguments_make(&orders, c->module->path, c->module->id, c->params, e);
    if (rc == 0 && p->process.state != DS_PROCESS_NONE && ds_process_instruct(&p->process, &orders) != 0) {
        ds_process_reap(&p->process, 1); /* it ended in the meantime: start another one */
    }
    if (rc == 0 && p->process.state == DS_PROCESS_NONE) {
        rc = ds_process_start(&p->process, &place, &orders, 0, 0, e);
    }
    free(orders.texts);
    return rc;
}

/* Waits until the process has made an instance, or reports why not. */
static int wait_created(ds_isolated *p, ds_error *e)
{
    const char *id = p->config.module->id, *name;
    const double limit = ds_process_start_limit(p->config.start_timeout, p->config.timeout, &name);
    ds_worker_hello hello;
    for (char byte = 0; byte != DS_WORKER_HELLO;) {
        if (!ds_process_listen(&p->process, POLL_MS, &byte)) {
            const int status = reap(p, NULL);
            return ds_process_was_refused(id, status, e) != 0
                       ? e->status
                       : ds_fail(e, DS_EXIT_PLUGIN, "%s: create() failed: %s", id, p->how);
        }
        if (byte == 0 && atomic_load(p->config.journal->stop) != 0) {
            return ds_fail(e, DS_EXIT_SIGINT, "stopped before the first evaluation");
        }
        if (limit > 0.0 && 1e-9 * (double)(ds_clock_ns() - p->process.born) > limit) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: create() has not ended within %g s (%s)", id, limit, name);
        }
    }
    if (pread(p->process.start, &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello) ||
        hello.magic != DS_WORKER_MAGIC) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the handshake of its process is incomplete", id);
    }
    hello.error.text[sizeof(hello.error.text) - 1] = '\0';
    ds_text_clean(hello.error.text);
    return hello.error.status != 0 ? ds_fail(e, hello.error.status, "%s", hello.error.text) : 0;
}

int ds_isolated_open(const ds_isolated_config *config, ds_isolated **out, ds_error *e)
{
    ds_isolated *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return ds_no_memory(e);
    }
    p->config = *config;
    p->config.strayed = config->strayed != NULL ? config->strayed : &p->strayed;
    p->shape.n = config->problem->n;
    int rc = take_process(p, e);
    rc = rc != 0 ? rc : ds_remote_make(&p->view, p->share_fd, config->problem, e);
    rc = rc != 0 ? rc : start(p, e);
    rc = rc != 0 ? rc : wait_created(p, e);
    if (rc != 0) {
        ds_isolated_close(p);
        return rc;
    }
    p->process.state = DS_PROCESS_READY;
    p->view.socket = p->process.socket;
    *out = p;
    return 0;
}

void ds_isolated_close(ds_isolated *p)
{
    if (p == NULL) {
        return;
    }
    if (p->process.state != DS_PROCESS_NONE) {
        ds_process_reap(&p->process, 1);
    }
    ds_remote_leave(&p->view);
    free(p->rows);
    int fds[] = {p->share_fd, p->scene_fd};
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    free(p);
}

/* ---- calls ---- */

/* The array of a call, or NULL. */
static void *rows(const ds_isolated *p, const ds_remote_call *c, const ds_remote_array *array, int k)
{
    return (c->given >> k & 1u) != 0 ? p->rows + array[k].at : NULL;
}

/* Copies the rows of a call, so that they cannot change after the check. */
static int take_rows(ds_isolated *p, uint64_t bytes)
{
    if (bytes > p->room) {
        free(p->rows);
        p->rows = malloc(bytes);
        p->room = p->rows != NULL ? bytes : 0;
    }
    if (bytes > 0 && p->rows != NULL) {
        memcpy(p->rows, p->view.rows, bytes);
    }
    return bytes == 0 || p->rows != NULL ? 0 : -1;
}

/* The plugin's stride for its own buffer becomes the dense one; a stride that will be refused stays as it is.
 */
static uint64_t stride_here(uint64_t theirs, uint64_t dense)
{
    return theirs < dense ? theirs : dense;
}

static ds_status evaluate(const ds_isolated *p, const ds_objective *objective, ds_remote_call *c,
                          const ds_remote_array *array)
{
    ds_query query[DS_MAX_QUERIES];
    ds_reply reply[DS_MAX_QUERIES];
    const ds_query *queries[DS_MAX_QUERIES];
    const ds_reply *replies[DS_MAX_QUERIES];
    for (int i = 0; i < (int)DS_MAX_QUERIES; i++) {
        const ds_remote_query *a = &c->query[i];
        const int k = DS_REMOTE_QUERIES + 3 * i;
        query[i] = (ds_query){.struct_size = a->query_size,
                              .op = a->op,
                              .channel = a->channel,
                              .v = rows(p, c, array, k),
                              .w = rows(p, c, array, k + 1),
                              .v_stride = stride_here(a->v_stride, array[k].each / sizeof(double)),
                              .w_stride = stride_here(a->w_stride, array[k + 1].each / sizeof(double))};
        reply[i] = (ds_reply){.struct_size = a->reply_size,
                              .out = rows(p, c, array, k + 2),
                              .stride = stride_here(a->stride, array[k + 2].each),
                              .bytes = a->bytes};
        /* values have no kind; there is one product at most */
        reply[i].kind = a->op != DS_QUERY_VALUE ? rows(p, c, array, DS_REMOTE_PRODUCT_KIND) : NULL;
        queries[i] = a->query_size != 0 ? &query[i] : NULL;
        replies[i] = a->reply_size != 0 ? &reply[i] : NULL;
    }
    const int listed = c->queries > 0 && c->queries <= DS_MAX_QUERIES;
    const ds_rows table = {.struct_size = c->rows_size,
                           .want = c->want,
                           .count = c->count,
                           .n = c->n,
                           .stride = stride_here(c->stride, c->n),
                           .x = rows(p, c, array, DS_REMOTE_X),
                           .queries = c->queries,
                           .query = listed ? queries : NULL,
                           .memory = c->memory};
    const ds_label label = {.struct_size = c->label_size,
                            .tag = c->tag,
                            .group = c->group,
                            .noise = rows(p, c, array, DS_REMOTE_NOISE)};
    const ds_results results = {.struct_size = c->results_size,
                                .stride = stride_here(c->grad_stride, c->n),
                                .loss = rows(p, c, array, DS_REMOTE_LOSS),
                                .grad = rows(p, c, array, DS_REMOTE_GRAD),
                                .outcome = rows(p, c, array, DS_REMOTE_OUTCOME),
                                .grad_kind = rows(p, c, array, DS_REMOTE_KIND),
                                .bad_step = rows(p, c, array, DS_REMOTE_BAD_STEP),
                                .cost_steps = rows(p, c, array, DS_REMOTE_COST),
                                .reply = listed ? replies : NULL};
    return objective->evaluate(objective, &table, c->label_size != 0 ? &label : NULL, &results, &c->done);
}

static ds_status advance(const ds_isolated *p, const ds_objective *objective, ds_remote_call *c,
                         const ds_remote_array *array)
{
    const ds_step_rows r = {.struct_size = c->rows_size,
                            .count = c->count,
                            .lane = rows(p, c, array, DS_REMOTE_LANE),
                            .action = rows(p, c, array, DS_REMOTE_ACTION)};
    const ds_label label = {.struct_size = c->label_size, .tag = c->tag, .group = c->group};
    const ds_step_results results = {.struct_size = c->results_size,
                                     .obs = rows(p, c, array, DS_REMOTE_OBS),
                                     .reward = rows(p, c, array, DS_REMOTE_REWARD),
                                     .ended = rows(p, c, array, DS_REMOTE_ENDED),
                                     .loss = rows(p, c, array, DS_REMOTE_EPISODE_LOSS),
                                     .outcome = rows(p, c, array, DS_REMOTE_EPISODE_OUTCOME),
                                     .cost_steps = rows(p, c, array, DS_REMOTE_EPISODE_COST)};
    return c->what == DS_REMOTE_BEGIN
               ? p->episodes->begin(objective, &r, c->label_size != 0 ? &label : NULL, &results, &c->done)
               : p->episodes->step(objective, &r, &results, &c->done);
}

static ds_status back(const ds_isolated *p, const ds_objective *objective, ds_remote_call *c,
                      const ds_remote_array *array)
{
    const ds_back_rows r = {.struct_size = c->rows_size,
                            .count = c->count,
                            .lane = rows(p, c, array, DS_REMOTE_BACK_LANE),
                            .step = rows(p, c, array, DS_REMOTE_BACK_STEP),
                            .reward_bar = rows(p, c, array, DS_REMOTE_BACK_REWARD),
                            .obs_bar = rows(p, c, array, DS_REMOTE_BACK_OBS)};
    const ds_back_results results = {.struct_size = c->results_size,
                                     .action_bar = rows(p, c, array, DS_REMOTE_BACK_ACTION),
                                     .outcome = rows(p, c, array, DS_REMOTE_BACK_OUTCOME),
                                     .cost_steps = rows(p, c, array, DS_REMOTE_BACK_COST)};
    return p->gradients->back(objective, &r, &results, &c->done);
}

/* Unpacks a report, see DS_REMOTE_REPORT. A damaged one is passed on with too many scalars, so that it is
 * refused. */
static ds_status report(const ds_isolated *p, const ds_objective *objective, const ds_remote_call *c,
                        const ds_remote_array *array)
{
    const char *name[DS_MAX_SCALARS];
    const uint64_t numbers = c->group + (c->queries == 1 ? p->shape.n : 0);
    const double *value = rows(p, c, array, DS_REMOTE_DATA);
    ds_progress_report r = {.struct_size = sizeof r, .count = c->group, .name = name, .value = value};
    int sound = c->group <= DS_MAX_SCALARS && numbers * sizeof(double) <= c->count &&
                (value != NULL || c->count == 0);
    const char *at = sound && value != NULL ? (const char *)(value + numbers) : NULL,
               *end = sound && value != NULL ? (const char *)value + c->count : NULL;
    for (uint64_t k = 0; sound && k < c->group; k++) {
        const char *after = at != NULL && at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
        sound = after != NULL;
        name[k] = at;
        at = sound ? after + 1 : NULL;
    }
    r.count = sound ? r.count : DS_MAX_SCALARS + 1;
    r.x = sound && c->queries == 1 ? value + c->group : NULL;
    return p->progress->report(objective, &r);
}

/* ---- extensions ---- */

/* Writes the channels into the rows. */
static ds_status put_channels(ds_isolated *p, const ds_objective_channels *list)
{
    if (ds_remote_grow(&p->view, list->count * sizeof(ds_channel_entry)) != 0) {
        return DS_E_NOMEM;
    }
    ds_channel_entry *to = (ds_channel_entry *)(void *)p->view.rows;
    for (uint64_t i = 0; i < list->count; i++) {
        const ds_channel *c = list->channel[i];
        to[i].c = *c;
        snprintf(to[i].name, sizeof(to[i].name), "%s", c->name);
        snprintf(to[i].unit, sizeof(to[i].unit), "%s", c->unit);
        snprintf(to[i].doc, sizeof(to[i].doc), "%s", c->doc);
    }
    p->shape.channels = list->count;
    p->shape.channel = list->channel;
    return DS_OK;
}

/* Writes the variables into the rows, as ds_named_variable. */
static ds_status put_variables(ds_isolated *p, const ds_objective_variables *list)
{
    if (ds_remote_grow(&p->view, list->count * sizeof(ds_named_variable)) != 0) {
        return DS_E_NOMEM;
    }
    ds_named_variable *to = (ds_named_variable *)(void *)p->view.rows;
    for (uint64_t i = 0; i < list->count; i++) {
        const ds_variable *v = list->variable[i];
        memset(&to[i], 0, sizeof to[i]);
        snprintf(to[i].name, sizeof(to[i].name), "%s", v->name);
        snprintf(to[i].unit, sizeof(to[i].unit), "%s", v->unit);
        snprintf(to[i].group, sizeof(to[i].group), "%s", v->group);
        to[i].flags = v->flags;
    }
    return DS_OK;
}

/* Writes the texts of the files into the rows. */
static ds_status put_texts(ds_isolated *p, ds_remote_call *c)
{
    const char *const text[] = {p->files->env, p->files->env_version, p->files->env_settings};
    uint64_t at = 0;
    c->count = strlen(text[0]) + strlen(text[1]) + strlen(text[2]) + 3;
    if (ds_remote_grow(&p->view, c->count) != 0) {
        return DS_E_NOMEM;
    }
    for (int i = 0; i < 3; i++) {
        const size_t bytes = strlen(text[i]) + 1;
        memcpy(p->view.rows + at, text[i], bytes);
        at += bytes;
    }
    return DS_OK;
}

static ds_status offer(ds_isolated *p, const ds_objective *objective, ds_remote_call *c)
{
    c->text[sizeof(c->text) - 1] = '\0';
    int wants_channels = strcmp(c->text, DS_EXT_OBJECTIVE_CHANNELS) == 0;
    int wants_files = strcmp(c->text, DS_EXT_FILES) == 0;
    int wants_gradients = strcmp(c->text, DS_EXT_OBJECTIVE_STEPS_GRADIENT) == 0;
    int wants_variables = strcmp(c->text, DS_EXT_OBJECTIVE_VARIABLES) == 0;
    int wants_progress = strcmp(c->text, DS_EXT_OBJECTIVE_PROGRESS) == 0;
    int known = wants_channels || wants_files || wants_gradients || wants_variables || wants_progress ||
                strcmp(c->text, DS_EXT_OBJECTIVE_STEPS) == 0;
    const void *table = known ? objective->get_extension(objective, c->text) : NULL;
    if (table == NULL) {
        return DS_E_UNSUPPORTED;
    }
    if (wants_channels) {
        const ds_objective_channels *channels = table;
        c->count = channels->count;
        return put_channels(p, channels);
    }
    if (wants_variables) {
        const ds_objective_variables *variables = table;
        c->count = variables->count;
        return put_variables(p, variables);
    }
    if (wants_files) {
        p->files = table;
        return put_texts(p, c);
    }
    if (wants_progress) {
        p->progress = table;
        return DS_OK;
    }
    if (wants_gradients) { /* its rows have the shape of the episodes */
        p->gradients = table;
        table = objective->get_extension(objective, DS_EXT_OBJECTIVE_STEPS);
    }
    p->episodes = table;
    c->steps = *p->episodes->info;
    c->count = p->episodes->lanes;
    p->shape.n_act = c->steps.n_act;
    p->shape.n_obs = c->steps.n_obs;
    return DS_OK;
}

/* ---- the search ---- */

/* May this call be made? A broken process may have written anything. */
static int is_sound(const ds_isolated *p, const ds_remote_call *c, ds_remote_array *array)
{
    return c->what >= DS_REMOTE_ROOM && c->what <= DS_REMOTE_RETURN &&
           ((c->what != DS_REMOTE_BEGIN && c->what != DS_REMOTE_STEP) || p->episodes != NULL) &&
           (c->what != DS_REMOTE_BACK || p->gradients != NULL) &&
           (c->what != DS_REMOTE_SAVE || p->files != NULL) &&
           (c->what != DS_REMOTE_REPORT || p->progress != NULL) &&
           ds_remote_lay_out(&p->shape, c, array) <= p->view.mapped;
}

/* Makes a call of the objective and replaces it by its results. */
static void answer(ds_isolated *p, const ds_objective *objective, ds_remote_call *c, ds_remote_array *array)
{
    int stop = p->stopped_ns != 0;
    const uint64_t bytes = ds_remote_lay_out(&p->shape, c, array);
    c->tag[sizeof(c->tag) - 1] = '\0';
    if (take_rows(p, bytes) != 0) {
        c->status = DS_E_NOMEM;
        return;
    }
    switch (c->what) {
    case DS_REMOTE_ROOM:
        c->status = ds_remote_grow(&p->view, c->count) == 0 ? DS_OK : DS_E_NOMEM;
        return;
    case DS_REMOTE_EXTENSION:
        c->status = offer(p, objective, c);
        return;
    case DS_REMOTE_EVALUATE:
        c->status = evaluate(p, objective, c, array);
        break;
    case DS_REMOTE_BACK:
        c->status = back(p, objective, c, array);
        break;
    case DS_REMOTE_SAVE:
        c->text[sizeof(c->text) - 1] = '\0';
        c->status = p->files->save(objective, c->text, rows(p, c, array, DS_REMOTE_DATA), c->count);
        break;
    case DS_REMOTE_REPORT:
        c->status = report(p, objective, c, array);
        break;
    default:
        c->status = advance(p, objective, c, array);
        break;
    }
    if (bytes > 0 && c->what != DS_REMOTE_SAVE && c->what != DS_REMOTE_REPORT) {
        memcpy(p->view.rows, p->rows, bytes);
    }
    p->late += stop;
    /* A file that save() cannot keep does not end the search. */
    p->stopped_ns = c->status != DS_OK && c->what != DS_REMOTE_SAVE && !stop ? ds_clock_ns() : p->stopped_ns;
}

/* Takes over the mark of calls from other threads, which the other side refused. */
static void note_strays(const ds_isolated *p)
{
    if (atomic_load_explicit(&p->view.head->strayed, memory_order_relaxed) != 0) {
        atomic_store(p->config.strayed, 1);
    }
}

/* Waits for the next call. */
static int wait_call(ds_isolated *p, ds_error *e)
{
    for (;;) {
        note_strays(p);
        int stop = atomic_load_explicit(p->config.journal->stop, memory_order_relaxed) != 0 ||
                   atomic_load_explicit(p->config.strayed, memory_order_relaxed) != 0;
        char byte;
        atomic_store(&p->view.head->stop, stop);
        p->stopped_ns = stop && p->stopped_ns == 0 ? ds_clock_ns() : p->stopped_ns;
        if (p->late > LATE_CALLS) {
            return not_returned(p, "run()", e);
        }
        if (ds_remote_await(&p->view)) {
            return 0;
        }
        if (is_overdue(p)) {
            return not_returned(p, "run()", e);
        }
        if (!ds_process_listen(&p->process, POLL_MS, &byte)) {
            if (ds_remote_await(&p->view)) { /* its last call */
                return 0;
            }
            reap(p, NULL);
            return ended(p, e);
        }
    }
}

/* run() has returned: destroy() is called and the process ends. What happens after destroy(), such as
 * destructors, does not belong to the run, except a thread that still calls the objective. */
static int wait_end(ds_isolated *p, ds_error *e)
{
    const char *id = p->config.module->id;
    int done = 0;
    char byte;
    p->stopped_ns = ds_clock_ns();
    while (ds_process_listen(&p->process, POLL_MS, &byte)) {
        note_strays(p);
        if (byte == DS_WORKER_DONE) {
            done = 1;
            p->stopped_ns = ds_clock_ns();
        }
        if (is_overdue(p) && !done) {
            return not_returned(p, "destroy()", e);
        }
        if (done && 1e-9 * (double)(ds_clock_ns() - p->stopped_ns) > LEAVE_S) {
            ds_log(DS_LOG_WARNING, id, "its process did not end within %d s after destroy(), and was killed",
                   LEAVE_S);
            reap(p, "");
            return 0;
        }
    }
    int status = reap(p, NULL);
    note_strays(p);
    if (status != 0 && done) {
        ds_log(DS_LOG_WARNING, id, "after destroy() %s", p->how);
    }
    return status != 0 && !done ? ended(p, e) : 0;
}

ds_status ds_isolated_run(ds_isolated *p, const ds_objective *objective, char why[DS_MAX_ERROR + 1],
                          ds_error *e)
{
    ds_remote_array array[DS_REMOTE_ARRAYS];
    char go = DS_WORKER_GO;
    send(p->process.socket, &go, 1, MSG_NOSIGNAL); /* a closed socket shows that it ended */
    for (;;) {
        if (wait_call(p, e) != 0) {
            return DS_STOPPED;
        }
        ds_remote_call c = p->view.head->call;
        if (!is_sound(p, &c, array)) {
            reap(p, "its process made a call with damaged numbers");
            ended(p, e);
            return DS_STOPPED;
        }
        if (c.what == DS_REMOTE_RETURN) {
            c.text[sizeof(c.text) - 1] = '\0';
            snprintf(why, DS_MAX_ERROR + 1, "%s", c.text);
            note_strays(p);
            ds_remote_pass(&p->view);
            return wait_end(p, e) == 0 ? c.status : DS_STOPPED;
        }
        answer(p, objective, &c, array);
        p->view.head->call = c;
        ds_remote_pass(&p->view);
    }
}
