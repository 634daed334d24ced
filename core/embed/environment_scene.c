/* SPDX-License-Identifier: Apache-2.0 */
/* environment_scene.c - metrics and frames of an episode for another program, see
 * diffsim/lib/environment.h. */
#include "config.h"

#include "embed/environment_internal.h"

#include <string.h>

#include "protect/call_state.h"

_Static_assert(DS_FRAMES_ALL == (int)DS_KEEP_ALL && DS_FRAMES_FEW == (int)DS_KEEP_FEW &&
                   DS_FRAMES_NONE == (int)DS_KEEP_METRICS,
               "the program's numbers are the host's");

/* The scene of a point inside the bounds becomes the one that is kept. */
static ds_status simulate(ds_environment *e, const double *x, uint64_t noise_key, uint32_t frames,
                          ds_answer *a)
{
    ds_error error = {0, ""};
    int rc = ds_episode_scene(&e->source, x, noise_key, frames, a, &e->scene, &error);
    if (rc == DS_POOL_STOPPED || rc == DS_EXIT_SIGINT) {
        return ds_environment_outcome(e, rc, &error);
    }
    if (rc != 0) {
        return ds_environment_say(e, rc == DS_EXIT_MEMORY ? DS_E_NOMEM : DS_E_DATA, "%s", error.text);
    }
    if (a->loss < (double)INFINITY && e->scene == NULL) {
        return ds_environment_say(e, DS_E_UNSUPPORTED, "%s has no scene", e->id);
    }
    if (a->outcome != DS_EVAL_OK) {
        ds_environment_say(e, DS_OK, "%s", a->message[0] != '\0' ? a->message : ds_outcome_name(a->outcome));
    }
    return DS_OK;
}

DS_EXPORT ds_status ds_environment_simulate(ds_environment *e, const double *x, uint64_t noise_key,
                                            uint32_t frames, double *loss, uint32_t *outcome)
{
    DS_LOCALE_C_HERE;
    ds_answer a = {.loss = INFINITY, .outcome = DS_EVAL_ERROR};
    if (e == NULL) {
        return DS_E_ARG;
    }
    e->message[0] = '\0';
    ds_snapshot_free(e->scene);
    e->scene = NULL;
    if (frames > DS_FRAMES_NONE) {
        return ds_environment_say(e, DS_E_ARG, "frames is %u: allowed are DS_FRAMES_ALL, _FEW and _NONE",
                                  frames);
    }
    if (x == NULL && !e->evaluated) {
        return ds_environment_say(e, DS_E_STATE, "no point is given, and none was evaluated before");
    }
    if (x != NULL && !ds_environment_inside(e, x, 0)) {
        return DS_E_ARG;
    }
    if (atomic_load(&e->stop) != 0) {
        return ds_environment_outcome(e, DS_POOL_STOPPED, NULL);
    }
    ds_status status =
        x != NULL ? simulate(e, x, noise_key, frames, &a) : simulate(e, e->x, e->noise_key, frames, &a);
    if (loss != NULL) {
        *loss = a.loss;
    }
    if (outcome != NULL) {
        *outcome = a.outcome;
    }
    return status;
}

DS_EXPORT ds_status ds_environment_scene(const ds_environment *e, ds_scene_view *out)
{
    DS_LOCALE_C_HERE;
    if (e == NULL || !DS_ENVIRONMENT_TAKES(ds_scene_view, out, ground)) {
        return DS_E_ARG;
    }
    const ds_snapshot *s = e->scene;
    if (s == NULL) {
        return DS_E_STATE;
    }
    *out = (ds_scene_view){.struct_size = out->struct_size,
                           .flat = s->flat,
                           .frames = s->frames,
                           .kept = s->kept,
                           .frame = s->frame,
                           .bodies = s->bodies,
                           .metrics = s->metrics,
                           .dt = s->dt,
                           .ground = s->ground};
    memcpy(out->box, s->box, sizeof out->box);
    return DS_OK;
}

DS_EXPORT ds_status ds_environment_body(const ds_environment *e, uint64_t b, ds_body_view *out)
{
    if (e == NULL || !DS_ENVIRONMENT_TAKES(ds_body_view, out, data)) {
        return DS_E_ARG;
    }
    if (e->scene == NULL) {
        return DS_E_STATE;
    }
    if (b >= e->scene->bodies) {
        return DS_E_ARG;
    }
    const ds_snapshot_body *body = &e->scene->body[b];
    *out = (ds_body_view){.struct_size = out->struct_size,
                          .shape = body->shape,
                          .role = body->role,
                          .variety = body->variety,
                          .width = body->width,
                          .count = body->count,
                          .name = body->name,
                          .index = body->index,
                          .index_count = body->index_count,
                          .data = body->data};
    memcpy(out->size, body->size, sizeof out->size);
    return DS_OK;
}

DS_EXPORT ds_status ds_environment_metric(const ds_environment *e, uint64_t m, ds_metric_view *out)
{
    if (e == NULL || !DS_ENVIRONMENT_TAKES(ds_metric_view, out, count)) {
        return DS_E_ARG;
    }
    if (e->scene == NULL) {
        return DS_E_STATE;
    }
    if (m >= e->scene->metrics) {
        return DS_E_ARG;
    }
    const ds_snapshot_metric *metric = &e->scene->metric[m];
    *out = (ds_metric_view){.struct_size = out->struct_size,
                            .name = metric->name,
                            .unit = metric->unit,
                            .values = metric->values,
                            .count = e->scene->frames};
    return DS_OK;
}
