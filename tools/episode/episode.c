/* SPDX-License-Identifier: Apache-2.0 */
/* episode.c - simulates points again, with all frames and metrics. */
#include "config.h"

#include "episode/episode.h"

#include "base/text.h"
#include "config/params.h"
#include "results/point.h"
#include "results/results.h"
#include "run/queries.h"
#include "run/run.h"
#include "snapshot/episode_scene.h"
#include "store/run_folder.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The origin of a point. */
typedef struct origin {
    const ds_settings *settings;
    const char *spec;       /* of the point */
    const char *from;       /* name in messages: "--x", "view" */
    uint64_t group;         /* noise key; 0 = none */
    uint64_t number;        /* of the evaluation; 0 = not from a run */
    ds_run_options options; /* of the settings */
} origin;

static int make_title(const origin *o, ds_view_episode *out, ds_error *e)
{
    int n;
    if (o->number > 0) {
        n = asprintf(&out->title, "%s, %s, seed %" PRIu64 ", evaluation %" PRIu64, out->env, out->opt,
                     out->seed, out->number);
    } else {
        n = asprintf(&out->title, "%s at %.200s", out->env, o->spec);
    }
    if (n < 0) {
        out->title = NULL;
        return ds_no_memory(e);
    }
    ds_text_clean(out->title);
    return 0;
}

int ds_view_episode_seen(const ds_view_episode *episode, ds_error *e)
{
    return episode->scene != NULL
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN,
                         "%s: nothing to show: the environment offers no scene (extension %s)", episode->env,
                         DS_EXT_SCENE);
}

static int simulate(const origin *o, const char *id, ds_scene_source *source, uint32_t keep,
                    ds_view_episode *out, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(source->pool);
    const ds_point_request q = {o->from, id, env};
    char settings[400];
    double *x = calloc(env->info.n, sizeof *x);
    ds_answer answer = {0};
    ds_settings_text(settings, sizeof settings, env->params);
    out->env = strdup(id);
    out->settings = strdup(settings);
    out->whole = env->info.steps + 1;
    out->number = o->number;
    out->seed = o->options.seed;
    out->loss = NAN;
    int rc = x == NULL || out->env == NULL || out->settings == NULL ? ds_no_memory(e) : 0;
    rc = rc != 0 ? rc : ds_point_read(&q, o->spec, x, e);
    rc = rc != 0 ? rc : make_title(o, out, e);
    if (rc == 0) {
        const uint64_t key =
            ds_pool_noise_key(source->pool, o->number > 0 ? o->number : 1, o->number > 0 ? o->group : 0);
        rc = ds_episode_scene(source, x, key, keep, &answer, &out->scene, e);
    }
    if (rc == 0 && answer.outcome > DS_EVAL_INFEASIBLE) {
        rc = ds_fail(e, DS_EXIT_ENV, "%s: the episode failed: %s%s%s", out->title,
                     ds_outcome_name(answer.outcome), answer.message[0] != '\0' ? ": " : "", answer.message);
    }
    if (rc == 0 && out->scene != NULL && out->scene->kept == 0 && keep != DS_KEEP_METRICS) {
        rc = ds_fail(e, DS_EXIT_PLUGIN, "%s: the scene of the episode has no frame", out->title);
    }
    out->loss = rc == 0 ? answer.loss : (double)NAN;
    free(x);
    return rc;
}

static int open_and_simulate(origin *o, uint32_t keep, ds_view_episode *out, ds_error *e)
{
    ds_scene_source source = {NULL, NULL};
    int rc = ds_run_options_make(o->settings, &o->options, e);
    if (rc == 0 && o->options.env[0] == '\0') {
        rc = ds_fail(e, DS_EXIT_USAGE, "view: name a run, DIR:ID, or an environment with --env and --x");
    }
    if (rc == 0) {
        ds_pool_config config = ds_pool_config_of(NULL, o->settings, &o->options);
        config.jobs = 1;
        config.exact = o->number == 0; /* points that are not from a run use the noise of run.noise_key */
        config.noise_key = o->options.noise_key;
        rc = ds_pool_find_env(&config, o->options.env, e);
        rc = rc != 0 ? rc : ds_pool_open(&config, &source.pool, e);
        rc = rc != 0 ? rc : simulate(o, config.module->id, &source, keep, out, e);
    }
    ds_scene_source_close(&source);
    ds_run_options_clear(&o->options);
    return rc;
}

/* ---- points of a run ---- */

typedef struct lowest {
    double loss;
    uint64_t id;
} lowest;

static int find_lowest(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s)
{
    lowest *l = ctx;
    (void)cost_steps, (void)wall_s;
    if (loss < l->loss) {
        *l = (lowest){loss, id};
    }
    return 0;
}

/* Finds the requested evaluation and its noise group. */
static int find_row(ds_store *store, const char *folder, uint64_t id, origin *o, ds_error *e)
{
    lowest best = {(double)INFINITY, id};
    ds_cursor *cursor = NULL;
    ds_row row;
    int found = 0, rc = id > 0 ? 0 : ds_store_scan(store, find_lowest, &best, e);
    if (rc == 0 && best.id == 0) {
        return ds_fail(e, DS_EXIT_CONFIG, "view %.200s: the run has no evaluation with a loss", folder);
    }
    rc = rc != 0 ? rc : ds_cursor_open(store, best.id, &cursor, e);
    if (rc == 0 && (found = ds_cursor_next(cursor, &row, e)) == 1) {
        o->group = ds_queries_noise(&row.extra);
        o->number = best.id;
    }
    ds_cursor_close(cursor);
    return rc != 0 || found == 1 ? rc
           : found < 0           ? e->status
                       : ds_fail(e, DS_EXIT_CONFIG, "view %.200s: the run has no evaluation %" PRIu64, folder,
                                 best.id);
}

int ds_view_episode_of_run(const char *folder, uint64_t id, const ds_settings *over, uint32_t keep,
                           ds_view_episode *out, ds_error *e)
{
    ds_store *store = NULL;
    ds_settings settings = {0};
    origin o = {.settings = &settings, .from = "view"};
    char spec[PATH_MAX + 32];
    memset(out, 0, sizeof *out);
    int rc = over != NULL ? ds_settings_copy(&settings, over, e) : 0;
    rc = rc != 0 ? rc : ds_result_store(folder, &store, e); /* ds_point_read() verifies it */
    rc = rc != 0 ? rc : ds_provenance_load(folder, &settings, e);
    rc = rc != 0 ? rc : ds_store_get(store, "opt", &out->opt, e);
    rc = rc != 0 ? rc : find_row(store, folder, id, &o, e);
    ds_store_close(store, NULL);
    if (rc == 0 && out->opt == NULL && (out->opt = strdup("")) == NULL) {
        rc = ds_no_memory(e);
    }
    if (rc == 0) {
        /* Resolve a folder named "random" as a folder, not as a named point (results/point.h). */
        snprintf(spec, sizeof spec, "%s%s:%" PRIu64, strchr(folder, '/') == NULL ? "./" : "", folder,
                 o.number);
        o.spec = spec;
        rc = open_and_simulate(&o, keep, out, e);
    }
    ds_settings_clear(&settings);
    return rc;
}

/* ---- other points ---- */

int ds_view_episode_of_point(const ds_settings *settings, const char *x, uint32_t keep, ds_view_episode *out,
                             ds_error *e)
{
    origin o = {.settings = settings, .spec = x, .from = "--x"};
    memset(out, 0, sizeof *out);
    out->opt = strdup("");
    return out->opt == NULL ? ds_no_memory(e) : open_and_simulate(&o, keep, out, e);
}

void ds_view_episode_clear(ds_view_episode *episode)
{
    free(episode->title);
    free(episode->env);
    free(episode->opt);
    free(episode->settings);
    ds_snapshot_free(episode->scene);
    memset(episode, 0, sizeof *episode);
}

void ds_view_episodes_clear(ds_view_episodes *episodes)
{
    for (size_t i = 0; i < episodes->count; i++) {
        ds_view_episode_clear(&episodes->item[i]);
    }
    free(episodes->item);
    memset(episodes, 0, sizeof *episodes);
}

/* ---- the best point of a run ---- */

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
        /* Resolve a folder named "random", "start" or "center" as a folder, not as a named point. */
        const char *here = strchr(run->folder, '/') == NULL ? "./" : "";
        snprintf(spec, sizeof spec, run->best_id != 0 ? "%s%s:%" PRIu64 : "%s%s", here, run->folder,
                 run->best_id);
        rc = b->x != NULL ? ds_point_read(&q, spec, b->x, e) : ds_no_memory(e);
    }
    return rc;
}

/* Noise group of the best evaluation, which belongs to the picture. */
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
