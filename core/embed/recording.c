/* SPDX-License-Identifier: Apache-2.0 */
/* recording.c - a session of a run whose environment is the program itself. */
#include "config.h"

#include "embed/recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/session.h"

struct ds_recording {
    ds_session session;
    ds_env_facts facts;
    ds_channels channels; /* none */
    uint64_t plan;        /* budget of the first start */
};

/* ---- open ---- */

static int add(ds_settings *s, const char *key, const char *value, ds_error *e)
{
    return ds_settings_add(s, DS_SECTION_RUN, key, value, "the options of the search", NULL, DS_EXIT_USAGE,
                           DS_LAYER_FLAG, e);
}

/* Makes section [run] of the record. */
static int run_settings(const ds_search_options *o, const char *name, const ds_module *optimizer,
                        ds_settings *s, ds_error *e)
{
    char budget[32], seed[32];
    snprintf(budget, sizeof budget, "%llu", (unsigned long long)o->budget);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)o->seed);
    const char *const pairs[][2] = {{"env", name},  {"opt", optimizer->id}, {"budget", budget},
                                    {"seed", seed}, {"max_failed", "1"},    {"pictures", "false"}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof pairs / sizeof *pairs; i++) {
        rc = add(s, pairs[i][0], pairs[i][1], e);
    }
    return rc;
}

static int is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n > 0 && n <= DS_MAX_NAME && s[n] == '\0' && s[0] >= 'a' && s[0] <= 'z';
}

static int other(const ds_recording *r, const char *what, ds_error *e)
{
    return ds_fail(e, DS_EXIT_USAGE,
                   "%s holds a search with another %s: give the one it was begun with, or "
                   "another folder",
                   r->session.folder, what);
}

/* Checks one fact of the record that must not change. */
static int same_fact(const ds_recording *r, const char *key, const char *what, const char *now, ds_error *e)
{
    char *then = NULL;
    int rc = ds_store_get(r->session.journal.store, key, &then, e);
    if (rc == 0 && (then == NULL || strcmp(then, now) != 0)) {
        rc = other(r, what, e);
    }
    free(then);
    return rc;
}

/* Is everything that determines the points as it was at the first start? */
static int check_same(const ds_recording *r, const ds_settings *stored, const ds_params *params, ds_error *e)
{
    const ds_session *s = &r->session;
    const ds_setting *seed = ds_settings_find(stored, DS_SECTION_RUN, "seed");
    char now[32];
    snprintf(now, sizeof now, "%llu", (unsigned long long)s->options.seed);
    int rc = same_fact(r, "evaluated_by", "kind of environment: a plugin", "program", e);
    rc = rc != 0 ? rc : same_fact(r, "env", "name", s->spec.env.id, e);
    rc = rc != 0 ? rc : same_fact(r, "opt", "optimizer", s->spec.opt.id, e);
    if (rc == 0 && (seed == NULL || strcmp(seed->value, now) != 0)) {
        rc = other(r, "seed", e);
    }
    if (rc == 0 && ds_store_n(s->journal.store) != r->facts.info.n) {
        rc = other(r, "number of variables", e);
    }
    for (size_t i = 0; rc == 0 && i < ds_params_count(params); i++) {
        const char *key = ds_params_info(params, i)->name;
        const ds_setting *then = ds_settings_find(stored, DS_SECTION_OPT, key);
        if (strcmp(then != NULL ? then->value : "", ds_params_value_text(params, i)) != 0) {
            char what[80];
            snprintf(what, sizeof what, "value of %.47s", key);
            rc = other(r, what, e);
        }
    }
    return rc;
}

static int begin(ds_recording *r, ds_error *e)
{
    ds_session *s = &r->session;
    int rc = ds_session_make_folder(s, e);
    rc = rc != 0 ? rc : ds_session_make_store(s, e);
    return rc != 0 ? rc : ds_store_set(s->journal.store, "evaluated_by", "program", e);
}

static int resume(ds_recording *r, const ds_params *params, ds_error *e)
{
    ds_session *s = &r->session;
    ds_settings stored = {0};
    uint64_t done = 0;
    double plan = 0.0;
    char *path = ds_folder_path(s->folder, "run.sqlite");
    int rc = path == NULL ? ds_no_memory(e) : ds_runlock_take(s->folder, &s->lock, e);
    rc = rc != 0 ? rc : ds_store_open(path, DS_STORE_WRITE, &s->journal.store, e);
    rc = rc != 0 ? rc : ds_store_verify(s->journal.store, e);
    rc = rc != 0 ? rc : ds_store_count(s->journal.store, &done, e);
    rc = rc != 0 ? rc : ds_store_get_settings(s->journal.store, &stored, e);
    rc = rc != 0 ? rc : check_same(r, &stored, params, e);
    rc = rc != 0 ? rc : ds_session_fact(s, "plan", &plan, e);
    rc = rc != 0 ? rc : ds_session_fact(s, "wall_s", &s->wall_before, e);
    if (rc == 0 && done > s->journal.budget) {
        rc = ds_fail(e, DS_EXIT_USAGE, "%s already holds %llu evaluations: the budget must not be smaller",
                     s->folder, (unsigned long long)done);
    }
    r->plan = (uint64_t)plan;
    rc = rc != 0 ? rc : ds_replay_open(s->journal.store, s->journal.width, &s->journal.replay, e);
    ds_settings_clear(&stored);
    free(path);
    return rc;
}

/* Makes a session like that of a run, but without a pool. */
static int make_session(ds_recording *r, const ds_search_options *o, const char *name,
                        const ds_module *optimizer, const ds_params *params, const ds_problem *problem,
                        ds_error *e)
{
    ds_session *s = &r->session;
    ds_settings settings = {0};
    int rc = ds_session_open(s, "run", o->folder, e);
    rc = rc != 0 ? rc : run_settings(o, name, optimizer, &settings, e);
    rc = rc != 0 ? rc : ds_session_configure(s, &settings, e);
    ds_settings_clear(&settings);
    if (rc != 0) {
        return rc;
    }
    r->facts = (ds_env_facts){
        .info = {.struct_size = sizeof r->facts.info, .n = problem->n, .loss_floor = -INFINITY},
        .has_gradient = problem->has_gradient != 0,
        .lower = problem->lower,
        .upper = problem->upper,
        .x0 = problem->x0,
        .channels = &r->channels};
    s->env = s->journal.env = &r->facts;
    s->spec.env = (ds_plugin_name){.given = s->options.env, .id = s->options.env, .version = ""};
    s->spec.opt = ds_session_plugin(optimizer, optimizer->id);
    s->spec.section[DS_SECTION_OPT] = params;
    s->journal.budget = r->plan = o->budget;
    return ds_journal_open(&s->journal, problem->n, e);
}

int ds_recording_open(const ds_search_options *o, const ds_module *optimizer, const ds_params *params,
                      ds_problem *problem, ds_recording **out, ds_error *e)
{
    const char *name = o->name != NULL ? o->name : "program";
    if (o->budget == 0) {
        return ds_fail(e, DS_EXIT_USAGE, "a search that is recorded needs a budget");
    }
    if (!is_name(name)) {
        return ds_fail(
            e, DS_EXIT_USAGE,
            "'%.60s': the name of what is evaluated takes lower-case letters, digits and '_', at most %u",
            name, DS_MAX_NAME);
    }
    ds_recording *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return ds_no_memory(e);
    }
    int rc = make_session(r, o, name, optimizer, params, problem, e);
    if (rc == 0) {
        rc = o->resume && ds_folder_has_run(o->folder) ? resume(r, params, e) : begin(r, e);
    }
    if (rc != 0) {
        ds_session_close(&r->session);
        free(r);
        return rc;
    }
    problem->budget = r->plan;
    *out = r;
    return 0;
}

/* ---- results ---- */

/* Counts and records a row. */
static int enter(ds_recording *r, ds_row *row, uint32_t want, int replayed, ds_error *e)
{
    ds_journal *j = &r->session.journal;
    ds_journal_append(j, row, want, row->x, replayed);
    if (j->end == DS_END_ERROR) {
        *e = j->error;
    }
    return j->end == DS_END_ERROR ? e->status : 0;
}

int ds_recording_left(const ds_recording *r)
{
    return ds_journal_replaying(&r->session.journal);
}

int ds_recording_take(ds_recording *r, const double *x, uint32_t want, double *loss, double *grad,
                      uint32_t *outcome, ds_error *e)
{
    uint64_t n = r->facts.info.n;
    ds_row row;
    int rc = ds_replay_next(r->session.journal.replay, x, want, &row, e);
    if (rc != 0) {
        return rc;
    }
    *loss = row.answer.loss;
    *outcome = row.answer.outcome;
    if ((want & DS_WANT_GRAD) != 0 && row.grad != NULL) {
        memcpy(grad, row.grad, n * sizeof *grad);
    }
    ds_row again = {.x = row.x, .answer = row.answer};
    return enter(r, &again, want, 1, e);
}

int ds_recording_add(ds_recording *r, const ds_request *b, uint64_t row, double loss, const double *grad,
                     uint32_t outcome, ds_error *e)
{
    ds_journal *j = &r->session.journal;
    ds_row entry = {
        .x = b->rows.x + row * r->facts.info.n,
        .grad = grad,
        .answer = {.loss = loss,
                   .outcome = outcome,
                   .grad_kind = grad != NULL && outcome == DS_EVAL_OK ? DS_GRAD_ADJOINT : DS_GRAD_NONE,
                   .bad_step = -1},
        .group = b->label.group};
    ds_journal_tag(entry.tag, b->label.tag);
    if (j->recorder == NULL && ds_journal_live(j) != 0) {
        *e = j->error;
        return e->status;
    }
    return enter(r, &entry, grad != NULL ? DS_WANT_GRAD : 0, 0, e);
}

/* ---- close ---- */

/* Writes the files for reports. */
static int write_end(ds_recording *r, ds_error *e)
{
    ds_session *s = &r->session;
    json_t *summary = ds_session_summary(s, r->plan);
    int rc = summary != NULL ? ds_session_note_end(s, ds_end_name(s->journal.end), e) : ds_no_memory(e);
    rc = rc != 0 ? rc : ds_session_write_summary(s, summary, e);
    json_decref(summary);
    return rc;
}

int ds_recording_close(ds_recording *r, int why, const ds_error *failure, ds_error *e)
{
    static const int ends[] = {DS_END_SIGNAL, DS_END_TARGET,    DS_END_TIME,
                               DS_END_BUDGET, DS_END_OPTIMIZER, DS_END_ERROR};
    if (r == NULL) {
        return 0;
    }
    ds_journal *j = &r->session.journal;
    /* If the folder is newer than this start's state, or the first new result was never requested because a
     * repeated one failed, change nothing. */
    int unrepeated = ds_recording_left(r) || (why == DS_RECORDING_FAILED && j->recorder == NULL);
    j->end = ends[why];
    if (why == DS_RECORDING_FAILED) {
        j->error = *failure;
    }
    int rc = ds_journal_commit(j, e);
    rc = rc != 0 || unrepeated ? rc : write_end(r, e);
    int closed = ds_store_close(j->store, rc == 0 ? e : NULL);
    j->store = NULL;
    ds_session_close(&r->session);
    free(r);
    return rc != 0 ? rc : closed;
}
