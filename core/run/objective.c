/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - the objective of an optimizer: checks who calls, and with what; the journal answers. */
#include "config.h"

#include "run/objective.h"

#include "base/file.h"

#include <diffsim/ext/draft/steps_gradient.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

/* Begins a call of the objective; 0 = refused. `theirs` gets the call state of the optimizer's thread. */
static int enter(ds_client *c, ds_call_state *theirs)
{
    if (!pthread_equal(c->thread, pthread_self()) || c->busy) {
        atomic_store(&c->strayed, 1);
        return 0;
    }
    c->busy = 1;
    *theirs = ds_call_state_save();
    ds_call_state_switch(theirs, &c->ours);
    return 1;
}

static void leave(ds_client *c, const ds_call_state *theirs)
{
    ds_call_state_switch(&c->ours, theirs);
    c->busy = 0;
}

void ds_client_begin(ds_client *c)
{
    c->thread = pthread_self();
    c->ours = ds_call_state_save();
}

void ds_client_check_calls(ds_client *c)
{
    if (atomic_load(&c->strayed) && c->journal->end == DS_END_NONE) {
        ds_journal_refuse(
            c->journal, "the objective",
            "it was called from another thread than that of run(), during another call, or after run()");
    }
}

int ds_client_over(ds_client *c)
{
    ds_client_check_calls(c);
    return ds_journal_over(c->journal);
}

ds_status ds_client_guard(const ds_objective *objective, ds_client_call *function, void *argument)
{
    ds_client *c = objective->ctx;
    ds_call_state theirs;
    if (!enter(c, &theirs)) {
        return DS_E_ARG;
    }
    ds_status st = function(c, argument);
    leave(c, &theirs);
    return st;
}

/* ---- evaluations ---- */

static ds_status refuse(const ds_client *c, const char *text)
{
    return ds_journal_refuse(c->journal, "evaluate()", text);
}

static ds_status check_request(const ds_client *c, const ds_request *r)
{
    char text[DS_BATCH_TEXT];
    return c->open > 0                                                  ? refuse(c, "episodes are open")
           : !ds_rows_allowed(&r->rows, &r->results, &c->problem, text) ? refuse(c, text)
                                                                        : DS_OK;
}

/* Sends a valid request with dense rows to the journal; `packed` holds its queries. */
static ds_status query_journal(ds_client *c, const ds_request *r, const ds_packed_queries *packed,
                               uint64_t *done)
{
    ds_journal_request q = {.count = r->rows.count,
                            .x = r->rows.x,
                            .want = r->rows.want,
                            .queries = packed->queries.count > 0 ? &packed->queries : NULL,
                            .in = packed->in,
                            .noise = c->problem.stochastic ? r->label.noise : NULL,
                            .tag = r->label.tag,
                            .group = r->label.group,
                            .loss = r->results.loss,
                            .outcome = r->results.outcome,
                            .grad_kind = r->results.grad_kind,
                            .bad_step = r->results.bad_step,
                            .cost_steps = r->results.cost_steps,
                            .values = r->results.grad,
                            .out = packed->out,
                            .product_kind = packed->kind};
    ds_module_end(c->optimizer); /* the optimizer does not compute meanwhile */
    ds_status st = ds_journal_execute(c->journal, &q, done);
    ds_module_begin(c->optimizer);
    ds_queries_reply(packed, r, *done);
    return st;
}

static ds_status no_memory(ds_client *c)
{
    ds_no_memory(&c->journal->error);
    return ds_journal_stop(c->journal, DS_EXIT_MEMORY);
}

/* Answers a request about all variables; its queries are still unchecked. */
static ds_status answer_full(ds_client *c, const ds_request *r, uint64_t *done)
{
    char text[DS_QUERY_TEXT];
    ds_packed_queries packed = {0};
    int rc = ds_queries_pack(&packed, r, c->journal->env->channels, c->journal->env->info.n, text);
    ds_status st = rc == 0 ? query_journal(c, r, &packed, done) : rc < 0 ? refuse(c, text) : no_memory(c);
    ds_queries_free(&packed);
    return st;
}

/* Answers a request about the free variables where others are fixed, or one with gaps between rows. */
static ds_status answer_free(ds_client *c, const ds_request *r, uint64_t *done)
{
    const ds_channels *channels = c->journal->env->channels;
    char text[DS_QUERY_TEXT];
    ds_packed_queries packed = {0};
    ds_full_request full = {.room = NULL};
    ds_status st;
    int rc = ds_queries_pack(&packed, r, channels, c->problem.n, text); /* only to check the queries */
    ds_queries_free(&packed);
    if (rc < 0) {
        return refuse(c, text);
    }
    rc = rc != 0 ? rc : ds_full_request_open(&c->free_variables, r, channels, &full);
    if (rc == 0) {
        st = answer_full(c, &full.request, done);
        ds_full_request_answer(&c->free_variables, &full, r, *done);
    } else {
        st = no_memory(c);
    }
    ds_full_request_close(&full);
    return st;
}

/* A call of evaluate(). */
typedef struct evaluate_call {
    const ds_rows *rows;
    const ds_label *label;
    const ds_results *results;
    uint64_t *done;
} evaluate_call;

static ds_status answer_call(ds_client *c, void *argument)
{
    const evaluate_call *call = argument;
    char text[DS_REQUEST_TEXT];
    ds_request r;
    uint64_t none = 0, *done = call->done != NULL ? call->done : &none;
    *done = 0;
    if (ds_client_over(c)) {
        return DS_STOPPED;
    }
    if (call->done == NULL || ds_request_read(&r, call->rows, call->label, call->results, text) != 0) {
        return refuse(c, call->done == NULL ? "done is NULL" : text);
    }
    ds_status st = check_request(c, &r);
    if (st != DS_OK) {
        return st;
    }
    return ds_full_request_needed(&c->free_variables, &r) ? answer_free(c, &r, done)
                                                          : answer_full(c, &r, done);
}

static ds_status evaluate(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    evaluate_call call = {rows, label, results, done};
    return ds_client_guard(objective, answer_call, &call);
}

/* ---- files ---- */

static ds_kept_file *find_file(ds_client *c, const char *name)
{
    uint32_t i = 0;
    while (i < c->files && strcmp(c->file[i].name, name) != 0) {
        i++;
    }
    return i < DS_MAX_FILES ? &c->file[i] : NULL;
}

static int write_file(const ds_client *c, ds_kept_file *file, ds_error *e)
{
    char *path = ds_folder_path(c->journal->folder, file->name);
    int rc = path == NULL ? ds_no_memory(e) : ds_file_write_atomic(path, file->data, file->bytes, e);
    free(path);
    if (rc == 0) {
        free(file->data);
        file->data = NULL;
    }
    return rc;
}

/* A call of save(). */
typedef struct file_call {
    const char *name;
    const void *data;
    uint64_t bytes;
} file_call;

/* Keeps a copy of a file, and writes it where the run records. During a replay the file waits, because it
 * would replace a newer one; a file that could not be written waits as well. */
static ds_status keep_file(ds_client *c, const file_call *call, char text[DS_FILES_TEXT])
{
    ds_error later; /* a failure is tried again at the end, and reported there */
    ds_status st = ds_file_allowed(call->name, call->data, call->bytes, text);
    ds_kept_file *file = st == DS_OK ? find_file(c, call->name) : NULL;
    if (st == DS_OK && file == NULL) {
        snprintf(text, DS_FILES_TEXT, "'%s' is one more than the %u files that a run may have", call->name,
                 DS_MAX_FILES);
        st = DS_E_ARG;
    }
    void *copy = st == DS_OK ? malloc(call->bytes > 0 ? call->bytes : 1) : NULL;
    if (copy == NULL) {
        return st == DS_OK ? DS_E_NOMEM : st;
    }
    if (call->bytes > 0) {
        memcpy(copy, call->data, call->bytes);
    }
    if (file == &c->file[c->files]) {
        snprintf(file->name, sizeof(file->name), "%s", call->name);
        c->files++;
    }
    free(file->data);
    file->data = copy;
    file->bytes = call->bytes;
    if (c->journal->recorder != NULL) {
        (void)write_file(c, file, &later);
    }
    return DS_OK;
}

static ds_status save_file(ds_client *c, void *argument)
{
    char text[DS_FILES_TEXT];
    ds_status st = keep_file(c, argument, text);
    if (st == DS_E_ARG) {
        ds_journal_refuse(c->journal, "save()", text);
    }
    return st;
}

static ds_status save(const ds_objective *objective, const char *name, const void *data, uint64_t bytes)
{
    file_call f = {name, data, bytes};
    return ds_client_guard(objective, save_file, &f);
}

static const ds_objective_files *files_of(ds_client *c)
{
    const ds_run_spec *spec = c->journal->spec;
    size_t size = 0;
    if (c->files_table.save != NULL) {
        return &c->files_table;
    }
    FILE *text = open_memstream(&c->settings, &size);
    if (text != NULL && spec->section[DS_SECTION_ENV] != NULL) {
        ds_params_write_ini(spec->section[DS_SECTION_ENV], text);
    }
    if (text == NULL || fclose(text) != 0) {
        return NULL;
    }
    c->files_table = (ds_objective_files){.struct_size = sizeof(c->files_table),
                                          .env = spec->env.id,
                                          .env_version = spec->env.version,
                                          .env_settings = c->settings,
                                          .save = save};
    return &c->files_table;
}

int ds_client_write_files(ds_client *c, ds_error *e)
{
    int first = 0;
    for (uint32_t i = 0; i < c->files; i++) {
        ds_error one = {0, ""};
        int rc = c->file[i].data != NULL ? write_file(c, &c->file[i], &one) : 0;
        if (rc != 0 && first == 0) {
            first = rc;
            *e = one;
        }
    }
    return first;
}

json_t *ds_client_file_names(const ds_client *c)
{
    json_t *list = c->files > 0 ? json_array() : NULL;
    for (uint32_t i = 0; i < c->files; i++) {
        json_array_append_new(list, json_string(c->file[i].name));
    }
    return list;
}

/* ---- progress ---- */

/* Adds a report that was read; its point is that of the free variables. */
static ds_status add_report(ds_client *c, const ds_progress_report *report, char text[DS_REPORTS_TEXT])
{
    const uint64_t n = c->free_variables.n;
    double *x = report->x != NULL ? malloc(n * sizeof *x) : NULL;
    if (report->x != NULL && x == NULL) {
        return DS_E_NOMEM;
    }
    if (x != NULL) {
        ds_free_variables_expand(&c->free_variables, report->x, x);
    }
    ds_status st = ds_reports_add(&c->journal->reports, report, n, x, text);
    free(x);
    return st;
}

/* A call of report(). */
typedef struct report_call {
    const ds_progress_report *report;
} report_call;

/* After a request that was answered in part, the optimizer may report what an uninterrupted run would not. */
static ds_status take_report(ds_client *c, void *argument)
{
    const report_call *call = argument;
    char text[DS_REPORTS_TEXT];
    ds_progress_report report;
    if (c->journal->end != DS_END_NONE && c->journal->end != DS_END_BUDGET) {
        return DS_OK;
    }
    ds_status st = ds_reports_read(&report, call->report, &c->problem, text);
    st = st == DS_OK ? add_report(c, &report, text) : st;
    if (st == DS_E_ARG) {
        ds_journal_refuse(c->journal, "report()", text);
    }
    return st;
}

static ds_status report_progress(const ds_objective *objective, const ds_progress_report *report)
{
    report_call call = {report};
    return ds_client_guard(objective, take_report, &call);
}

/* ---- variables ---- */

/* Names of the free variables, made when the optimizer requests them; NULL without names. */
static const ds_objective_variables *variables_of(ds_client *c)
{
    const ds_named_variable *all = c->journal->env->variables;
    const uint64_t n = c->problem.n, *index = c->free_variables.index;
    if (all == NULL || c->variables.count > 0) {
        return all != NULL ? &c->variables : NULL;
    }
    c->variable = calloc(n, sizeof *c->variable);
    c->variable_list = calloc(n, sizeof(const ds_variable *));
    if (c->variable == NULL || c->variable_list == NULL) {
        return NULL;
    }
    for (uint64_t i = 0; i < n; i++) {
        const ds_named_variable *v = &all[index != NULL ? index[i] : i];
        c->variable[i] = (ds_variable){.struct_size = sizeof(ds_variable),
                                       .flags = v->flags,
                                       .name = v->name,
                                       .unit = v->unit,
                                       .group = v->group};
        c->variable_list[i] = &c->variable[i];
    }
    c->variables = (ds_objective_variables){
        .struct_size = sizeof(ds_objective_variables), .count = n, .variable = c->variable_list};
    return &c->variables;
}

/* ---- the client ---- */

static const void *extension(const ds_objective *objective, const char *id)
{
    ds_client *c = objective->ctx;
    if (!pthread_equal(c->thread, pthread_self())) {
        atomic_store(&c->strayed, 1);
        return NULL;
    }
    int gradients = strcmp(id, DS_EXT_OBJECTIVE_STEPS_GRADIENT) == 0;
    return gradients || strcmp(id, DS_EXT_OBJECTIVE_STEPS) == 0
               ? (c->offer != NULL ? c->offer(c, gradients) : NULL)
           : strcmp(id, DS_EXT_FILES) == 0               ? (const void *)files_of(c)
           : strcmp(id, DS_EXT_OBJECTIVE_VARIABLES) == 0 ? (const void *)variables_of(c)
           : strcmp(id, DS_EXT_OBJECTIVE_PROGRESS) == 0  ? (const void *)&c->progress
           : strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 && c->channels.count > 0 ? &c->channels
                                                                                 : NULL;
}

void ds_client_init(ds_client *c)
{
    const ds_channels *channels = c->journal->env->channels;
    c->channels = (ds_objective_channels){
        .struct_size = sizeof(ds_objective_channels), .count = channels->count, .channel = channels->list};
    c->progress = (ds_objective_progress){.struct_size = sizeof c->progress, .report = report_progress};
    ds_client_begin(c);
    c->objective = (ds_objective){
        .struct_size = sizeof(ds_objective), .ctx = c, .evaluate = evaluate, .get_extension = extension};
}

void ds_client_close(ds_client *c)
{
    ds_free_variables_close(&c->free_variables);
    free(c->variable);
    free(c->variable_list);
    for (uint32_t i = 0; i < c->files; i++) {
        free(c->file[i].data);
    }
    free(c->settings);
}
