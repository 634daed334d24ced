/* SPDX-License-Identifier: Apache-2.0 */
/* run_series.c - run.ini of a folder of several runs says which seeds there are to be. */
#include "config.h"

#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stop.h"
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
        int rc = path == NULL ? ds_no_memory(&mine) : 0;
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
    int rc = ds_pool_find_env(&c, options->env, e);
    rc = rc != 0 ? rc : ds_session_find_optimizer(options, &module[DS_SECTION_OPT], e);
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
                       "%s holds runs already; go on with them by: dshost resume %s, or choose another "
                       "--out; where seeds are to be added later, use dshost bench, whose --runs can grow",
                       folder, folder);
    }
    int rc = write_plan(settings, options, folder, e);
    return rc != 0 ? rc : run_all(settings, options, NULL, folder, observer, summaries, e);
}

/* The run.ini of a series says how many runs there are to be, that of one run does not: without its store
 * that is a damaged run, in which no other runs must be started. */
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
    int rc = path == NULL ? ds_no_memory(e) : ds_settings_read(&settings, path, e);
    rc = rc != 0 ? rc : ds_run_options_make(&settings, &options, e);
    rc = rc != 0 ? rc : run_all(&settings, &options, overrides, folder, observer, summaries, e);
    ds_run_options_clear(&options);
    ds_settings_clear(&settings);
    free(path);
    return rc;
}
