/* SPDX-License-Identifier: Apache-2.0 */
/* check_score.c - conformance of the extension score: what evaluate() answers, and a score and noise that
 * keep its rules. */
#include "config.h"

#include <diffsim/ext/draft/score.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plugin_memory.h"
#include "harness/check_flight.h"
#include "harness/check_host.h"
#include "check/check_tests.h"

/* Buffers of one question: n, n and `noise` values. */
typedef struct asked {
    double *grad, *score, *noise;
    double baseline;
} asked;

/* Reads table and info; 0 after recording why they are none. */
static int read_table(ds_check *c, ds_check_env *env, ds_env_score *ext, ds_score_info *info)
{
    const ds_env_score *theirs = env->vt->get_extension(env->self, DS_EXT_SCORE);
    ds_error e;
    if (DS_SIZED_READ(ext, theirs, DS_ENV_SCORE_SIZE_1_0, "", "the table of " DS_EXT_SCORE, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        return 0;
    }
    if (ext->info == NULL || ext->evaluate == NULL) {
        ds_check_fail(c, "%s() is missing in the table of " DS_EXT_SCORE,
                      ext->info == NULL ? "info" : "evaluate");
        return 0;
    }
    *info = (ds_score_info){.struct_size = sizeof *info};
    const ds_status status = ext->info(env->self, info);
    if (status != DS_OK || info->action == 0 || info->noise == 0 || info->noise % info->action != 0 ||
        info->noise > DS_MAX_VARIABLES || !(info->sigma > 0 && isfinite(info->sigma))) {
        ds_check_fail(c, "info(): %s, %" PRIu64 " numbers of noise, %" PRIu64 " for each action, sigma = %g",
                      ds_status_name(status), info->noise, info->action, info->sigma);
        ds_check_hint(c, "noise is a multiple of action, both at least 1, and sigma is positive");
        return 0;
    }
    return 1;
}

/* An episode with score at x, compared with evaluate(); 0 where there is no loss or something is wrong. */
static int ask(ds_check *c, ds_check_env *env, const ds_env_score *ext, const ds_score_info *info,
               const double *x, uint64_t key, asked *out)
{
    const uint32_t want = env->has_gradient ? DS_WANT_GRAD : 0;
    ds_check_answer with = {.status = DS_OK,
                            .io = {.want = want,
                                   .n = env->n,
                                   .x = x,
                                   .noise_key = key,
                                   .grad = want != 0 ? out->grad : NULL,
                                   .loss = NAN,
                                   .outcome = DS_EVAL_OK,
                                   .bad_step = -1}},
                    alone;
    ds_score s = {.struct_size = sizeof s,
                  .flags = DS_SCORE_BASELINE,
                  .score = out->score,
                  .noise = out->noise,
                  .baseline = NAN};
    for (uint64_t i = 0; i < env->n; i++) {
        out->grad[i] = out->score[i] = ds_check_poison();
    }
    for (uint64_t i = 0; i < info->noise; i++) {
        out->noise[i] = ds_check_poison();
    }
    ds_flight_begin(x, env->n, want, key, 1);
    ds_eval_table t;
    ds_eval_table_of(&with.io, &t);
    const ds_status status = ext->evaluate(env->self, &t.rows, &t.results, &s);
    ds_flight_end();
    out->baseline = s.baseline;
    if (status != DS_OK) {
        ds_check_fail(c, "evaluate() of " DS_EXT_SCORE " returned %s: %.200s", ds_status_name(status),
                      env->h.error_text);
        return 0;
    }
    ds_check_evaluate(env, x, want, key, want != 0 ? env->g : NULL, &alone);
    const int loss = alone.io.outcome == DS_EVAL_OK;
    ds_check_same(c, &with, &alone, env->n, want != 0 && loss, "the score was asked for");
    return loss && c->failed == 0;
}

static void look(ds_check *c, const ds_check_env *env, const ds_score_info *info, const asked *a)
{
    uint64_t odd = 0;
    for (uint64_t i = 0; i < env->n; i++) {
        odd += !isfinite(a->score[i]);
    }
    for (uint64_t i = 0; i < info->noise; i++) {
        odd += !isfinite(a->noise[i]);
    }
    if (odd > 0 || isnan(a->baseline)) {
        ds_check_fail(c, "%" PRIu64 " numbers of score and noise are not finite or not written, baseline %g",
                      odd, a->baseline);
    }
}

/* Without noise: nothing but zeros, and the loss is its own baseline. */
static void look_at_silence(ds_check *c, const ds_check_env *env, const ds_score_info *info, const asked *a)
{
    ds_check_answer answer;
    uint64_t loud = 0;
    for (uint64_t i = 0; i < env->n; i++) {
        loud += fabs(a->score[i]) > 0;
    }
    for (uint64_t i = 0; i < info->noise; i++) {
        loud += fabs(a->noise[i]) > 0;
    }
    ds_check_evaluate((ds_check_env *)(uintptr_t)env, env->x0, 0, 0, NULL, &answer);
    if (loud > 0 || ds_check_loss_distance(answer.io.loss, a->baseline) > 0) {
        ds_check_fail(
            c, "without noise %" PRIu64 " numbers of score and noise are not 0, loss %.17g, baseline %.17g",
            loud, answer.io.loss, a->baseline);
    }
}

static void compare_noise(ds_check *c, const ds_score_info *info, const asked *a, const asked *b)
{
    if (memcmp(a->noise, b->noise, info->noise * sizeof *a->noise) != 0) {
        ds_check_fail(c, "the noise of one key is another one at another point");
        ds_check_hint(c, "draw from the noise key and the parameters alone");
    }
}

static void refuse_sigma(ds_check *c, ds_check_env *env, const ds_env_score *ext, asked *a)
{
    ds_eval io = {.n = env->n, .x = env->x0};
    ds_score s = {.struct_size = sizeof s, .sigma = -1, .score = a->score};
    ds_eval_table t;
    ds_eval_table_of(&io, &t);
    const ds_status status = ext->evaluate(env->self, &t.rows, &t.results, &s);
    if (status != DS_E_ARG) {
        ds_check_fail(c, "sigma = -1 is answered by %s", ds_status_name(status));
    } else {
        ds_check_said_why(c, &env->h, "evaluate() of " DS_EXT_SCORE, status);
    }
}

static void check_episodes(ds_check *c, ds_check_env *env, const ds_env_score *ext, const ds_score_info *info,
                           double *room)
{
    asked here = {room, room + env->n, room + 4 * env->n, 0};
    asked there = {room + 2 * env->n, room + 3 * env->n, here.noise + info->noise, 0};
    if (ask(c, env, ext, info, env->x0, 0, &here)) {
        look_at_silence(c, env, info, &here);
    }
    for (uint64_t key = 1; key <= 3 && c->failed == 0; key++) {
        ds_check_random_point(c, env, env->x);
        const int one = ask(c, env, ext, info, env->x0, key, &here);
        if (one) {
            look(c, env, info, &here);
        }
        if (c->failed == 0 && ask(c, env, ext, info, env->x, key, &there) && one) {
            look(c, env, info, &there);
            compare_noise(c, info, &here, &there);
        }
    }
    refuse_sigma(c, env, ext, &here);
    ds_check_note(c, "%" PRIu64 " numbers of noise, %" PRIu64 " for each action", info->noise, info->action);
}

static void extension_score(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_env_score ext;
    ds_score_info info;
    if (env->vt->get_extension == NULL || env->vt->get_extension(env->self, DS_EXT_SCORE) == NULL) {
        ds_check_skip(c, "this environment does not offer it");
    } else if (read_table(c, env, &ext, &info)) {
        double *room = calloc(4 * env->n + 2 * info.noise, sizeof *room);
        if (room == NULL) {
            ds_check_fail(c, "out of memory");
        } else {
            check_episodes(c, env, &ext, &info, room);
        }
        free(room);
    }
}

const ds_check_test ds_check_score_tests[] = {
    {"ext.score", "the score of noisy actions keeps its rules, and changes no answer", DS_CHECK_ENV, 8, 8,
     extension_score},
    {NULL, NULL, 0, 0, 0, NULL}};
