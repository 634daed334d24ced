/* SPDX-License-Identifier: Apache-2.0 */
/* best_picture.c - see best_picture.h. */
#include "config.h"

#include "eval/best_picture.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "render/picture.h"
#include "results/point.h"
#include "results/settings_text.h"
#include "run/asked.h"
#include "run/run.h"
#include "store/run_folder.h"

enum { METRICS = 4 }; /* of a caption */

int ds_best_picture(ds_scene_source *source, const double *x, uint64_t noise_key, const ds_caption *caption,
                    const char *path, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(source->pool);
    ds_snapshot *scene = NULL;
    ds_caption shown = *caption;
    ds_answer a;
    ds_error why = {0, ""};
    char metrics[200] = "", settings[400];
    int rc;
    ds_settings_text(settings, sizeof settings, env->params);
    shown.settings = settings;
    if (ds_episode_scene(source, x, noise_key, DS_KEEP_FEW, &a, &scene, &why) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "no picture of the episode: %s", why.text);
    }
    if (scene != NULL) {
        ds_picture_metrics(metrics, sizeof metrics, scene, METRICS);
        shown.text = metrics;
        rc = ds_picture_best(path, scene, env->info.steps + 1, &shown, e);
    } else {
        const ds_bars bars = {env->info.n, x, env->lower, env->upper, env->variables};
        rc = ds_picture_best_x(path, &bars, &shown, e);
    }
    ds_snapshot_free(scene);
    return rc;
}

/* The pool of a run's environment, and its best point in *x (to be freed). */
static int open_run(const ds_result *run, const ds_settings *settings, const ds_run_options *options,
                    ds_pool **pool, double **x, ds_error *e)
{
    ds_pool_config config = ds_pool_config_of(NULL, settings, options);
    config.jobs = 1;
    config.isolation = DS_ISOLATION_PROCESS;
    int rc = ds_pool_find_env(&config, options->env, e);
    rc = rc != 0 ? rc : ds_pool_open(&config, pool, e);
    if (rc == 0) {
        const ds_pool_env *env = ds_pool_env_of(*pool);
        const ds_point_request q = {"best point", config.module->id, env};
        *x = calloc(env->info.n, sizeof **x);
        char spec[PATH_MAX + 32];
        snprintf(spec, sizeof spec, run->best_id != 0 ? "%s:%" PRIu64 : "%s", run->folder, run->best_id);
        rc = *x != NULL ? ds_point_read(&q, spec, *x, e) : ds_no_memory(e);
    }
    return rc;
}

/* The noise group of the best evaluation, which belongs to what is drawn. */
static int noise_group(const ds_result *run, uint64_t *group, ds_error *e)
{
    ds_store *store = NULL;
    ds_cursor *cursor = NULL;
    ds_row row;
    int rc = run->best_id == 0 ? 0 : ds_result_store(run->folder, &store, e);
    *group = 0;
    rc = rc != 0 || store == NULL ? rc : ds_cursor_open(store, run->best_id, &cursor, e);
    if (rc == 0 && cursor != NULL && ds_cursor_next(cursor, &row, e) == 1) {
        *group = ds_asked_noise(&row.extra);
    }
    ds_cursor_close(cursor);
    ds_store_close(store, NULL);
    return rc;
}

static int draw_run(const ds_result *run, const ds_settings *settings, const char *path, ds_error *e)
{
    ds_run_options options = {0};
    ds_scene_source source = {NULL, NULL};
    double *x = NULL;
    uint64_t group = 0;
    int rc = ds_run_options_make(settings, &options, e);
    rc = rc != 0 ? rc : noise_group(run, &group, e);
    rc = rc != 0 ? rc : open_run(run, settings, &options, &source.pool, &x, e);
    if (rc == 0) {
        const ds_caption caption = {.env = run->env,
                                    .opt = run->opt,
                                    .seed = run->seed,
                                    .loss = run->best_loss,
                                    .number = run->best_id};
        rc = ds_best_picture(&source, x, ds_pool_noise_key(source.pool, run->best_id, group), &caption, path,
                             e);
    }
    free(x);
    ds_scene_source_close(&source);
    ds_run_options_clear(&options);
    return rc;
}

int ds_best_picture_of_record(const ds_result *run, const char *path, ds_error *e)
{
    return draw_run(run, &run->settings, path, e);
}

int ds_best_picture_of_run(const ds_result *run, const char *path, ds_error *e)
{
    ds_settings settings = {0};
    char *ini = ds_folder_path(run->folder, "run.ini");
    int rc = ini == NULL ? ds_no_memory(e) : ds_settings_read(&settings, ini, e);
    rc = rc != 0 ? rc : draw_run(run, &settings, path, e);
    ds_settings_clear(&settings);
    free(ini);
    return rc;
}
