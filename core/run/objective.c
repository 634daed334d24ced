/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - the contract of the objective that an optimizer gets: who calls, and with what; the journal
 * answers. */
#include "config.h"

#include "run/objective.h"

#include <diffsim/ext/rl_gradient.h>

#include <string.h>

#include "base/sized.h"
/* ---- who calls ---- */

/* Begins a call of the objective: 0 = it is refused. `theirs` gets what the optimizer has set for its
 * thread. */
static int come_in(ds_client *c, ds_surroundings *theirs)
{
    if (!pthread_equal(c->thread, pthread_self()) || c->busy) {
        atomic_store(&c->strayed, 1);
        return 0;
    }
    c->busy = 1;
    *theirs = ds_surroundings_note();
    ds_surroundings_change(theirs, &c->ours);
    return 1;
}

static void go_out(ds_client *c, const ds_surroundings *theirs)
{
    ds_surroundings_change(&c->ours, theirs);
    c->busy = 0;
}

void ds_client_begin(ds_client *c)
{
    c->thread = pthread_self();
    c->ours = ds_surroundings_note();
}

void ds_client_judge(ds_client *c)
{
    if (atomic_load(&c->strayed) && c->journal->end == DS_END_NONE) {
        ds_journal_refuse(c->journal, "the objective",
                          "it was called from another thread than that of run(), while a call was under way, "
                          "or behind run()");
    }
}

int ds_client_over(ds_client *c)
{
    ds_client_judge(c);
    return ds_journal_over(c->journal);
}

ds_status ds_client_guard(const ds_objective *objective, ds_client_call *function, void *argument)
{
    ds_client *c = objective->ctx;
    ds_surroundings theirs;
    if (!come_in(c, &theirs)) {
        return DS_E_ARG;
    }
    ds_status st = function(c, argument);
    go_out(c, &theirs);
    return st;
}

/* ---- evaluations ---- */

static ds_status refuse(const ds_client *c, const char *text)
{
    return ds_journal_refuse(c->journal, "evaluate()", text);
}

static ds_status check_batch(const ds_client *c, const ds_batch *b)
{
    char text[DS_BATCH_TEXT];
    return c->open > 0                               ? refuse(c, "episodes are open")
           : !ds_batch_allowed(b, &c->problem, text) ? refuse(c, text)
                                                     : DS_OK;
}

/* Asks the journal about a batch that keeps the rules; `rows` holds its questions. */
static ds_status ask_journal(ds_client *c, const ds_batch *b, const ds_asked_rows *rows, uint64_t *done)
{
    ds_question q = {.count = b->count,
                     .x = b->x,
                     .want = b->want,
                     .asks = rows->asks.count > 0 ? &rows->asks : NULL,
                     .in = rows->in,
                     .noise = c->problem.stochastic ? b->noise : NULL,
                     .tag = b->tag,
                     .group = b->group,
                     .loss = b->loss,
                     .outcome = b->outcome,
                     .cost_steps = b->cost_steps,
                     .values = b->grad,
                     .out = rows->out};
    ds_module_end(c->optimizer); /* while evaluations are made it does not compute */
    ds_status st = ds_journal_ask(c->journal, &q, done);
    ds_module_begin(c->optimizer);
    ds_asked_answer(rows, b, *done, q.kind);
    return st;
}

/* Answers a batch of the environment's variables, which keeps the rules but for its questions. */
static ds_status answer_full(ds_client *c, const ds_batch *b, uint64_t *done)
{
    char text[DS_ASKS_TEXT];
    ds_asked_rows rows = {0};
    ds_status st;
    int rc = ds_asked_open(&rows, b, c->journal->env->channels, c->journal->env->info.n, text);
    if (rc == 0) {
        st = ask_journal(c, b, &rows, done);
    } else if (rc < 0) {
        st = refuse(c, text);
    } else {
        ds_no_memory(&c->journal->error);
        st = ds_journal_stop(c->journal, rc);
    }
    ds_asked_close(&rows);
    return st;
}

/* Answers a batch of the free variables, where others are fixed. */
static ds_status answer_free(ds_client *c, const ds_batch *b, uint64_t *done)
{
    const ds_channels *channels = c->journal->env->channels;
    char text[DS_ASKS_TEXT];
    ds_asked_rows rows = {0};
    ds_full_batch full = {.room = NULL};
    uint64_t answered = 0;
    ds_status st;
    int rc = ds_asked_open(&rows, b, channels, c->problem.n, text); /* do its questions keep the rules? */
    ds_asked_close(&rows);
    if (rc < 0) {
        return refuse(c, text);
    }
    rc = rc != 0 ? rc : ds_full_batch_open(&c->free_variables, b, channels, &full);
    if (rc == 0) {
        st = answer_full(c, &full.batch, &answered);
        ds_full_batch_answer(&c->free_variables, &full, b, answered);
        *done = answered;
    } else {
        ds_no_memory(&c->journal->error);
        st = ds_journal_stop(c->journal, rc);
    }
    ds_full_batch_close(&full);
    return st;
}

static ds_status answer_batch(ds_client *c, void *batch)
{
    ds_batch own, *b = &own, *theirs = batch;
    ds_error why;
    int readable = DS_SIZED_READ(b, theirs, DS_BATCH_SIZE_1_0, "", "the batch", &why) == 0;
    int over = ds_client_over(c);
    if (over && readable) {
        theirs->done = 0;
    }
    ds_status st = over ? DS_STOPPED : readable ? check_batch(c, b) : refuse(c, why.text);
    if (st != DS_OK) {
        return st;
    }
    return c->free_variables.index != NULL ? answer_free(c, b, &theirs->done)
                                           : answer_full(c, b, &theirs->done);
}

static ds_status evaluate(const ds_objective *objective, ds_batch *batch)
{
    return ds_client_guard(objective, answer_batch, batch);
}

/* ---- files ---- */

/* A call of save(). */
typedef struct file_call {
    const char *name;
    const void *data;
    uint64_t bytes;
} file_call;

static ds_status save_file(ds_client *c, void *argument)
{
    const file_call *f = argument;
    char text[DS_FILES_TEXT];
    ds_status st = ds_files_save(&c->files, f->name, f->data, f->bytes, text);
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
    if (c->files.table.save == NULL && ds_files_open(&c->files, c->journal) == 0) {
        c->files.table.save = save;
    }
    return c->files.table.save != NULL ? &c->files.table : NULL;
}

/* ---- the client ---- */

static const void *extension(const ds_objective *objective, const char *id)
{
    ds_client *c = objective->ctx;
    if (!pthread_equal(c->thread, pthread_self())) {
        atomic_store(&c->strayed, 1);
        return NULL;
    }
    int gradients = strcmp(id, DS_EXT_EPISODE_GRADIENTS) == 0;
    return gradients || strcmp(id, DS_EXT_EPISODES) == 0 ? (c->offer != NULL ? c->offer(c, gradients) : NULL)
           : strcmp(id, DS_EXT_FILES) == 0               ? (const void *)files_of(c)
           : strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 && c->channels.count > 0 ? &c->channels
                                                                                 : NULL;
}

void ds_client_init(ds_client *c)
{
    const ds_channels *channels = c->journal->env->channels;
    c->channels = (ds_objective_channels){
        .struct_size = sizeof(ds_objective_channels), .count = channels->count, .channel = channels->list};
    ds_client_begin(c);
    c->objective = (ds_objective){
        .struct_size = sizeof(ds_objective), .ctx = c, .evaluate = evaluate, .get_extension = extension};
}

void ds_client_close(ds_client *c)
{
    ds_free_variables_close(&c->free_variables);
    ds_files_close(&c->files);
}
