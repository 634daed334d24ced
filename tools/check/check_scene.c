/* SPDX-License-Identifier: Apache-2.0 */
/* check_scene.c - conformance of the scene extension: complete, the same when asked again, and without effect
 * on the loss. What ds_snapshot_collect() tests (sizes, names, index numbers) is not repeated. */
#include "config.h"

#include <diffsim/ext/steps.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plugin_memory.h"
#include "check/check_tests.h"
#include "harness/check_host.h"
#include "snapshot/snapshot.h"

/* Both copies, number by number; NaN equals NaN. */
static void compare(ds_check *c, const ds_snapshot *a, const ds_snapshot *b)
{
    int same = a->frames == b->frames && a->bodies == b->bodies && a->metrics == b->metrics;
    for (uint64_t k = 0; same && k < a->bodies; k++) {
        const ds_snapshot_body *p = &a->body[k], *q = &b->body[k];
        size_t bytes = (size_t)(a->kept * p->count * p->width) * sizeof(double);
        same = strcmp(p->name, q->name) == 0 && p->count == q->count && p->width == q->width &&
               memcmp(p->data, q->data, bytes) == 0;
        if (!same) {
            ds_check_fail(c, "body %s has other numbers when it is asked again", p->name);
        }
    }
    for (uint64_t k = 0; same && k < a->metrics; k++) {
        same = memcmp(a->metric[k].values, b->metric[k].values, (size_t)a->frames * sizeof(double)) == 0;
        if (!same) {
            ds_check_fail(c, "metric %s has other numbers when it is asked again", a->metric[k].name);
        }
    }
    if (!same) {
        ds_check_hint(c, "the data stay the same until the next evaluate(): answer from what that call kept");
    }
}

/* Control steps that the episode of the start point takes, and those of a whole one. 0 where it cannot be
 * played (rl.loss says why). */
static int play_start(ds_check_env *env, uint64_t *taken, uint64_t *horizon)
{
    ds_env_steps own;
    ds_steps_info info = {.struct_size = sizeof info};
    const ds_env_steps *theirs = env->vt->get_extension(env->self, DS_EXT_STEPS), *rl = &own;
    ds_error e;
    if (DS_SIZED_READ(&own, theirs, DS_ENV_STEPS_SIZE_1_0, "", "the table of " DS_EXT_STEPS, &e) != 0 ||
        rl->info(env->self, &info) != DS_OK || info.n_act < 1 || info.horizon < 1 ||
        info.horizon > env->n / info.n_act) {
        return 0;
    }
    double *obs = calloc(info.n_obs + 1, sizeof *obs);
    int played = obs != NULL && ds_step_begin_call(rl, env->self, 0, 0, obs, NULL) == DS_OK;
    *taken = 0;
    *horizon = info.horizon;
    for (uint32_t ended = 0; played && ended == DS_STEPS_CONTINUES && *taken < info.horizon; ++*taken) {
        ds_step io = {.action = env->x0 + *taken * info.n_act, .obs = obs};
        played = ds_step_call(rl, env->self, 0, &io) == DS_OK;
        ended = io.outcome != DS_EVAL_OK ? DS_STEPS_TERMINATED : io.ended;
    }
    free(obs);
    return played;
}

/* An episode that ends before has frames up to its end, or all; any other one has steps + 1. */
static void look_at_frames(ds_check *c, ds_check_env *env, uint64_t frames)
{
    const char *hint = "keep the state before the first step and after every output step";
    uint64_t taken = 1, horizon = 1, steps = env->steps;
    if (frames == steps + 1) {
        return;
    }
    if (frames > steps + 1 || env->vt->get_extension(env->self, DS_EXT_STEPS) == NULL) {
        ds_check_fail(c, "the scene has %llu frames, info() says %llu steps: steps + 1 are wanted",
                      (unsigned long long)frames, (unsigned long long)steps);
        ds_check_hint(c, "%s", hint);
        return;
    }
    if (!play_start(env, &taken, &horizon)) {
        ds_check_fail(c, "the scene has %llu frames of %llu, and the same episode cannot be stepped through",
                      (unsigned long long)frames, (unsigned long long)steps + 1);
        ds_check_hint(c, "look at rl.loss first");
        return;
    }
    /* Its last control step may have ended before the last output step that belongs to it. */
    uint64_t most = (uint64_t)ceil((double)steps * (double)taken / (double)horizon) + 1;
    uint64_t least = (uint64_t)floor((double)steps * (double)(taken - 1) / (double)horizon) + 2;
    if (taken == horizon) {
        ds_check_fail(
            c,
            "the scene has %llu frames, and the episode goes through all of its %llu control steps: "
            "steps + 1 = %llu are wanted",
            (unsigned long long)frames, (unsigned long long)horizon, (unsigned long long)steps + 1);
        ds_check_hint(c, "%s", hint);
    } else if (frames < least || frames > most) {
        ds_check_fail(
            c,
            "the scene has %llu frames, and the episode ends in control step %llu of %llu: %llu to %llu "
            "are wanted, or all %llu",
            (unsigned long long)frames, (unsigned long long)taken, (unsigned long long)horizon,
            (unsigned long long)least, (unsigned long long)most, (unsigned long long)steps + 1);
        ds_check_hint(c, "%s, up to the end of the episode", hint);
    } else {
        ds_check_note(c, "%llu frames of %llu: the episode ends in control step %llu of %llu",
                      (unsigned long long)frames, (unsigned long long)steps + 1, (unsigned long long)taken,
                      (unsigned long long)horizon);
    }
}

static void look_at_scene(ds_check *c, const ds_scene_info *said, const ds_snapshot *s)
{
    unsigned material = 0;
    if (s->bodies < said->bodies) {
        ds_check_fail(c, "%llu bodies have an unknown shape", (unsigned long long)(said->bodies - s->bodies));
        ds_check_hint(c, "set ds_scene_body.shape to one of DS_BODY_*");
    }
    for (uint64_t k = 0; k < s->bodies; k++) {
        material += s->body[k].role == DS_ROLE_MATERIAL || s->body[k].role == DS_ROLE_TOOL;
        if (s->body[k].nonfinite > 0) {
            ds_check_fail(c, "body %s has %llu positions that are not finite", s->body[k].name,
                          (unsigned long long)s->body[k].nonfinite);
        }
    }
    if (s->bodies > 0 && material == 0) {
        ds_check_note(c, "no body is material or tool: what moves?");
    }
    ds_check_note(c, "%llu frames, %llu bodies, %llu metrics", (unsigned long long)s->frames,
                  (unsigned long long)s->bodies, (unsigned long long)s->metrics);
}

static void scene_data(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_check_answer with, without;
    ds_snapshot *first = NULL, *second = NULL;
    ds_scene_info info = {.struct_size = sizeof info};
    ds_error e = {0};

    const ds_scene *ext =
        env->vt->get_extension != NULL ? env->vt->get_extension(env->self, DS_EXT_SCENE) : NULL;
    if (ext == NULL) {
        ds_check_skip(c, "this environment offers no scene");
        return;
    }
    ds_check_evaluate(env, env->x0, DS_WANT_SCENE, 0, NULL, &with);
    if (ds_check_answer_look(c, env, &with, "with DS_WANT_SCENE")) {
        if (ds_snapshot_collect(ext, env->self, NULL, 0, &first, &e) != 0 ||
            ds_snapshot_collect(ext, env->self, NULL, 0, &second, &e) != 0 ||
            ext->info(env->self, &info) != DS_OK) {
            ds_check_fail(c, "%s", e.text[0] != '\0' ? e.text : "info() of the scene fails");
            ds_check_hint(c, "diffsim/ext/scene.h says what each function fills");
        } else {
            look_at_scene(c, &info, first);
            compare(c, first, second);
            look_at_frames(c, env, first->frames);
        }
        ds_check_evaluate(env, env->x0, 0, 0, NULL, &without);
        ds_check_same(c, &with, &without, env->n, 0, "with and without DS_WANT_SCENE");
        ds_status st = ext->info(env->self, &info);
        if (st != DS_E_STATE) {
            ds_check_fail(c, "after an evaluate() without DS_WANT_SCENE the scene's info() returns %s",
                          ds_status_name(st));
            ds_check_hint(c, "return DS_E_STATE where the last evaluate() kept no scene: an old scene must "
                             "not pass for the new one");
        }
    }
    ds_snapshot_free(first);
    ds_snapshot_free(second);
}

const ds_check_test ds_check_scene_tests[] = {
    {"scene.data", "the scene is complete, repeatable and without effect on the loss", DS_CHECK_ENV, 2, 0,
     scene_data},
    {NULL, NULL, 0, 0, 0, NULL}};
