/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - the life of a run: opens everything, lets the optimizer search, and completes the result folder. */
#include "config.h"

#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/stop.h"
#include "config/expect.h"
#include "plugin/instance.h"
#include "protect/call_state.h"
#include "protect/crash.h"
#include "run/isolated.h"
#include "run/objective.h"
#include "run/recommend.h"

typedef struct ds_run {
    ds_session session;
    uint64_t plan; /* budget of the first start, which the optimizer gets */
    /* the optimizer: */
    const ds_module *module;
    ds_params *params;
    ds_services services;
    int apart;             /* in its own process */
    void *self;            /* the instance in this process, */
    ds_isolated *isolated; /* or in its own process */
    ds_client client;
    ds_problem given;         /* the problem for an instance in this process: */
    double *bounds;           /* its copies of the bounds */
    char crash_text[2][4400]; /* before the first evaluation, and after it; PATH_MAX and a line */
    struct ds_run *kept;
} ds_run;

/* ---- open ---- */

/* Is the run part of another program? */
static int is_part(const ds_session *s)
{
    return s->journal.stop != &ds_stop_flag;
}

/* Sets what the crash handler prints after "crash (SIGNAL) in ", where a plugin runs in this process. */
static void watch_crashes(ds_run *run)
{
    const ds_session *s = &run->session;
    const char *env = s->options.isolation == DS_ISOLATION_NONE ? s->env_module->id : "";
    const char *opt = run->apart ? "" : run->module->id;
    int recorded = s->journal.store != NULL;
    char *text = run->crash_text[recorded];
    size_t room = sizeof(run->crash_text[recorded]);
    if (is_part(s) || (env[0] == '\0' && opt[0] == '\0')) {
        return; /* another program handles its own signals */
    }
    const char *both = opt[0] != '\0' && env[0] != '\0' ? " or " : "";
    if (recorded) {
        snprintf(text, room,
                 "%s%s%s, which runs in this process; its evaluations are saved; once it is fixed continue "
                 "with: dshost resume %s",
                 opt, both, env, s->folder);
        run->session.journal.crash_text = text;
    } else {
        snprintf(text, room, "%s%s%s, which runs in this process, before the first evaluation", opt, both,
                 env);
    }
    ds_recorder_watch_crash(text, NULL);
}

static int open_plugins(ds_run *run, ds_error *e)
{
    ds_session *s = &run->session;
    const ds_run_options *o = &s->options;
    if (o->env[0] == '\0' || o->opt[0] == '\0') {
        return ds_fail(e, DS_EXIT_USAGE,
                       "run: name an environment with --env and an optimizer with --opt (`dshost list` "
                       "shows them)");
    }
    int rc = ds_session_find_env(s, e);
    rc = rc != 0 ? rc
                 : ds_session_find_optimizer(o, &s->settings, s->journal.stop, &run->module, &run->apart, e);
    rc = rc != 0 ? rc
                 : ds_params_make(run->module->plugin->desc->params, run->module->id, &s->settings,
                                  DS_SECTION_OPT, &run->params, e);
    if (rc == 0) {
        s->spec.opt = ds_session_plugin(run->module, o->opt);
        s->spec.section[DS_SECTION_OPT] = run->params;
        watch_crashes(run);
    }
    return rc;
}

/* Copies the problem for the instance, which may write there. */
static int copy_problem(ds_run *run, ds_error *e)
{
    const ds_problem *p = &run->client.problem;
    size_t bytes = p->n * sizeof(double);
    run->given = *p;
    run->bounds = malloc(3 * bytes);
    if (run->bounds == NULL) {
        return ds_no_memory(e);
    }
    memcpy(run->bounds, p->lower, bytes);
    memcpy(run->bounds + p->n, p->upper, bytes);
    memcpy(run->bounds + 2 * p->n, p->x0, bytes);
    run->given.lower = run->bounds;
    run->given.upper = run->bounds + p->n;
    run->given.x0 = run->bounds + 2 * p->n;
    return 0;
}

/* Does a third-party optimizer run in this process? */
static int is_foreign_here(const ds_run *run)
{
    return !run->apart && run->module != NULL && !run->module->own;
}

/* Call it before such an optimizer is called. */
static ds_process_state *enter_plugin(const ds_run *run)
{
    return is_foreign_here(run) ? ds_process_state_save() : NULL;
}

static int create_here(ds_run *run, ds_error *e)
{
    if (copy_problem(run, e) != 0) {
        return e->status;
    }
    ds_process_state *before = enter_plugin(run);
    run->client.optimizer = run->module;
    ds_module_begin(run->module);
    ds_status st = run->module->opt.create(&run->services.host, &run->given, &run->self);
    ds_module_end(run->module);
    ds_process_state_restore(before);
    if (st == DS_OK && run->self != NULL) {
        return 0;
    }
    run->self = NULL;
    return ds_services_fail(&run->services, e, "create()", st != DS_OK ? st : DS_E_GENERIC);
}

static int create_isolated(ds_run *run, ds_error *e)
{
    const ds_run_options *o = &run->session.options;
    const ds_isolated_config config = {.module = run->module,
                                       .params = run->params,
                                       .problem = &run->client.problem,
                                       .seed = o->seed,
                                       .threads = o->threads,
                                       .timeout = o->timeout,
                                       .start_timeout = o->start_timeout,
                                       .memory = o->memory,
                                       .strayed = &run->client.strayed,
                                       .journal = &run->session.journal};
    return ds_isolated_open(&config, &run->isolated, e);
}

/* Takes the free variables of the environment for the optimizer. Actions cannot be fixed in part, so fixed
 * variables exclude stepwise control. */
static int open_problem(ds_run *run, ds_error *e)
{
    const ds_session *s = &run->session;
    const ds_pool_env *env = s->env;
    const ds_problem full = {.struct_size = sizeof(ds_problem),
                             .has_gradient = env->has_gradient != 0,
                             .n = env->info.n,
                             .lower = env->lower,
                             .upper = env->upper,
                             .x0 = env->x0,
                             .budget = run->plan,
                             .target = s->options.target,
                             .loss_floor = env->info.loss_floor,
                             .stochastic = env->stochastic != 0};
    const ds_setting *fix = ds_settings_find(&s->settings, DS_SECTION_RUN, "fix");
    ds_offer offer = ds_offer_of_instance(s->env_module->plugin->desc, env);
    char who[DS_MAX_NAME + 40];
    int rc = ds_free_variables_open(s->env_module->id, &full, fix != NULL ? fix->status : DS_EXIT_CONFIG,
                                    &run->client.free_variables, e);
    if (rc != 0) {
        return rc;
    }
    if (run->client.free_variables.index != NULL) {
        snprintf(who, sizeof(who), "%s with fixed variables", s->env_module->id);
        offer.who = who;
        offer.episodes = offer.episode_gradients = 0;
    } else if (ds_expect_episodes(&s->settings) > 1) {
        snprintf(who, sizeof(who), "%s with env.expect", s->env_module->id);
        offer.who = who;
    }
    run->client.problem = run->client.free_variables.problem;
    return ds_need_check(run->module->plugin->desc, &offer, e);
}

static int open_optimizer(ds_run *run, ds_error *e)
{
    const ds_session *s = &run->session;
    run->client.journal = &run->session.journal;
    if (open_problem(run, e) != 0) {
        return e->status;
    }
    /* The spec keeps reading the parameters that the services take over: both live as long as the run. */
    ds_services_init(&run->services, run->module, run->params, s->options.seed, s->options.threads,
                     run->session.journal.stop);
    ds_client_init(&run->client);
    if (run->client.free_variables.index == NULL) {
        ds_episodes_offer(&run->client);
    }
    return run->apart ? create_isolated(run, e) : create_here(run, e);
}

static ds_run *new_run(const char *folder, const ds_observer *observer, ds_error *e)
{
    ds_run *run = calloc(1, sizeof(*run));
    if (run == NULL || ds_session_open(&run->session, "run", folder, e) != 0) {
        free(run);
        ds_fail(e, DS_EXIT_MEMORY, "out of memory");
        return NULL;
    }
    run->session.journal.observer = observer;
    if (observer != NULL && observer->stop != NULL) {
        run->session.journal.stop = observer->stop;
    }
    return run;
}

/* No code of the optimizer runs after this. */
static void end_search(ds_run *run)
{
    ds_progress_close(run->session.journal.progress);
    run->session.journal.progress = NULL;
    if (run->self != NULL) {
        ds_process_state *before = enter_plugin(run);
        run->module->opt.destroy(run->self);
        ds_process_state_restore(before);
    }
    run->self = NULL;
    ds_isolated_close(run->isolated);
    run->isolated = NULL;
    if (!is_part(&run->session) && is_foreign_here(run)) {
        /* Its threads may still exist. */
        ds_recorder_watch_crash(run->session.journal.crash_text, run->session.journal.recorder);
    } else if (!is_part(&run->session)) {
        ds_crash_unwatch();
    }
}

static void close_run(ds_run *run)
{
    end_search(run);
    ds_episodes_close(&run->client);
    ds_client_close(&run->client);
    ds_session_close(&run->session);
    ds_params_free(run->params);
    free(run->bounds);
    if (!is_foreign_here(run)) {
        free(run);
    } else { /* a thread that it left behind may call the objective, which refuses it */
        static ds_run *kept;
        run->kept = kept;
        kept = run;
    }
}

/* ---- search ---- */

/* Recorded evaluations not replayed yet. While any remain, the folder is newer than our state, so we write
 * nothing. */
static uint64_t unrepeated(const ds_run *run)
{
    const ds_journal *j = &run->session.journal;
    return (j->replay != NULL ? ds_replay_left(j->replay) : 0) + ds_episodes_repeated(&run->client);
}

static void judge_return(ds_run *run, ds_status st)
{
    ds_journal *j = &run->session.journal;
    ds_client_check_calls(&run->client);
    if (j->end == DS_END_NONE && st < 0) {
        ds_services_fail(&run->services, &j->error, "run()", st);
        if (ds_status_exit(st) != DS_EXIT_MEMORY) {
            j->error.status = DS_EXIT_PLUGIN;
        }
        j->end = DS_END_ERROR;
    }
    if (j->end == DS_END_NONE && atomic_load(j->stop) == 0) {
        j->end = DS_END_OPTIMIZER;
    } else {
        ds_journal_stop(j, DS_POOL_STOPPED);
    }
    if (j->end == DS_END_OPTIMIZER && unrepeated(run) > 0) {
        ds_fail(&j->error, DS_EXIT_PLUGIN,
                "%s: the optimizer now ends after evaluation %llu, the record has %llu: it is not "
                "deterministic, or not the version that made this run; nothing was changed",
                ds_store_path(j->store), (unsigned long long)j->statistics.count,
                (unsigned long long)(j->statistics.count + unrepeated(run)));
        j->end = DS_END_ERROR;
    }
}

static ds_status run_here(ds_run *run)
{
    ds_process_state *before = enter_plugin(run);
    ds_call_state ours = run->client.ours;
    ds_module_begin(run->module);
    ds_status st = run->module->opt.run(run->self, &run->client.objective);
    run->client.busy = 1; /* calls from here on are refused */
    ds_module_end(run->module);
    ds_call_state_restore(&ours);
    ds_process_state_restore(before);
    return st;
}

static ds_status run_isolated(ds_run *run)
{
    ds_journal *j = &run->session.journal;
    ds_error e = {0, ""};
    ds_status st = ds_isolated_run(run->isolated, &run->client.objective, run->services.last_error, &e);
    ds_client_check_calls(&run->client);
    if (e.status != 0 && j->end != DS_END_ERROR) {
        j->error = e;
        j->end = DS_END_ERROR;
    }
    return st;
}

static int search(ds_run *run, ds_error *e)
{
    ds_session *s = &run->session;
    ds_journal *j = &s->journal;
    char title[200];
    snprintf(title, sizeof(title), "%s %s seed %llu", s->spec.env.id, s->spec.opt.id,
             (unsigned long long)s->options.seed);
    const ds_progress_config progress = {.title = is_part(s) ? NULL : title,
                                         .budget = j->budget,
                                         .seconds = s->options.seconds,
                                         .recorded = j->replay != NULL ? ds_replay_left(j->replay) : 0,
                                         .stop = j->stop};
    int rc = ds_progress_open(&j->statistics, &progress, &j->progress, e);
    if (rc != 0) {
        return rc;
    }
    if (j->crash_text != NULL) {
        ds_recorder_watch_crash(j->crash_text, j->recorder);
    }
    ds_journal_notify(j, DS_RUN_BEGINS);
    ds_client_begin(&run->client);
    ds_status st = run->isolated != NULL ? run_isolated(run) : run_here(run);
    end_search(run); /* threads that it left behind may call now, for the first time */
    judge_return(run, st);
    return 0;
}

/* ---- finish ---- */

/* Is the best loss above a target? */
static int is_unmet(const ds_session *s)
{
    return isfinite(s->options.target) && !(s->journal.statistics.best_loss <= s->options.target);
}

static int exit_status(const ds_session *s)
{
    const ds_journal *j = &s->journal;
    return j->end == DS_END_SIGNAL     ? ds_session_signal_status(s)
           : j->end == DS_END_FAILURES ? DS_EXIT_ENV
           : j->end == DS_END_ERROR    ? j->error.status
           : is_unmet(s)               ? DS_EXIT_UNMET
                                       : DS_EXIT_OK;
}

/* ", 17 failed, 60 of 60 without gradient", or "" where all is well. */
static void lost_text(const ds_statistics *l, char *out, size_t room)
{
    uint64_t bad = l->outcome[DS_EVAL_BAD_GRAD];
    int used = l->failed > 0 ? snprintf(out, room, ", %llu failed", (unsigned long long)l->failed) : 0;
    if (bad > 0) {
        snprintf(out + used, room - (size_t)used, ", %llu of %llu without the requested gradient",
                 (unsigned long long)bad, (unsigned long long)l->gradients);
    }
}

/* `left`: see unrepeated(). */
static void say_end(const ds_session *s, uint64_t left)
{
    const ds_journal *j = &s->journal;
    static const char *const texts[] = {"",
                                        "budget used",
                                        "target reached",
                                        "time is up",
                                        "stopped by a signal, everything is saved",
                                        "the optimizer has finished",
                                        "too many evaluations failed",
                                        "ended by an error, the evaluations so far are saved"};
    const char *why = texts[j->end];
    char best[80] = "no loss";
    char lost[80], without[160] = "", unmet[60] = "";
    uint64_t saved = 0;
    ds_error ignored = {0, ""};
    if (left > 0) {
        ds_log(DS_LOG_INFO, NULL,
               "ended while replaying the record, after %llu of %llu evaluations: nothing was changed",
               (unsigned long long)j->statistics.count, (unsigned long long)(j->statistics.count + left));
        return;
    }
    if (j->statistics.best_id != 0) {
        snprintf(best, sizeof(best), "best loss %.10g at evaluation %llu", j->statistics.best_loss,
                 (unsigned long long)j->statistics.best_id);
    }
    if (j->error.status == DS_EXIT_IO && ds_store_present(j->store, &ignored) != 0) {
        why = "ended by an error"; /* the message of the error names what is saved */
    } else if (j->error.status == DS_EXIT_IO && ds_store_count(j->store, &saved, &ignored) == 0 &&
               saved < j->statistics.count) { /* the disk is full, for example */
        snprintf(lost, sizeof(lost), "ended by an error, %llu evaluations are saved",
                 (unsigned long long)saved);
        why = lost;
    }
    lost_text(&j->statistics, without, sizeof(without));
    if (is_unmet(s)) {
        snprintf(unmet, sizeof(unmet), ", target %.10g not reached", s->options.target);
    }
    ds_log(DS_LOG_INFO, NULL, "%s: %llu evaluations%s, %s%s (%.3g s)", why,
           (unsigned long long)j->statistics.count, without, best, unmet, ds_session_seconds(s));
    if (j->end == DS_END_SIGNAL || j->end == DS_END_TIME) {
        ds_log(DS_LOG_INFO, NULL, "continue with: dshost resume %s", s->folder);
    }
}

/* Reads the summary of an earlier start. */
static void old_summary(const ds_session *s, json_t **summary)
{
    char *path = ds_folder_path(s->folder, "summary.json");
    if (summary != NULL && path != NULL) {
        *summary = ds_json_read_file(path);
    }
    free(path);
}

/* Takes over the first failure of the final steps, unless the run itself has failed. Without room (`full`)
 * the others would only repeat it and are not reported. */
static void note_failure(ds_journal *j, int full, int rc, const ds_error *e)
{
    if (rc == 0) {
        return;
    }
    if (j->end != DS_END_ERROR) {
        j->error = *e;
        j->end = DS_END_ERROR;
    } else if (strcmp(e->text, j->error.text) != 0 && !(full && e->status == DS_EXIT_IO)) {
        ds_log(DS_LOG_ERROR, NULL, "%s", e->text);
    }
}

/* Has the run ended regularly, in an environment that may be noisy? */
static int may_recommend(const ds_session *s)
{
    const int end = s->journal.end;
    return s->env_module != NULL && s->env->stochastic &&
           (end == DS_END_BUDGET || end == DS_END_TARGET || end == DS_END_OPTIMIZER || end == DS_END_TIME);
}

/* Adds the recommendation to a finished run in a noisy environment that has none: it was stopped before, or
 * made by an earlier version. */
static void recommend_later(ds_run *run, json_t **summary)
{
    ds_session *s = &run->session;
    ds_error e = {0, ""};
    json_t *known = ds_recommended(s->journal.store);
    int rc = known != NULL ? 1 : ds_session_find_env(s, &e);
    json_decref(known);
    if (rc != 0 || (s->env_module->plugin->desc->flags & DS_ENV_STOCHASTIC) == 0) {
        return;
    }
    s->spec.opt = (ds_plugin_name){s->options.opt, s->options.opt, "", "", NULL};
    rc = ds_session_open_pool(s, 0, &e);
    rc = rc == 0 && s->env->info.n == ds_store_n(s->journal.store) ? ds_run_recheck(s, &e) : 1;
    if (rc == 0) {
        ds_recommend(s);
    }
    json_t *o = NULL, *found = ds_recommended(s->journal.store);
    old_summary(s, &o);
    if (found != NULL && o != NULL) {
        json_object_set_new(o, "recommended", json_incref(found));
        if (ds_session_write_summary(s, o, &e) != 0) {
            ds_log(DS_LOG_WARNING, NULL, "%s", e.text);
        }
        if (summary != NULL) {
            json_decref(*summary);
            *summary = json_incref(o);
        }
    }
    json_decref(o);
    json_decref(found);
}

/* After the search: commits the last rows and writes the summary. */
static void finish(ds_run *run, json_t **summary)
{
    ds_session *s = &run->session;
    ds_journal *j = &s->journal;
    ds_error e = {0, ""};
    int was_live = j->recorder != NULL;
    int first_error = j->end == DS_END_ERROR ? j->error.status : 0;
    /* A replay that failed or was stopped changes nothing. Files come before the note that the run has ended:
     * a resume makes missing ones. */
    uint64_t left = unrepeated(run);
    int keep = left > 0 || (!was_live && first_error != 0);
    note_failure(j, 0, ds_journal_commit(j, &e), &e);
    const int displaced = ds_store_displaced(j->store); /* the folder may belong to another run now */
    keep |= displaced;
    const int full = j->error.status == DS_EXIT_IO && ds_store_is_full(j->store);
    if (!keep) {
        note_failure(j, full, ds_client_write_files(&run->client, &e), &e);
    }
    if (!is_part(s) && is_foreign_here(run)) {
        ds_recorder_watch_crash(j->crash_text, NULL);
    }
    say_end(s, left);
    if (!keep && j->end != DS_END_ERROR && may_recommend(s)) {
        ds_recommend(s);
    }
    if (j->error.status != DS_EXIT_IO && !keep) {
        note_failure(j, full, ds_session_note_end(s, ds_end_name(j->end), &e), &e);
    }
    if (keep && !displaced && first_error == 0) {
        old_summary(s, summary);
    } else if (!keep) {
        json_t *o = ds_session_summary(s, run->plan), *files = ds_client_file_names(&run->client);
        json_t *recommended = ds_recommended(j->store);
        if (recommended != NULL) {
            json_object_set_new(o, "recommended", recommended);
        }
        if (files != NULL) {
            json_object_set_new(o, "files", files);
        }
        note_failure(j, full, ds_session_write_summary(s, o, &e), &e);
        if (summary != NULL) {
            *summary = json_incref(o);
        }
        json_decref(o);
    }
    note_failure(j, full, ds_store_close(j->store, &e), &e);
    j->store = NULL;
    if (!keep || displaced) {
        ds_journal_notify(j, DS_RUN_ENDED);
    }
}

/* Searches and finishes; everything is open. */
static int carry_out(ds_run *run, json_t **summary, ds_error *e)
{
    const ds_session *s = &run->session;
    const ds_journal *j = &s->journal;
    int rc = search(run, e);
    if (rc != 0) {
        return rc;
    }
    finish(run, summary);
    rc = exit_status(s);
    if (j->end == DS_END_ERROR) {
        *e = j->error;
    } else if (j->end == DS_END_FAILURES) {
        ds_fail(e, rc,
                "%s: %llu of %llu evaluations failed (run.max_failed allows a share of %g); the files "
                "%s/failure-*.ini repeat single ones",
                s->spec.env.id, (unsigned long long)j->statistics.failed,
                (unsigned long long)j->statistics.count, s->options.max_failed, s->folder);
    }
    return rc;
}

/* ---- start ---- */

/* Converts run.budget, which counts episodes, to evaluations of several episodes each (env.expect). */
static int count_evaluations(ds_session *s, ds_error *e)
{
    const uint64_t each = ds_expect_episodes(&s->settings), episodes = (uint64_t)s->options.budget;
    s->options.budget = (int64_t)(episodes / each);
    return s->options.budget >= 1 ? 0
                                  : ds_fail(e, DS_EXIT_CONFIG,
                                            "a budget of %llu episodes is less than one evaluation of "
                                            "env.expect = %llu: use a larger --budget",
                                            (unsigned long long)episodes, (unsigned long long)each);
}

/* Makes everything up to a record without evaluations. */
static int prepare(ds_run *run, const ds_settings *settings, ds_error *e)
{
    ds_session *s = &run->session;
    int rc = ds_session_taken(s, e);
    rc = rc != 0 ? rc : ds_session_configure(s, settings, e);
    rc = rc != 0 ? rc : count_evaluations(s, e);
    if (rc == 0) {
        s->journal.budget = run->plan = (uint64_t)s->options.budget;
    }
    rc = rc != 0 ? rc : open_plugins(run, e);
    rc = rc != 0 ? rc : ds_session_open_pool(s, 0, e);
    rc = rc != 0 ? rc : open_optimizer(run, e);
    rc = rc != 0 ? rc : ds_session_make_folder(s, e);
    return rc != 0 ? rc : ds_session_make_store(s, e);
}

int ds_run_start(const ds_settings *settings, const char *folder, const ds_observer *observer,
                 json_t **summary, ds_error *e)
{
    ds_run *run = new_run(folder, observer, e);
    if (run == NULL) {
        return e->status;
    }
    ds_session *s = &run->session;
    ds_journal *j = &s->journal;
    int rc = prepare(run, settings, e);
    if (rc == 0) {
        watch_crashes(run);
    }
    if (rc == 0 && ds_journal_live(j) != 0) {
        *e = j->error;
        rc = e->status;
    }
    if (rc == 0) {
        char each[40] = "";
        if (s->env->episodes > 1) {
            snprintf(each, sizeof each, " of %llu episodes each", (unsigned long long)s->env->episodes);
        }
        ds_log(DS_LOG_INFO, NULL, "%s (%llu variables) with %s, seed %llu, %llu evaluations%s -> %s",
               s->spec.env.id, (unsigned long long)s->env->info.n, s->spec.opt.id,
               (unsigned long long)s->options.seed, (unsigned long long)j->budget, each, s->folder);
        rc = carry_out(run, summary, e);
    }
    close_run(run);
    return rc;
}

/* ---- resume ---- */

int ds_run_may_override(const char *key)
{
    static const char *const keys[] = {"budget",    "seconds",           "jobs",      "threads",
                                       "isolation", "isolate_optimizer", "timeout_s", "start_timeout_s",
                                       "memory_mb", "max_failed",        "pictures",  "page",
                                       "verify"};
    size_t i = 0, count = sizeof(keys) / sizeof(keys[0]);
    while (i < count && strcmp(key, keys[i]) != 0) {
        i++;
    }
    return i < count;
}

/* The budgets of the first start and of this one. */
static int restore_budget(ds_run *run, const ds_settings *overrides, ds_error *e)
{
    ds_session *s = &run->session;
    double plan = 0.0, budget = 0.0;
    int rc = ds_session_fact(s, "plan", &plan, e);
    rc = rc != 0 ? rc : ds_session_fact(s, "budget", &budget, e);
    if (rc == 0 && !(plan >= 1.0 && budget >= 1.0)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: the budget is missing", ds_store_path(s->journal.store));
    }
    rc = rc != 0 ? rc : ds_journal_read_halts(&run->session.journal, e);
    int given = ds_settings_find(overrides, DS_SECTION_RUN, "budget") != NULL;
    rc = rc != 0 ? rc : count_evaluations(s, e);
    run->plan = (uint64_t)plan;
    run->session.journal.budget = given ? (uint64_t)s->options.budget : (uint64_t)budget;
    return rc;
}

/* Does summary.json count all evaluations? A process that was killed at its end leaves an older one, or none.
 */
static int has_summary(const ds_session *s, uint64_t done)
{
    json_t *o = NULL;
    old_summary(s, &o);
    int has = json_integer_value(json_object_get(o, "evaluations")) == (json_int_t)done;
    json_decref(o);
    return has;
}

/* Is nothing left to do? */
static int is_complete(const ds_session *s, uint64_t done, int *complete, ds_error *e)
{
    const ds_journal *j = &s->journal;
    char *ended = NULL;
    int rc = ds_store_get(j->store, "ended", &ended, e);
    *complete = rc == 0 && done >= j->budget && ended != NULL && ended[0] != '\0' && has_summary(s, done);
    free(ended);
    if (rc == 0 && j->budget < done) {
        rc = ds_fail(e, DS_EXIT_USAGE, "%s has %llu evaluations already: --budget must not be smaller",
                     s->folder, (unsigned long long)done);
    }
    return rc;
}

/* Warns where another version made the run: it may request other points. */
static void compare_version(const ds_session *s, const char *key, const char *name, const char *now)
{
    char *then = NULL;
    if (ds_store_get(s->journal.store, key, &then, NULL) == 0 && then != NULL && strcmp(then, now) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "the run was made by %s %s, this is %s", name, then, now);
    }
    free(then);
}

static int open_rest(ds_run *run, ds_error *e)
{
    ds_session *s = &run->session;
    int rc = open_plugins(run, e);
    if (rc != 0) {
        return rc;
    }
    compare_version(s, "dshost_version", "dshost", PACKAGE_VERSION);
    compare_version(s, "env_version", s->env_module->id, s->env_module->plugin->desc->version);
    compare_version(s, "opt_version", run->module->id, run->module->plugin->desc->version);
    rc = ds_session_open_pool(s, 0, e);
    rc = rc != 0 ? rc : ds_session_compare_arithmetic(s, e);
    if (rc == 0 && s->env->info.n != ds_store_n(s->journal.store)) {
        rc = ds_fail(e, DS_EXIT_PLUGIN,
                     "%s has %llu variables now, the run in %s has %llu: another version of the plugin",
                     s->spec.env.id, (unsigned long long)s->env->info.n, s->folder,
                     (unsigned long long)ds_store_n(s->journal.store));
    }
    if (rc == 0 && s->options.verify) {
        rc = ds_run_recheck(s, e);
    }
    rc = rc != 0 ? rc : open_optimizer(run, e);
    return rc != 0 ? rc : ds_replay_open(s->journal.store, s->journal.width, &s->journal.replay, e);
}

/* A search by ask and tell (diffsim/lib/ask_tell.h) continues only in the program that evaluates. */
static int check_evaluator(const ds_session *s, ds_error *e)
{
    char *who = NULL;
    int rc = ds_store_get(s->journal.store, "evaluated_by", &who, e);
    if (rc == 0 && who != NULL) {
        rc = ds_fail(
            e, DS_EXIT_USAGE,
            "%s: the evaluations were made by a program (%s), not by a plugin: start that program again, "
            "with ds_search_options.resume",
            s->folder, s->options.env);
    }
    free(who);
    return rc;
}

/* Did a program that evaluates by itself (libdiffsim) begin the run? The first line of run.ini says so. */
static int is_of_program(const char *path)
{
    void *text = NULL;
    size_t length = 0;
    int is = 0;
    if (ds_file_read(path, 1 << 20, &text, &length, DS_EXIT_IO, NULL) == 0) {
        const char *end = memchr(text, '\n', length);
        is = end != NULL && memmem(text, (size_t)(end - (const char *)text), " (a program) ", 13) != NULL;
    }
    free(text);
    return is;
}

/* A start that was killed before it had a record leaves run.ini: makes the record, and the run continues as
 * any other. */
static int begin_again(const char *folder, const ds_observer *observer, ds_error *e)
{
    ds_settings settings = {0};
    char *path = ds_folder_path(folder, "run.ini");
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && is_of_program(path)) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "%s: begun by a program, and nothing is recorded: start that program again", folder);
    }
    rc = rc != 0 ? rc : ds_settings_read_record(&settings, path, e);
    ds_run *run = rc == 0 ? new_run(folder, observer, e) : NULL;
    rc = rc == 0 && run == NULL ? e->status : rc;
    rc = rc != 0 ? rc : prepare(run, &settings, e);
    if (run != NULL) {
        const int closed = ds_store_close(run->session.journal.store, rc == 0 ? e : NULL);
        rc = rc != 0 ? rc : closed;
        run->session.journal.store = NULL;
        close_run(run);
    }
    if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL, "%s: no record was made before its start ended: begun again with run.ini",
               folder);
    }
    ds_settings_clear(&settings);
    free(path);
    return rc;
}

int ds_run_resume(const char *folder, const ds_settings *overrides, const ds_observer *observer,
                  json_t **summary, ds_error *e)
{
    uint64_t done = 0;
    int complete = 0;
    if (ds_folder_begun(folder, "run") && begin_again(folder, observer, e) != 0) {
        return e->status;
    }
    ds_run *run = new_run(folder, observer, e);
    if (run == NULL) {
        return e->status;
    }
    ds_session *s = &run->session;
    ds_journal *j = &s->journal;
    int rc = ds_session_reopen(s, overrides, "; start one with: dshost run", &done, e);
    rc = rc != 0 ? rc : check_evaluator(s, e);
    rc = rc != 0 ? rc : restore_budget(run, overrides, e);
    rc = rc != 0 ? rc : is_complete(s, done, &complete, e);
    rc = rc == 0 && complete ? ds_store_best(j->store, &j->statistics.best_loss, e) : rc;
    if (rc == 0 && complete) {
        ds_log(DS_LOG_INFO, NULL,
               "nothing to do: the budget of %llu evaluations is used up%s; --budget N extends the run",
               (unsigned long long)j->budget, is_unmet(s) ? " and the target not reached" : "");
        old_summary(s, summary);
        recommend_later(run, summary);
        rc = exit_status(s);
    } else if (rc == 0) {
        rc = open_rest(run, e);
        if (rc == 0) {
            ds_log(DS_LOG_INFO, NULL,
                   "%s with %s, seed %llu: %llu of %llu evaluations are recorded, continuing in %s",
                   s->spec.env.id, s->spec.opt.id, (unsigned long long)s->options.seed,
                   (unsigned long long)done, (unsigned long long)j->budget, s->folder);
            rc = carry_out(run, summary, e);
        }
    }
    close_run(run);
    return rc;
}
