/* SPDX-License-Identifier: Apache-2.0 */
/* run_series.c - several runs in one folder, whose run.ini names their seeds; and the repair of the records
 * in a folder. */
#include "config.h"

#include "run/run.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stop.h"
#include "progress/progress.h"
#include "store/run_folder.h"

/* Settings of one run of the series. */
static int settings_of(const ds_settings *all, uint64_t seed, ds_settings *one, ds_error *e)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
    memset(one, 0, sizeof(*one));
    int rc = ds_settings_copy(one, all, e);
    rc = rc != 0 ? rc
                 : ds_settings_add(one, DS_SECTION_RUN, "seed", text, "--seed", NULL, DS_EXIT_USAGE, 2, e);
    return rc != 0 ? rc
                   : ds_settings_add(one, DS_SECTION_RUN, "runs", "1", "--runs", NULL, DS_EXIT_USAGE, 2, e);
}

/* Prints the results of the runs, and which runs of the series are missing. */
static void say_end(const json_t *summaries, const ds_run_options *options, const char *folder)
{
    const size_t n = json_array_size(summaries);
    double *loss = calloc(n + 1, sizeof *loss);
    ds_runs_row row = {
        .env = options->env, .opt = options->opt, .loss = loss, .planned = (size_t)options->runs};
    for (size_t i = 0; loss != NULL && i < n; i++) {
        const json_t *s = json_array_get(summaries, i), *best = json_object_get(s, "best_loss");
        const char *ended = json_string_value(json_object_get(s, "ended"));
        const char *env = json_string_value(json_object_get(s, "env")),
                   *opt = json_string_value(json_object_get(s, "opt"));
        row.env = env != NULL ? env : row.env;
        row.opt = opt != NULL ? opt : row.opt;
        row.wall_s += json_number_value(json_object_get(s, "wall_s"));
        if (json_is_string(json_object_get(s, "error")) ||
            (ended != NULL && strcmp(ended, "too_many_failures") == 0)) {
            row.failed++;
        } else if (ended != NULL && strcmp(ended, "signal") != 0) { /* a file that a user has edited */
            loss[row.done++] = json_is_number(best) ? json_number_value(best) : (double)INFINITY;
        }
    }
    if (loss != NULL && n > 0 && options->runs > 1) {
        ds_runs_table(&row, 1, folder);
    }
    free(loss);
}

static int run_all(const ds_settings *settings, const ds_run_options *options, const ds_settings *overrides,
                   const char *folder, const ds_observer *observer, json_t **summaries, ds_error *e)
{
    int first = 0;
    *summaries = json_array();
    for (int64_t k = 0; k < options->runs && atomic_load(&ds_stop_flag) <= 0; k++) {
        uint64_t seed = options->seed + (uint64_t)k;
        char name[40];
        json_t *summary = NULL;
        ds_settings one;
        ds_error mine = {0, ""};
        snprintf(name, sizeof(name), "seed-%llu", (unsigned long long)seed);
        char *path = ds_folder_path(folder, name);
        int rc = path == NULL ? ds_no_memory(&mine) : ds_folder_check_below(folder, path, &mine);
        int over = DS_STOP_TIME; /* the time limit of the run before; a signal in between must not be lost */
        atomic_compare_exchange_strong(&ds_stop_flag, &over, 0);
        if (rc == 0 && overrides != NULL && ds_folder_has_run(path)) {
            rc = ds_run_resume(path, overrides, observer, &summary, &mine);
        } else if (rc == 0) {
            rc = settings_of(settings, seed, &one, &mine);
            rc = rc != 0 ? rc : ds_run_start(&one, path, observer, &summary, &mine);
            ds_settings_clear(&one);
        }
        if (summary != NULL) {
            json_array_append_new(*summaries, summary);
        }
        free(path);
        if (rc != 0 && first == 0) {
            first = rc;
            *e = mine;
        } else if (rc != 0 && mine.text[0] != '\0') {
            ds_log(DS_LOG_ERROR, NULL, "%s", mine.text);
        }
    }
    say_end(*summaries, options, folder);
    int why = atomic_load(&ds_stop_flag);
    return first == 0 && why > 0 ? 128 + why : first;
}

/* Writes run.ini of the whole series. */
static int write_plan(const ds_settings *settings, const ds_run_options *options, const char *folder,
                      ds_error *e)
{
    ds_run_spec r = {.kind = "run", .options = options, .all_runs = 1};
    ds_params *params[DS_SECTIONS] = {NULL};
    ds_pool_config c = ds_pool_config_of(NULL, settings, options);
    const ds_module *module[DS_SECTIONS] = {NULL};
    int apart = 0;
    int rc = ds_pool_find_env(&c, options->env, e);
    rc = rc != 0 ? rc
                 : ds_session_find_optimizer(options, settings, &ds_stop_flag, &module[DS_SECTION_OPT],
                                             &apart, e);
    module[DS_SECTION_ENV] = c.module;
    for (int k = 0; k < DS_SECTIONS && rc == 0; k++) {
        const ds_module *m = module[k];
        rc = m != NULL ? ds_params_make(m->plugin->desc->params, m->id, settings, k, &params[k], e) : 0;
        r.section[k] = params[k];
    }
    if (rc == 0) {
        r.env = ds_session_plugin(module[DS_SECTION_ENV], options->env);
        r.opt = ds_session_plugin(module[DS_SECTION_OPT], options->opt);
    }
    rc = rc != 0 ? rc : ds_folder_make(folder, e);
    rc = rc != 0 ? rc : ds_folder_write_ini(folder, &r, e);
    ds_params_free(params[DS_SECTION_ENV]);
    ds_params_free(params[DS_SECTION_OPT]);
    return rc;
}

int ds_series_start(const ds_settings *settings, const ds_run_options *options, const char *folder,
                    const ds_observer *observer, json_t **summaries, ds_error *e)
{
    if (ds_series_is(folder) || ds_folder_has_run(folder)) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s already holds runs; continue them with: dshost resume %s, or choose another "
                       "--out; to add seeds later, use dshost bench, whose --runs can grow",
                       folder, folder);
    }
    int rc = ds_folder_vacant(folder, 0, e);
    rc = rc != 0 ? rc : write_plan(settings, options, folder, e);
    return rc != 0 ? rc : run_all(settings, options, NULL, folder, observer, summaries, e);
}

/* run.ini of a series says how many runs there are; run.ini of a single run does not: without its store that
 * is a damaged run, in whose folder no other runs must be started. */
int ds_series_is(const char *folder)
{
    char *path = ds_folder_path(folder, "run.ini");
    ds_settings settings = {0};
    int is = ds_folder_has(folder, "run.ini") && !ds_folder_has_run(folder);
    if (is && ds_settings_read(&settings, path, NULL) == 0) {
        is = ds_settings_find(&settings, DS_SECTION_RUN, "runs") != NULL;
    }
    ds_settings_clear(&settings);
    free(path);
    return is;
}

int ds_series_resume(const char *folder, const ds_settings *overrides, const ds_observer *observer,
                     json_t **summaries, ds_error *e)
{
    ds_settings settings = {0};
    ds_run_options options = {0};
    char *path = ds_folder_path(folder, "run.ini");
    int rc = path == NULL ? ds_no_memory(e) : ds_settings_read_record(&settings, path, e);
    rc = rc != 0 ? rc : ds_portable_settle(&settings, e);
    rc = rc != 0 ? rc : ds_run_options_make(&settings, &options, e);
    rc = rc != 0 ? rc : run_all(&settings, &options, overrides, folder, observer, summaries, e);
    ds_run_options_clear(&options);
    ds_settings_clear(&settings);
    free(path);
    return rc;
}

/* ---- repair: `resume DIR --repair` ---- */

static int repair_one(const char *folder, ds_error *e)
{
    ds_runlock *lock = NULL;
    char *kept = NULL;
    char *path = ds_folder_path(folder, ds_folder_has_run(folder) ? "run.sqlite" : "landscape.sqlite");
    uint64_t rows = 0;
    int rc = path == NULL ? ds_no_memory(e) : ds_runlock_take(folder, &lock, e);
    rc = rc != 0 ? rc : ds_store_repair(path, &kept, &rows, e);
    if (rc == 0 && kept != NULL) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: repaired: the %llu evaluations before the first damaged one are kept, later ones are "
               "computed again; the damaged file is now %s",
               path, (unsigned long long)rows, kept);
    } else if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL, "%s: all %llu evaluations are whole: nothing to repair", path,
               (unsigned long long)rows);
    }
    ds_runlock_drop(lock);
    free(kept);
    free(path);
    return rc;
}

int ds_run_repair(const char *folder, ds_error *e)
{
    if (ds_folder_has_run(folder) || ds_folder_has_landscape(folder)) {
        return repair_one(folder, e);
    }
    DIR *d = ds_series_is(folder) ? opendir(folder) : NULL;
    int rc = 0;
    for (struct dirent *item; d != NULL && rc == 0 && (item = readdir(d)) != NULL;) {
        char *path = strncmp(item->d_name, "seed-", 5) == 0 ? ds_folder_path(folder, item->d_name) : NULL;
        rc = path != NULL && ds_folder_has_run(path) ? ds_folder_check_below(folder, path, e) : 0;
        rc = rc == 0 && path != NULL && ds_folder_has_run(path) ? repair_one(path, e) : rc;
        free(path);
    }
    if (d != NULL) {
        closedir(d);
    }
    return rc; /* without a run, resuming reports it */
}
