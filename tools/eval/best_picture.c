/* SPDX-License-Identifier: Apache-2.0 */
/* best_picture.c - see best_picture.h. */
#include "config.h"

#include "eval/best_picture.h"

#include "base/log.h"
#include "config/params.h"
#include "episode/episode.h"
#include "render/picture.h"

enum { METRICS = 4 }; /* of a caption */

/* As `caption` says, with the metrics of the scene. */
static int draw_scene(const ds_snapshot *scene, uint64_t frames, const ds_caption *caption,
                      const ds_render_eye *eye, const char *path, ds_error *e)
{
    ds_caption shown = *caption;
    char metrics[200] = "";
    ds_picture_metrics(metrics, sizeof metrics, scene, METRICS);
    shown.text = metrics;
    return ds_picture_best(path, scene, frames, &shown, eye, e);
}

int ds_best_picture(ds_scene_source *source, const double *x, uint64_t noise_key, const ds_caption *caption,
                    const ds_render_eye *eye, const char *path, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(source->pool);
    ds_snapshot *scene = NULL;
    ds_caption shown = *caption;
    ds_answer a;
    ds_error why = {0, ""};
    char settings[400];
    int rc;
    ds_settings_text(settings, sizeof settings, env->params);
    shown.settings = settings;
    if (ds_episode_scene(source, x, noise_key, DS_KEEP_FEW, &a, &scene, &why) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "cannot draw the episode: %s", why.text);
    }
    if (scene != NULL) {
        rc = draw_scene(scene, env->info.steps + 1, &shown, eye, path, e);
    } else {
        const ds_bars bars = {env->info.n, x, env->lower, env->upper, env->variables};
        rc = ds_picture_best_x(path, &bars, &shown, e);
    }
    ds_snapshot_free(scene);
    return rc;
}

static ds_caption caption_of(const ds_result *run)
{
    return (ds_caption){
        .env = run->env, .opt = run->opt, .seed = run->seed, .loss = run->best_loss, .number = run->best_id};
}

int ds_best_picture_of_episode(const ds_result *run, const ds_view_episode *episode, const ds_render_eye *eye,
                               const char *path, ds_error *e)
{
    ds_caption caption = caption_of(run);
    caption.settings = episode->settings;
    return draw_scene(episode->scene, episode->whole, &caption, eye, path, e);
}

static int draw_run(const ds_result *run, ds_best_episode *b, const ds_render_eye *eye, const char *path,
                    ds_error *e)
{
    const ds_caption caption = caption_of(run);
    return ds_best_picture(&b->source, b->x, b->noise_key, &caption, eye, path, e);
}

int ds_best_picture_of_record(const ds_result *run, const ds_render_eye *eye, const char *path, ds_error *e)
{
    ds_best_episode episode;
    int rc = ds_best_episode_open(run, &episode, e);
    rc = rc != 0 ? rc : draw_run(run, &episode, eye, path, e);
    ds_best_episode_close(&episode);
    return rc;
}

int ds_best_picture_of_run(const ds_result *run, const char *path, ds_error *e)
{
    ds_best_episode episode;
    int rc = ds_best_episode_open_folder(run, &episode, e);
    rc = rc != 0 ? rc : draw_run(run, &episode, NULL, path, e);
    ds_best_episode_close(&episode);
    return rc;
}
