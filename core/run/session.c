/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - opens and closes everything that a start of a run works with, and compares the environment with
 * the record. */
#include "config.h"

#include "run/session.h"

#include "arithmetic/arithmetic.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/stop.h"
#include "evaluate/trust.h"
#include "worker/process.h"

#include <diffsim/helper/npz.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ds_session_open(ds_session *s, const char *kind, const char *folder, ds_error *e)
{
    s->start_ns = ds_clock_ns();
    s->folder = strdup(folder);
    s->spec.kind = kind;
    s->spec.options = &s->options;
    s->journal.folder = s->folder;
    s->journal.spec = &s->spec;
    s->journal.stop = &ds_stop_flag;
    return s->folder != NULL ? 0 : ds_no_memory(e);
}

void ds_session_close(ds_session *s)
{
    ds_journal_close(&s->journal);
    ds_pool_close(s->pool);
    ds_runlock_drop(s->lock);
    ds_run_options_clear(&s->options);
    ds_settings_clear(&s->settings);
    free(s->folder);
}

int ds_portable_adopt(ds_settings *settings, ds_error *e)
{
    return !ds_portable_on() ? 0
                             : ds_settings_add(settings, DS_SECTION_RUN, "portable", "true", "DS_PORTABLE",
                                               NULL, DS_EXIT_CONFIG, DS_LAYER_FLAG, e);
}

int ds_portable_settle(ds_settings *settings, ds_error *e)
{
    ds_run_options o = {0};
    int rc = ds_run_options_make(settings, &o, e);
    rc = rc == 0 && o.portable ? ds_portable_enter(e) : rc;
    ds_run_options_clear(&o);
    return rc != 0 ? rc : ds_portable_adopt(settings, e);
}

int ds_session_configure(ds_session *s, const ds_settings *settings, ds_error *e)
{
    int rc = ds_settings_copy(&s->settings, settings, e);
    rc = rc != 0 ? rc : ds_portable_settle(&s->settings, e);
    return rc != 0 ? rc : ds_run_options_make(&s->settings, &s->options, e);
}

/* ---- environment ---- */

ds_pool_config ds_pool_config_of(const ds_module *env, const ds_settings *settings, const ds_run_options *o)
{
    return (ds_pool_config){.module = env,
                            .settings = settings,
                            .seed = o->seed,
                            .threads = o->threads,
                            .jobs = (uint32_t)o->jobs,
                            .isolation = o->isolation,
                            .timeout = o->timeout,
                            .start_timeout = o->start_timeout,
                            .memory = o->memory,
                            .stop = &ds_stop_flag};
}

int ds_session_find_env(ds_session *s, ds_error *e)
{
    ds_pool_config c = ds_pool_config_of(NULL, &s->settings, &s->options);
    c.stop = s->journal.stop;
    int rc = ds_pool_find_env(&c, s->options.env, e);
    s->env_module = c.module;
    return rc;
}

int ds_session_find_optimizer(const ds_run_options *o, const ds_settings *settings, const atomic_int *stop,
                              const ds_module **out, int *apart, ds_error *e)
{
    if (ds_trust_check(settings, "opt", o->opt, e) != 0) {
        return e->status;
    }
    const ds_describe_config probe = {.start_timeout = o->start_timeout, .stop = stop};
    ds_plugin_file f;
    int rc = ds_plugin_find(o->opt, DS_KIND_OPTIMIZER, &f, e);
    *apart = o->isolate_optimizer == DS_ISOLATE_YES ||
             (rc == 0 && o->isolate_optimizer == DS_ISOLATE_AUTO && !ds_plugin_is_own(&f));
    return rc != 0  ? rc
           : *apart ? ds_describe_open(o->opt, DS_KIND_OPTIMIZER, &probe, out, e)
                    : ds_describe_and_load(o->opt, DS_KIND_OPTIMIZER, &probe, out, e);
}

ds_plugin_name ds_session_plugin(const ds_module *module, const char *given)
{
    return (ds_plugin_name){given, module->id, module->plugin->desc->version, module->path, module->blas};
}

int ds_session_open_pool(ds_session *s, uint64_t recorded, ds_error *e)
{
    ds_pool_config c = ds_pool_config_of(s->env_module, &s->settings, &s->options);
    c.stop = s->journal.stop;
    c.exact = s->spec.survey;
    c.noise_key = s->spec.survey ? s->options.noise_key : 0;
    int rc = ds_pool_open(&c, &s->pool, e);
    if (rc != 0) {
        return rc;
    }
    s->env = ds_pool_env_of(s->pool);
    s->journal.pool = s->pool;
    s->journal.env = s->env;
    s->spec.env = ds_session_plugin(s->env_module, s->options.env);
    s->spec.env_alone = (s->env_module->plugin->desc->flags & DS_ENV_OWN_PROCESS) != 0;
    s->spec.section[DS_SECTION_ENV] = s->env->params;
    s->spec.variables = s->env->variables;
    s->spec.named = s->env->info.n;
    return ds_journal_open(&s->journal, recorded > 0 ? recorded : s->env->info.n, e);
}

/* ---- folder ---- */

static int has_store(const ds_session *s)
{
    return s->spec.survey ? ds_folder_has_landscape(s->folder) : ds_folder_has_run(s->folder);
}

int ds_session_taken(const ds_session *s, ds_error *e)
{
    /* the folder that a program names may contain its own files */
    const int program = s->spec.env.id != NULL && s->env_module == NULL;
    return !has_store(s)
               ? ds_folder_vacant(s->folder, program, e)
               : ds_fail(e, DS_EXIT_IO,
                         "%s already holds a %s; continue it with: dshost resume %s, or choose another --out",
                         s->folder, s->spec.kind, s->folder);
}

int ds_session_make_folder(ds_session *s, ds_error *e)
{
    int rc = ds_folder_make(s->folder, e);
    rc = rc != 0 ? rc : ds_runlock_take(s->folder, &s->lock, e);
    rc = rc != 0 ? rc : ds_session_taken(s, e);
    return rc != 0 ? rc : ds_folder_write_ini(s->folder, &s->spec, e);
}

int ds_session_make_store(ds_session *s, ds_error *e)
{
    return ds_folder_create_store(s->folder, &s->spec, s->journal.statistics.n, &s->journal.store, e);
}

int ds_session_fact(const ds_session *s, const char *key, double *out, ds_error *e)
{
    ds_store *store = s->journal.store;
    char *text = NULL;
    int rc = ds_store_get(store, key, &text, e);
    if (rc == 0 && text != NULL && !ds_parse_real(text, out)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: %s = '%.40s'", ds_store_path(store), key, text);
    }
    free(text);
    return rc;
}

/* Reads the settings of the store and applies the overrides. */
static int restore_settings(ds_session *s, const ds_settings *overrides, ds_error *e)
{
    int rc = ds_store_get_settings(s->journal.store, &s->settings, e);
    const ds_section *given = &overrides->section[DS_SECTION_RUN];
    for (size_t i = 0; i < given->count && rc == 0; i++) {
        const ds_setting *o = &given->item[i];
        rc = ds_settings_add(&s->settings, DS_SECTION_RUN, o->key, o->value, o->origin, o->base, o->status,
                             o->layer, e);
    }
    rc = rc != 0 ? rc : ds_session_fact(s, "wall_s", &s->wall_before, e);
    rc = rc != 0 ? rc : ds_run_options_make(&s->settings, &s->options, e);
    if (rc == 0 && s->options.portable && !ds_portable_on()) {
        rc = ds_store_close(s->journal.store, e); /* this program may end here and start again */
        s->journal.store = NULL;
        rc = rc != 0 ? rc : ds_portable_enter(e);
    }
    return rc;
}

static void describe(const ds_session *s, char out[DS_ARITHMETIC_ROOM])
{
    const char *const blas[] = {s->spec.env.blas, s->spec.opt.blas};
    ds_arithmetic_describe(blas, 2, out);
}

int ds_session_compare_arithmetic(ds_session *s, ds_error *e)
{
    char now[DS_ARITHMETIC_ROOM], *then = NULL;
    describe(s, now);
    int rc = ds_store_get(s->journal.store, "arithmetic", &then, e);
    if (rc == 0 && then != NULL && strcmp(then, now) != 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "the run was begun with other arithmetic (%s; now %s): new evaluations may differ in their "
               "last digits",
               then, now);
        s->journal.arithmetic = strdup(now); /* recorded with the first new evaluation */
        rc = s->journal.arithmetic != NULL ? 0 : ds_no_memory(e);
    }
    free(then);
    return rc;
}

/* For summary.json: a recorded fact on which the results depend. */
static json_t *recorded_fact(const ds_session *s, const char *key)
{
    char *text = NULL;
    json_t *o = ds_store_get(s->journal.store, key, &text, NULL) == 0 && text != NULL && text[0] != '\0'
                    ? ds_json_text(text)
                    : NULL;
    free(text);
    return o;
}

/* Names the missing .ini file: the settings alone would be enough for a start that ended before it had a
 * record. */
static const char *missing_ini(const ds_session *s)
{
    const int is_run = !s->spec.survey;
    return ds_folder_has(s->folder, is_run ? "run.ini" : "landscape.ini") ? ""
           : is_run                                                       ? ", and no run.ini"
                                                                          : ", and no landscape.ini";
}

int ds_session_reopen(ds_session *s, const ds_settings *overrides, const char *hint, uint64_t *done,
                      ds_error *e)
{
    char name[48];
    snprintf(name, sizeof(name), "%s.sqlite", s->spec.kind);
    char *path = ds_folder_path(s->folder, name);
    int rc = path == NULL                   ? ds_no_memory(e)
             : access(s->folder, F_OK) != 0 ? ds_fail(e, DS_EXIT_IO, "%s: %s", s->folder, strerror(errno))
             : has_store(s)                 ? 0
                            : ds_fail(e, DS_EXIT_IO, "%s holds no %s (there is no %s%s)%s", s->folder,
                                      s->spec.kind, name, missing_ini(s), hint);
    rc = rc != 0 ? rc : ds_runlock_take(s->folder, &s->lock, e);
    rc = rc != 0 ? rc : ds_store_open(path, DS_STORE_WRITE, &s->journal.store, e);
    rc = rc != 0 ? rc : ds_store_verify(s->journal.store, e);
    rc = rc != 0 ? rc : ds_store_count(s->journal.store, done, e);
    rc = rc != 0 ? rc : restore_settings(s, overrides, e);
    free(path);
    return rc;
}

/* ---- end ---- */

double ds_session_seconds(const ds_session *s)
{
    return 1e-9 * (double)(ds_clock_ns() - s->start_ns);
}

double ds_session_wall(const ds_session *s)
{
    return s->wall_before + ds_session_seconds(s);
}

int ds_session_note_end(const ds_session *s, const char *ended, ds_error *e)
{
    char text[32];
    snprintf(text, sizeof(text), "%.3f", ds_session_wall(s));
    int rc = ds_store_set(s->journal.store, "wall_s", text, e);
    return rc != 0 ? rc : ds_store_set(s->journal.store, "ended", ended, e);
}

json_t *ds_session_seed(const ds_session *s)
{
    return ds_json_seed(s->options.seed);
}

json_t *ds_session_outcomes(const ds_session *s)
{
    const ds_statistics *l = &s->journal.statistics;
    json_t *o = json_object();
    for (uint32_t k = 0; k < DS_OUTCOMES; k++) {
        if (l->outcome[k] > 0) {
            json_object_set_new(o, ds_outcome_name(k), ds_json_whole(l->outcome[k]));
        }
    }
    return o;
}

static const char best_x_name[] = "best_x.npy";

json_t *ds_session_summary(const ds_session *s, uint64_t plan)
{
    const ds_journal *j = &s->journal;
    const ds_statistics *l = &j->statistics;
    uint64_t recorded = 0; /* fewer than were answered where the disk was full */
    int readable = ds_store_count(j->store, &recorded, NULL) == 0, found = l->best_id > 0;
    const int apart = found && l->n > DS_SUMMARY_VARIABLES; /* best_x is a file of its own */
    int plugin = s->env_module != NULL;                     /* else a program has evaluated */
    int inexact = plugin && (s->env_module->plugin->desc->flags & DS_ENV_INEXACT) != 0;
    const uint64_t each = plugin ? s->env->episodes : 1;
    char abi[32];
    snprintf(abi, sizeof(abi), "%u.%u", DS_ABI_MAJOR, DS_ABI_MINOR);
    json_t *versions = ds_json_object((ds_json_entry[]){{"dshost", json_string(PACKAGE_VERSION)},
                                                        {"abi", json_string(abi)},
                                                        {"env", json_string(s->spec.env.version)},
                                                        {"opt", json_string(s->spec.opt.version)},
                                                        {NULL, NULL}});
    return ds_json_object(
        (ds_json_entry[]){{"folder", json_string(s->folder)},
                          {"env", json_string(s->spec.env.id)},
                          {"opt", json_string(s->spec.opt.id)},
                          {"seed", ds_session_seed(s)},
                          {"n", ds_json_whole(s->env->info.n)},
                          {"budget", ds_json_whole(j->budget)},
                          {"planned_budget", ds_json_whole(plan)},
                          {"target", ds_json_real(s->options.target)},
                          {"evaluations", ds_json_whole(l->count)},
                          {"episodes_per_evaluation", each > 1 ? ds_json_whole(each) : NULL},
                          {"recorded", readable ? ds_json_whole(recorded) : NULL},
                          {"gradients", ds_json_whole(l->gradients)},
                          {"best_loss", ds_json_real(l->best_loss)},
                          {"best_evaluation", found ? ds_json_whole(l->best_id) : json_null()},
                          {"best_x", apart   ? NULL
                                     : found ? ds_json_reals(l->best_x, l->n)
                                             : json_null()},
                          {"best_x_file", apart ? json_string(best_x_name) : NULL},
                          {"outcomes", ds_session_outcomes(s)},
                          {"cost_steps", ds_json_whole(l->cost_steps)},
                          {"evaluation_s", ds_json_real(l->wall_s)},
                          {"wall_s", ds_json_real(ds_session_wall(s))},
                          {"ended", json_string(ds_end_name(j->end))},
                          {"error", j->error.text[0] != '\0' ? json_string(j->error.text) : json_null()},
                          {"inexact", inexact ? ds_json_real(s->env->info.tolerance) : NULL},
                          {"versions", versions},
                          {"portable", json_boolean(s->options.portable)},
                          {"processor", recorded_fact(s, "processor")},
                          {"arithmetic", recorded_fact(s, "arithmetic")},
                          {"resumed_arithmetic", recorded_fact(s, "resumed_arithmetic")},
                          {"variables", recorded_fact(s, "variables")},
                          {NULL, NULL}});
}

static int write_best_x(const ds_session *s, ds_error *e)
{
    const ds_statistics *l = &s->journal.statistics;
    char header[DS_NPZ_HEADER];
    char *path = ds_folder_path(s->folder, best_x_name);
    ds_file *f = NULL;
    int rc = path == NULL ? ds_no_memory(e) : ds_file_open(&f, path, e);
    if (rc == 0) { /* a failure is kept, and returned by commit */
        (void)ds_file_write(f, header, ds_npy_head(header, "<f8", 1, &l->n), NULL);
        (void)ds_file_write(f, l->best_x, l->n * sizeof(double), NULL);
        rc = ds_file_commit(f, e);
    }
    free(path);
    return rc;
}

int ds_session_write_summary(const ds_session *s, const json_t *summary, ds_error *e)
{
    char *path = ds_folder_path(s->folder, "summary.json");
    int rc = path == NULL ? ds_no_memory(e) : 0;
    rc = rc == 0 && json_object_get(summary, "best_x_file") != NULL ? write_best_x(s, e) : rc;
    rc = rc != 0 ? rc : ds_json_write_file(summary, path, e);
    free(path);
    return rc;
}

int ds_session_signal_status(const ds_session *s)
{
    int why = atomic_load(s->journal.stop);
    return 128 + (why > 0 ? why : 2);
}

/* ---- is the environment still the same? ---- */

/* A resumed run first repeats its best evaluation: a rebuilt environment with the same version could
 * otherwise mix two problems in one record. The repetition is neither counted nor recorded. */

/* Difference between processors for the same program, relative to the losses of the run. An environment may
 * declare a larger one. */
static const double TOLERANCE = 1e-6;

typedef struct choice {
    uint64_t id; /* of the lowest loss; 0 = no loss yet */
    double best, first;
} choice;

static int choose(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s)
{
    choice *c = ctx;
    (void)cost_steps;
    (void)wall_s;
    if (isfinite(loss) && (c->id == 0 || loss < c->best)) {
        c->first = c->id == 0 ? loss : c->first;
        c->best = loss;
        c->id = id;
    }
    return 0;
}

/* The result of the repetition. */
typedef struct repetition {
    const ds_session *session;
    const ds_row *row;
    double scale;      /* of losses */
    double difference; /* relative, of loss and gradient */
    ds_answer answer;
} repetition;

/* Differences of gradients are measured like those of losses: across the box. */
static double gradient_difference(const repetition *r, const double *grad)
{
    double size = r->scale, difference = 0;
    for (uint64_t i = 0; i < r->row->n; i++) {
        size = fmax(size, fabs(r->row->grad[i]) * r->session->journal.width[i]);
        difference = fmax(difference, fabs(r->row->grad[i] - grad[i]) * r->session->journal.width[i]);
    }
    return difference > 0 ? difference / size : 0;
}

static int compare(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    repetition *r = ctx;
    const ds_row *row = r->row;
    (void)i, (void)out;
    r->answer = *answer;
    r->difference = INFINITY;
    if (!isfinite(answer->loss)) {
        return 0;
    }
    r->scale = fmax(r->scale, fabs(answer->loss));
    double d = fabs(answer->loss - row->answer.loss);
    r->difference = d > 0 ? d / r->scale : 0;
    int both = row->grad != NULL && grad != NULL && row->answer.outcome == DS_EVAL_OK;
    if (both && answer->outcome == DS_EVAL_OK) {
        r->difference = fmax(r->difference, gradient_difference(r, grad));
    } else if (both) {
        r->difference = INFINITY;
    }
    return 0;
}

/* Sends the recorded request: a loss without its gradient may be rounded differently. */
static int query(const ds_session *session, const ds_row *row, repetition *r, ds_error *e)
{
    ds_query_layout queries;
    uint64_t noise;
    ds_pool_request q = {.count = 1, .x = row->x, .first = row->id, .noise = &noise};
    if (ds_queries_read(&row->extra, session->env->channels, row->n, &queries, &q.in, &noise) != 0) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: evaluation %llu queries channels that %s does not have now: the environment has "
                       "changed since this run was made; the folder was not changed",
                       session->folder, (unsigned long long)row->id, session->env_module->id);
    }
    q.want = row->grad != NULL ? DS_WANT_GRAD : 0;
    q.queries = queries.count > 0 ? &queries : NULL;
    return ds_pool_execute(session->pool, &q, compare, r, e);
}

static int judge(const repetition *r, ds_error *e)
{
    const ds_session *session = r->session;
    const char *id = session->env_module->id;
    double own = session->env->info.tolerance, allowed = fmax(TOLERANCE, own);
    char now[120];
    if (!(r->difference > own)) {
        return 0;
    }
    if (r->difference <= allowed) {
        ds_log(DS_LOG_WARNING, NULL,
               "evaluation %llu of the record differs now in the last digits (by %.1e relative): another "
               "machine or compiler; new evaluations will differ as well",
               (unsigned long long)r->row->id, r->difference);
        return 0;
    }
    if (ds_journal_worker_lost(&r->answer)) {
        return ds_journal_not_repeated(session->folder, r->row->id, &r->answer, e);
    }
    if (!isfinite(r->answer.loss)) {
        snprintf(now, sizeof(now), "fails now (%s)", ds_outcome_name(r->answer.outcome));
    } else if (fabs(r->answer.loss - r->row->answer.loss) > allowed * r->scale) {
        snprintf(now, sizeof(now), "has the loss %.10g now", r->answer.loss);
    } else {
        snprintf(now, sizeof(now), "has another gradient now");
    }
    return ds_fail(e, DS_EXIT_PLUGIN,
                   "%s: evaluation %llu, with the recorded loss %.10g, %s: %s has changed since this run was "
                   "made; restore the old plugin, begin a new run with --out, or continue anyway with "
                   "--verify false; nothing was changed",
                   session->folder, (unsigned long long)r->row->id, r->row->answer.loss, now, id);
}

int ds_run_recheck(const ds_session *session, ds_error *e)
{
    choice c = {0, INFINITY, 0};
    ds_cursor *cursor = NULL;
    ds_row row;
    int rc = ds_store_scan(session->journal.store, choose, &c, e);
    if (rc != 0 || c.id == 0) {
        return rc;
    }
    rc = ds_cursor_open(session->journal.store, c.id, &cursor, e);
    if (rc == 0 && ds_cursor_next(cursor, &row, e) != 1) {
        rc = e->status != 0 ? e->status
                            : ds_fail(e, DS_EXIT_IO, "%s: damaged", ds_store_path(session->journal.store));
    }
    if (rc == 0) {
        repetition r = {.session = session, .row = &row, .scale = fmax(fabs(c.best), fabs(c.first))};
        rc = query(session, &row, &r, e);
        if (rc == 0 && ds_journal_worker_lost(&r.answer)) { /* the worker may lack memory */
            rc = query(session, &row, &r, e);
        }
        rc = rc != 0 ? rc : judge(&r, e);
    }
    ds_cursor_close(cursor);
    if (rc == DS_POOL_STOPPED) {
        ds_log(DS_LOG_INFO, NULL,
               "stopped by a signal before anything new was evaluated: nothing was changed");
        rc = ds_session_signal_status(session);
    }
    return rc;
}
