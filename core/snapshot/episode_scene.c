/* SPDX-License-Identifier: Apache-2.0 */
/* episode_scene.c - simulates an episode in a pool or a worker of its own and reads its scene. */
#include "config.h"

#include "snapshot/episode_scene.h"

#include <stdio.h>
#include <unistd.h>

#include "base/text.h"

static int take(ds_env *env, const ds_scene *ext, uint32_t keep, ds_snapshot **out, ds_error *e)
{
    env->services.last_error[0] = '\0';
    return ds_services_explain(&env->services, ds_snapshot_take(ext, env->self, keep, out, e), e);
}

static int scene_here(ds_env *env, const double *x, uint64_t noise_key, uint32_t keep, ds_answer *a,
                      ds_snapshot **out, ds_error *e)
{
    const ds_scene *ext = ds_env_scene(env);
    const atomic_int *stop = env->services.stop;
    env->services.stop = NULL; /* a stopped run still needs its image */
    ds_env_evaluate(env, x, noise_key, DS_WANT_SCENE, NULL, a);
    env->services.stop = stop;
    return ext == NULL || a->outcome > DS_EVAL_INFEASIBLE ? 0 : take(env, ext, keep, out, e);
}

/* Reads the scene file, which may hold a reason instead of a scene. */
static int read_scene(int fd, const char *id, ds_snapshot **out, ds_error *e)
{
    char text[400];
    int status = 0, used = 0;
    ds_error why;
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    ds_text_clean(text);
    if (text[0] == DS_SCENE_REFUSED && sscanf(text + 1, "%d %n", &status, &used) == 1 && status > 0) {
        return ds_fail(e, status, "%s: the scene: %s", id, text + 1 + used);
    }
    status = ds_snapshot_read_fd(fd, out, &why);
    return status == 0 ? 0 : ds_fail(e, status, "%s: the scene: %s", id, why.text);
}

/* The worker that writes scenes: the pool's only one, or another, which a stop of the pool does not stop. */
static int find_worker(ds_scene_source *source, const char **id, ds_supervisor **out, ds_error *e)
{
    ds_supervisor_config config = ds_pool_supervisor_config(source->pool, 1);
    *id = config.module->id;
    if (config.workers == 1 && config.stop == NULL) {
        *out = ds_pool_supervisor(source->pool);
        return 0;
    }
    config.capacity = 2;
    config.stop = NULL;
    const int rc = source->supervisor == NULL ? ds_supervisor_open(&config, &source->supervisor, e) : 0;
    *out = source->supervisor;
    return rc;
}

static int scene_of_worker(ds_scene_source *source, const double *x, uint64_t noise_key, uint32_t keep,
                           ds_answer *a, ds_snapshot **out, ds_error *e)
{
    const char *id = NULL;
    ds_supervisor *worker = NULL;
    uint64_t stop_at = 0;
    int rc = find_worker(source, &id, &worker, e);
    if (rc != 0) {
        return rc;
    }
    ds_ring *s = ds_supervisor_share(worker);
    uint64_t ticket = ds_ring_posted(s);
    const ds_slot_request request = {.want = DS_WANT_SCENE, .noise_key = noise_key, .keep = keep};
    ds_slot *slot = ds_ring_fill(s, ticket, &request, NULL, x, s->at.n);
    ds_slot_post(slot);
    ds_ring_publish(s, ticket + 1);
    while (rc == 0 && !ds_slot_done(slot)) {
        rc = ds_supervisor_sleep(worker, ticket, atomic_load(&s->head->done) + 1, &stop_at, e);
    }
    if (rc != 0) {
        return rc;
    }
    ds_slot_answer(s, slot, &request, NULL, x, s->at.n, a);
    atomic_store(&slot->state, DS_SLOT_FREE);
    int fd = ds_supervisor_scene_fd(worker);
    return a->outcome > DS_EVAL_INFEASIBLE || lseek(fd, 0, SEEK_END) <= 0 ? 0 : read_scene(fd, id, out, e);
}

int ds_episode_scene(ds_scene_source *source, const double *x, uint64_t noise_key, uint32_t keep,
                     ds_answer *answer, ds_snapshot **out, ds_error *e)
{
    ds_env *local = ds_pool_local(source->pool);
    *out = NULL;
    return local != NULL ? scene_here(local, x, noise_key, keep, answer, out, e)
                         : scene_of_worker(source, x, noise_key, keep, answer, out, e);
}

void ds_scene_source_close(ds_scene_source *source)
{
    ds_supervisor_close(source->supervisor);
    ds_pool_close(source->pool);
}
