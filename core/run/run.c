/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - the life of a run: open everything, let the optimizer search, and leave a
 * complete result folder. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/stop.h"
#include "run/run.h"
#include "run/run_internal.h"
#include "run/signals.h"

/* ---- open ---- */

ds_pool_config ds_pool_config_of(const ds_module *env, const ds_settings *settings, const ds_run_options *o)
{
    return (ds_pool_config){.module = env,
                            .settings = settings,
                            .seed = o->seed,
                            .threads = o->threads,
                            .jobs = (uint32_t)o->jobs,
                            .isolation = o->isolation,
                            .timeout = o->timeout,
                            .memory = o->memory,
                            .stop = &ds_stop_flag};
}

static int open_plugins(ds_run *run, ds_error *e)
{
    const ds_run_options *o = &run->options;
    ds_pool_config c = ds_pool_config_of(NULL, &run->settings, o);
    int rc;
    if (o->env[0] == '\0' || o->opt[0] == '\0') {
        return ds_fail(e, DS_EXIT_USAGE,
                       "run: name an environment with --env and an optimizer with --opt (`dshost list` "
                       "shows them)");
    }
    rc = ds_pool_find_env(&c, o->env, e);
    run->env_module = c.module;
    rc = rc != 0 ? rc : ds_loader_open(o->opt, DS_KIND_OPTIMIZER, &run->opt_module, e);
    rc = rc != 0 ? rc
                 : ds_params_make(run->opt_module->plugin->desc->params, run->opt_module->id, &run->settings,
                                  DS_SECTION_OPT, &run->opt_params, e);
    return rc;
}

static int open_pool(ds_run *run, ds_error *e)
{
    const ds_run_options *o = &run->options;
    ds_pool_config c = ds_pool_config_of(run->env_module, &run->settings, o);
    int rc = ds_pool_open(&c, &run->pool, e);
    if (rc != 0) {
        return rc;
    }
    run->env = ds_pool_env_of(run->pool);
    uint64_t n = run->env->info.n;
    run->spec =
        (ds_run_spec){run->env_module, run->opt_module, o, run->env->params, run->opt_params, 0, NULL};
    run->width = malloc(n * sizeof(double));
    if (run->width == NULL || ds_statistics_open(&run->statistics, n) != 0) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    for (uint64_t i = 0; i < n; i++) {
        run->width[i] = run->env->upper[i] - run->env->lower[i];
    }
    return 0;
}

static int open_optimizer(ds_run *run, ds_error *e)
{
    const ds_pool_env *env = run->env;
    const ds_desc *desc = run->opt_module->plugin->desc;
    if ((desc->flags & DS_OPT_NEEDS_GRADIENT) != 0 && !env->has_gradient) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s needs gradients, which %s does not have; take another optimizer",
                       run->opt_module->id, run->env_module->id);
    }
    if ((desc->flags & DS_OPT_NEEDS_RL) != 0 && env->rl.horizon == 0) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s steps through episodes (" DS_EXT_RL
                       "), which %s does not offer; take another optimizer, or "
                       "one of the environments that `dshost list` marks with rl",
                       run->opt_module->id, run->env_module->id);
    }
    run->problem = (ds_problem){.struct_size = sizeof(ds_problem),
                                .has_gradient = env->has_gradient != 0,
                                .n = env->info.n,
                                .lower = env->lower,
                                .upper = env->upper,
                                .x0 = env->x0,
                                .budget = run->plan,
                                .target = run->options.target,
                                .loss_floor = env->info.loss_floor};
    /* The services take over the parameters: the spec keeps reading them, so they live as
     * long as the run. */
    ds_services_init(&run->opt_services, run->opt_module, run->opt_params, run->options.seed,
                     run->options.threads, &ds_stop_flag);
    ds_status st = run->opt_module->opt.create(&run->opt_services.host, &run->problem, &run->opt_self);
    if (st != DS_OK || run->opt_self == NULL) {
        run->opt_self = NULL;
        return ds_services_fail(&run->opt_services, e, "create()", st != DS_OK ? st : DS_E_GENERIC);
    }
    ds_objective_init(run);
    return 0;
}

/* What the crash handler says behind "crash (SIGNAL) in ". */
static void make_crash_text(ds_run *run)
{
    int local = run->options.isolation == DS_ISOLATION_NONE;
    snprintf(run->crash_text, sizeof(run->crash_text),
             "%s%s%s, which runs in this process; what it was told is saved; once it is mended go on with: "
             "dshost resume %s",
             run->opt_module->id, local ? " or " : "", local ? run->env_module->id : "", run->folder);
}

/* ---- close ---- */

static void close_run(ds_run *run)
{
    ds_progress_close(run->progress);
    if (run->opt_self != NULL) {
        run->opt_module->opt.destroy(run->opt_self);
    }
    ds_crash_unwatch();
    ds_replay_close(run->replay);
    ds_recorder_close(run->recorder, NULL);
    ds_store_close(run->store, NULL);
    ds_run_episodes_close(run);
    ds_pool_close(run->pool);
    ds_runlock_drop(run->lock);
    ds_statistics_close(&run->statistics);
    ds_params_free(run->opt_params);
    ds_run_options_clear(&run->options);
    ds_settings_clear(&run->settings);
    free(run->width);
    free(run->folder);
}

/* ---- search ---- */

void ds_run_tell(const ds_run *run, int event)
{
    const ds_statistics *l = &run->statistics;
    const ds_observed o = {run->folder, &run->options, l->count,
                           l->best_id,  l->wall,       run->end == DS_END_SIGNAL};
    if (run->observer != NULL) {
        run->observer->see(run->observer->ctx, event, &o);
    }
}

/* Evaluations of the record that were not repeated. While there are some, what this start knows of the run is
 * less than what its folder says, so that nothing of it is written there. */
static uint64_t unrepeated(const ds_run *run)
{
    return (run->replay != NULL ? ds_replay_left(run->replay) : 0) + ds_run_episodes_repeated(run);
}

static void judge_return(ds_run *run, ds_status st)
{
    if (run->end == DS_END_NONE && st < 0) {
        ds_services_fail(&run->opt_services, &run->error, "run()", st);
        if (ds_status_exit(st) != DS_EXIT_MEMORY) {
            run->error.status = DS_EXIT_PLUGIN;
        }
        run->end = DS_END_ERROR;
    }
    if (run->end == DS_END_NONE) {
        int why = atomic_load(&ds_stop_flag);
        run->end = why == 0 ? DS_END_OPTIMIZER : why == DS_STOP_TIME ? DS_END_TIME : DS_END_SIGNAL;
    }
    if (run->end == DS_END_OPTIMIZER && unrepeated(run) > 0) {
        ds_fail(&run->error, DS_EXIT_PLUGIN,
                "%s: the optimizer now ends after evaluation %llu, the record has %llu: it is not "
                "deterministic, or not the version that made this run; nothing was changed",
                ds_store_path(run->store), (unsigned long long)run->statistics.count,
                (unsigned long long)(run->statistics.count + unrepeated(run)));
        run->end = DS_END_ERROR;
    }
}

static int search(ds_run *run, ds_error *e)
{
    char title[200];
    snprintf(title, sizeof(title), "%s %s seed %llu", run->env_module->id, run->opt_module->id,
             (unsigned long long)run->options.seed);
    int rc = ds_progress_open(&run->statistics, title, run->budget, run->options.seconds,
                              run->replay != NULL ? ds_replay_left(run->replay) : 0, &run->progress, e);
    if (rc != 0) {
        return rc;
    }
    ds_crash_watch(run->crash_text, run->recorder);
    ds_run_tell(run, DS_RUN_BEGINS);
    ds_status st = run->opt_module->opt.run(run->opt_self, &run->objective);
    judge_return(run, st);
    ds_progress_close(run->progress);
    run->progress = NULL;
    run->opt_module->opt.destroy(run->opt_self);
    run->opt_self = NULL;
    ds_crash_unwatch();
    return 0;
}

/* ---- finish ---- */

static int exit_status(const ds_run *run)
{
    int wanted = isfinite(run->options.target) && !(run->statistics.best_loss <= run->options.target);
    switch (run->end) {
    case DS_END_SIGNAL:
        return 128 + (atomic_load(&ds_stop_flag) > 0 ? atomic_load(&ds_stop_flag) : 2);
    case DS_END_FAILURES:
        return DS_EXIT_ENV;
    case DS_END_ERROR:
        return run->error.status;
    default:
        return wanted ? DS_EXIT_UNMET : DS_EXIT_OK;
    }
}

/* ", 17 failed, 60 of 60 without gradient", or "" where all is well. */
static void lost_text(const ds_statistics *l, char *out, size_t room)
{
    char failed[60] = "", blind[80] = "";
    uint64_t bad = l->outcome[DS_EVAL_BAD_GRAD];
    if (l->failed > 0) {
        snprintf(failed, sizeof(failed), ", %llu failed", (unsigned long long)l->failed);
    }
    if (bad > 0) {
        snprintf(blind, sizeof(blind), ", %llu of %llu without the gradient asked for",
                 (unsigned long long)bad, (unsigned long long)l->gradients);
    }
    snprintf(out, room, "%s%s", failed, blind);
}

/* `left`: see unrepeated(). */
static void say_end(const ds_run *run, uint64_t left)
{
    static const char *const texts[] = {"",
                                        "budget used",
                                        "target reached",
                                        "time is up",
                                        "stopped by a signal, everything is saved",
                                        "the optimizer has finished by itself",
                                        "too many evaluations failed",
                                        "ended by an error, what was done is saved"};
    const char *why = texts[run->end];
    char best[80] = "no loss";
    char lost[80], without[160];
    uint64_t saved = 0;
    ds_error ignored = {0, ""};
    if (left > 0) {
        ds_log(DS_LOG_INFO, NULL,
               "ended while repeating the record, after %llu of %llu evaluations: nothing was changed",
               (unsigned long long)run->statistics.count, (unsigned long long)(run->statistics.count + left));
        return;
    }
    if (run->statistics.best_id != 0) {
        snprintf(best, sizeof(best), "best loss %.10g at evaluation %llu", run->statistics.best_loss,
                 (unsigned long long)run->statistics.best_id);
    }
    if (run->error.status == DS_EXIT_IO && ds_store_count(run->store, &saved, &ignored) == 0 &&
        saved < run->statistics.count) { /* the disk is full, for example */
        snprintf(lost, sizeof(lost), "ended by an error, %llu evaluations are saved",
                 (unsigned long long)saved);
        why = lost;
    }
    lost_text(&run->statistics, without, sizeof(without));
    ds_log(DS_LOG_INFO, NULL, "%s: %llu evaluations%s, %s (%.3g s)", why,
           (unsigned long long)run->statistics.count, without, best,
           1e-9 * (double)(ds_clock_ns() - run->start_ns));
    if (run->end == DS_END_SIGNAL || run->end == DS_END_TIME) {
        ds_log(DS_LOG_INFO, NULL, "go on with: dshost resume %s", run->folder);
    }
}

static int write_summary(const ds_run *run, const json_t *summary, ds_error *e)
{
    char *path = ds_folder_path(run->folder, "summary.json");
    int rc =
        path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : ds_json_write_file(summary, path, e);
    free(path);
    return rc;
}

/* The summary that an earlier start has left. */
static void old_summary(const ds_run *run, json_t **summary)
{
    char *path = ds_folder_path(run->folder, "summary.json");
    if (summary != NULL && path != NULL) {
        *summary = json_load_file(path, 0, NULL);
    }
    free(path);
}

/* Takes over the first failure of finishing, unless the run has failed itself. */
static void note_failure(ds_run *run, const ds_error *e)
{
    if (run->end != DS_END_ERROR) {
        run->error = *e;
        run->end = DS_END_ERROR;
    } else if (strcmp(e->text, run->error.text) != 0) {
        ds_log(DS_LOG_ERROR, NULL, "%s", e->text);
    }
}

/* The search is over: commits the last rows, and leaves the summary. */
static void finish(ds_run *run, json_t **summary)
{
    ds_error e = {0, ""};
    char text[32];
    int was_live = run->recorder != NULL;
    int first_error = run->end == DS_END_ERROR ? run->error.status : 0;
    /* A replay that failed, or that was stopped before its end, changes nothing. */
    uint64_t left = unrepeated(run);
    int keep = left > 0 || (!was_live && first_error != 0);
    ds_replay_close(run->replay);
    run->replay = NULL;
    if (ds_recorder_close(run->recorder, &e) != 0) {
        note_failure(run, &e);
    }
    run->recorder = NULL;
    say_end(run, left);
    snprintf(text, sizeof(text), "%.3f", run->wall_before + 1e-9 * (double)(ds_clock_ns() - run->start_ns));
    if (run->error.status != DS_EXIT_IO && !keep) {
        if (ds_store_set(run->store, "wall_s", text, &e) != 0 ||
            ds_store_set(run->store, "ended", ds_end_name(run->end), &e) != 0) {
            note_failure(run, &e);
        }
    }
    if (keep && first_error == 0) {
        old_summary(run, summary);
    } else if (!keep) {
        json_t *s = ds_run_summary(run);
        if (write_summary(run, s, &e) != 0) {
            note_failure(run, &e);
        }
        if (summary != NULL) {
            *summary = s;
        } else {
            json_decref(s);
        }
    }
    if (ds_store_close(run->store, &e) != 0) {
        note_failure(run, &e);
    }
    run->store = NULL;
    if (!keep) {
        ds_run_tell(run, DS_RUN_ENDED);
    }
}

/* Searches and finishes; everything is open. */
static int carry_out(ds_run *run, json_t **summary, ds_error *e)
{
    int rc = search(run, e);
    if (rc != 0) {
        return rc;
    }
    finish(run, summary);
    rc = exit_status(run);
    if (run->end == DS_END_ERROR) {
        *e = run->error;
    } else if (run->end == DS_END_FAILURES) {
        ds_fail(e, rc,
                "%s: %llu of %llu evaluations failed (run.max_failed allows a share of %g); the files "
                "%s/failure-*.ini repeat single ones",
                run->env_module->id, (unsigned long long)run->statistics.failed,
                (unsigned long long)run->statistics.count, run->options.max_failed, run->folder);
    }
    return rc;
}

/* ---- start ---- */

static int prepare_folder(ds_run *run, ds_error *e)
{
    int rc = ds_folder_make(run->folder, e);
    rc = rc != 0 ? rc : ds_runlock_take(run->folder, &run->lock, e);
    if (rc == 0 && ds_folder_has_run(run->folder)) {
        rc = ds_fail(e, DS_EXIT_IO,
                     "%s holds a run already; go on with it by: dshost resume %s, or choose another --out",
                     run->folder, run->folder);
    }
    rc = rc != 0 ? rc : ds_folder_write_ini(run->folder, &run->spec, e);
    return rc != 0 ? rc : ds_folder_create_store(run->folder, &run->spec, run->problem.n, &run->store, e);
}

int ds_run_start(const ds_settings *settings, const char *folder, const ds_observer *observer,
                 json_t **summary, ds_error *e)
{
    ds_run *run = calloc(1, sizeof(*run));
    int rc = 0;
    if (run == NULL || (run->folder = strdup(folder)) == NULL) {
        free(run);
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    run->start_ns = ds_clock_ns();
    run->observer = observer;
    if (ds_folder_has_run(folder)) {
        rc = ds_fail(e, DS_EXIT_IO,
                     "%s holds a run already; go on with it by: dshost resume %s, or choose another --out",
                     folder, folder);
    }
    rc = rc != 0 ? rc : ds_settings_copy(&run->settings, settings, e);
    rc = rc != 0 ? rc : ds_run_options_make(&run->settings, &run->options, e);
    if (rc == 0) {
        run->budget = run->plan = (uint64_t)run->options.budget;
    }
    rc = rc != 0 ? rc : open_plugins(run, e);
    if (rc == 0) {
        make_crash_text(run);
        ds_crash_watch(run->crash_text, NULL);
    }
    rc = rc != 0 ? rc : open_pool(run, e);
    rc = rc != 0 ? rc : open_optimizer(run, e);
    rc = rc != 0 ? rc : prepare_folder(run, e);
    rc = rc != 0 ? rc : ds_run_go_live(run, e);
    if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL, "%s (%llu variables) with %s, seed %llu, %llu evaluations -> %s",
               run->env_module->id, (unsigned long long)run->problem.n, run->opt_module->id,
               (unsigned long long)run->options.seed, (unsigned long long)run->budget, run->folder);
        rc = carry_out(run, summary, e);
    }
    close_run(run);
    free(run);
    return rc;
}

/* ---- resume ---- */

static const char *const overridable[] = {"budget",    "seconds",   "jobs",       "threads",  "isolation",
                                          "timeout_s", "memory_mb", "max_failed", "pictures", "verify"};

int ds_run_may_override(const char *key)
{
    for (size_t i = 0; i < sizeof(overridable) / sizeof(overridable[0]); i++) {
        if (strcmp(key, overridable[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Reads a number of the store's meta data. */
static int read_fact(ds_run *run, const char *key, double *out, ds_error *e)
{
    char *text = NULL;
    int rc = ds_store_get(run->store, key, &text, e);
    if (rc == 0 && text != NULL && !ds_parse_real(text, out)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: %s = '%.40s'", ds_store_path(run->store), key, text);
    }
    free(text);
    return rc;
}

/* Settings of the store, with the overrides and the present budget. */
static int restore_settings(ds_run *run, const ds_settings *overrides, ds_error *e)
{
    double plan = 0.0;
    double budget = 0.0;
    int rc = ds_store_get_settings(run->store, &run->settings, e);
    rc = rc != 0 ? rc : read_fact(run, "plan", &plan, e);
    rc = rc != 0 ? rc : read_fact(run, "budget", &budget, e);
    rc = rc != 0 ? rc : read_fact(run, "wall_s", &run->wall_before, e);
    if (rc == 0 && !(plan >= 1.0 && budget >= 1.0)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: the budget is missing", ds_store_path(run->store));
    }
    const ds_section *given = &overrides->section[DS_SECTION_RUN];
    for (size_t i = 0; i < given->count && rc == 0; i++) {
        const ds_setting *s = &given->item[i];
        rc = ds_settings_add(&run->settings, DS_SECTION_RUN, s->key, s->value, s->origin, s->base, s->status,
                             s->layer, e);
    }
    rc = rc != 0 ? rc : ds_run_options_make(&run->settings, &run->options, e);
    run->plan = (uint64_t)plan;
    run->budget = (uint64_t)budget;
    if (rc == 0 && ds_settings_find(overrides, DS_SECTION_RUN, "budget") != NULL) {
        run->budget = (uint64_t)run->options.budget;
    }
    return rc;
}

/* Does summary.json tell of all evaluations? A process that was killed at its end has left an older
 * one, or none. */
static int has_summary(const ds_run *run, uint64_t done)
{
    json_t *o = NULL;
    old_summary(run, &o);
    int has = json_integer_value(json_object_get(o, "evaluations")) == (json_int_t)done;
    json_decref(o);
    return has;
}

/* Is there anything left to do? */
static int is_complete(ds_run *run, uint64_t done, int *complete, ds_error *e)
{
    char *ended = NULL;
    int rc = ds_store_get(run->store, "ended", &ended, e);
    *complete = rc == 0 && done >= run->budget && ended != NULL && ended[0] != '\0' && has_summary(run, done);
    free(ended);
    if (rc == 0 && run->budget < done) {
        rc = ds_fail(e, DS_EXIT_USAGE, "%s has %llu evaluations already: --budget must not be smaller",
                     run->folder, (unsigned long long)done);
    }
    return rc;
}

/* Tells when the run was made by other versions: it may ask other points. */
static void compare_version(ds_run *run, const char *key, const char *name, const char *now)
{
    char *then = NULL;
    if (ds_store_get(run->store, key, &then, NULL) == 0 && then != NULL && strcmp(then, now) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "the run was made by %s %s, this is %s", name, then, now);
    }
    free(then);
}

static int open_stored_run(ds_run *run, const ds_settings *overrides, uint64_t *done, int *complete,
                           ds_error *e)
{
    char *path = ds_folder_path(run->folder, "run.sqlite");
    int rc = 0;
    if (path == NULL) {
        rc = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    } else if (access(run->folder, F_OK) != 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: %s", run->folder, strerror(errno));
    } else if (!ds_folder_has_run(run->folder)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s holds no run (there is no run.sqlite); start one with: dshost run",
                     run->folder);
    }
    rc = rc != 0 ? rc : ds_runlock_take(run->folder, &run->lock, e);
    rc = rc != 0 ? rc : ds_store_open(path, DS_STORE_WRITE, &run->store, e);
    rc = rc != 0 ? rc : ds_store_count(run->store, done, e);
    rc = rc != 0 ? rc : restore_settings(run, overrides, e);
    rc = rc != 0 ? rc : is_complete(run, *done, complete, e);
    free(path);
    return rc;
}

static int open_rest(ds_run *run, ds_error *e)
{
    int rc = open_plugins(run, e);
    if (rc != 0) {
        return rc;
    }
    make_crash_text(run);
    ds_crash_watch(run->crash_text, NULL);
    compare_version(run, "dshost_version", "dshost", PACKAGE_VERSION);
    compare_version(run, "env_version", run->env_module->id, run->env_module->plugin->desc->version);
    compare_version(run, "opt_version", run->opt_module->id, run->opt_module->plugin->desc->version);
    rc = open_pool(run, e);
    if (rc == 0 && run->env->info.n != ds_store_n(run->store)) {
        rc = ds_fail(e, DS_EXIT_PLUGIN,
                     "%s has %llu variables now, the run in %s has %llu: another version of the plugin",
                     run->env_module->id, (unsigned long long)run->env->info.n, run->folder,
                     (unsigned long long)ds_store_n(run->store));
    }
    if (rc == 0 && run->options.verify) {
        rc = ds_run_recheck(run, e);
    }
    rc = rc != 0 ? rc : open_optimizer(run, e);
    return rc != 0 ? rc : ds_replay_open(run->store, run->width, &run->replay, e);
}

int ds_run_resume(const char *folder, const ds_settings *overrides, const ds_observer *observer,
                  json_t **summary, ds_error *e)
{
    ds_run *run = calloc(1, sizeof(*run));
    uint64_t done = 0;
    int complete = 0;
    if (run == NULL || (run->folder = strdup(folder)) == NULL) {
        free(run);
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    run->start_ns = ds_clock_ns();
    run->observer = observer;
    int rc = open_stored_run(run, overrides, &done, &complete, e);
    if (rc == 0 && complete) {
        rc = ds_store_best(run->store, &run->statistics.best_loss, e);
    }
    if (rc == 0 && complete) {
        ds_log(DS_LOG_INFO, NULL,
               "nothing to do: the budget of %llu evaluations is used up; --budget N extends the run",
               (unsigned long long)run->budget);
        old_summary(run, summary);
        rc = exit_status(run);
    } else if (rc == 0) {
        rc = open_rest(run, e);
        if (rc == 0) {
            ds_log(DS_LOG_INFO, NULL,
                   "%s with %s, seed %llu: %llu of %llu evaluations are recorded, going on in %s",
                   run->env_module->id, run->opt_module->id, (unsigned long long)run->options.seed,
                   (unsigned long long)done, (unsigned long long)run->budget, run->folder);
            rc = carry_out(run, summary, e);
        }
    }
    close_run(run);
    free(run);
    return rc;
}
