/* SPDX-License-Identifier: Apache-2.0 */
/* best_episode.c - see best_episode.h. */
#include "config.h"

#include "episode/best_episode.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/point.h"
#include "run/queries.h"
#include "run/run.h"
#include "store/run_folder.h"

/* The pool of a run's environment, and its best point. */
static int open_run(const ds_result *run, const ds_settings *settings, ds_best_episode *b, ds_error *e)
{
    ds_pool_config config = ds_pool_config_of(NULL, settings, &b->options);
    config.jobs = 1;
    config.isolation = DS_ISOLATION_PROCESS;
    int rc = ds_pool_find_env(&config, b->options.env, e);
    rc = rc != 0 ? rc : ds_pool_open(&config, &b->source.pool, e);
    if (rc == 0) {
        const ds_pool_env *env = ds_pool_env_of(b->source.pool);
        const ds_point_request q = {"best point", config.module->id, env};
        b->x = calloc(env->info.n, sizeof *b->x);
        char spec[PATH_MAX + 32];
        /* A folder named "random", "start" or "center" is none of the points that have names. */
        const char *here = strchr(run->folder, '/') == NULL ? "./" : "";
        snprintf(spec, sizeof spec, run->best_id != 0 ? "%s%s:%" PRIu64 : "%s%s", here, run->folder,
                 run->best_id);
        rc = b->x != NULL ? ds_point_read(&q, spec, b->x, e) : ds_no_memory(e);
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
        *group = ds_queries_noise(&row.extra);
    }
    ds_cursor_close(cursor);
    ds_store_close(store, NULL);
    return rc;
}

static int open_with(const ds_result *run, const ds_settings *settings, ds_best_episode *out, ds_error *e)
{
    uint64_t group = 0;
    int rc = ds_run_options_make(settings, &out->options, e);
    rc = rc != 0 ? rc : noise_group(run, &group, e);
    rc = rc != 0 ? rc : open_run(run, settings, out, e);
    out->noise_key = rc == 0 ? ds_pool_noise_key(out->source.pool, run->best_id, group) : 0;
    return rc;
}

int ds_best_episode_open(const ds_result *run, ds_best_episode *out, ds_error *e)
{
    memset(out, 0, sizeof *out);
    return open_with(run, &run->settings, out, e);
}

int ds_best_episode_open_folder(const ds_result *run, ds_best_episode *out, ds_error *e)
{
    ds_settings settings = {0};
    char *ini = ds_folder_path(run->folder, "run.ini");
    memset(out, 0, sizeof *out);
    int rc = ini == NULL ? ds_no_memory(e) : ds_settings_read_record(&settings, ini, e);
    rc = rc != 0 ? rc : open_with(run, &settings, out, e);
    ds_settings_clear(&settings);
    free(ini);
    return rc;
}

void ds_best_episode_close(ds_best_episode *episode)
{
    free(episode->x);
    ds_scene_source_close(&episode->source);
    ds_run_options_clear(&episode->options);
}

/* ---- metrics ---- */

static int copy_metrics(const ds_snapshot *scene, ds_last_metric **out, size_t *count, ds_error *e)
{
    ds_last_metric *metric = calloc(scene->metrics + 1, sizeof *metric);
    if (metric == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t m = 0; m < scene->metrics; m++) {
        const ds_snapshot_metric *from = &scene->metric[m];
        memcpy(metric[m].name, from->name, sizeof metric[m].name);
        memcpy(metric[m].unit, from->unit, sizeof metric[m].unit);
        metric[m].value = from->values[scene->frames - 1];
    }
    *out = metric;
    *count = (size_t)scene->metrics;
    return 0;
}

int ds_best_metrics(const ds_result *run, ds_last_metric **out, size_t *count, ds_error *e)
{
    ds_best_episode episode;
    ds_snapshot *scene = NULL;
    ds_answer answer;
    *out = NULL;
    *count = 0;
    int rc = ds_best_episode_open_folder(run, &episode, e);
    rc = rc != 0 ? rc
                 : ds_episode_scene(&episode.source, episode.x, episode.noise_key, DS_KEEP_FEW, &answer,
                                    &scene, e);
    if (rc == 0 && scene != NULL) {
        rc = copy_metrics(scene, out, count, e);
    }
    ds_snapshot_free(scene);
    ds_best_episode_close(&episode);
    return rc;
}
