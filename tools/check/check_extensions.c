/* SPDX-License-Identifier: Apache-2.0 */
/* check_extensions.c - conformance of the extensions variables, scene, score and hooks. */
#include "config.h"

#include "base/plugin_memory.h"
#include "base/variables.h"
#include "check/check_tests.h"
#include "harness/check_process.h"
#include "harness/check_host.h"
#include "plugin/channels.h"
#include "snapshot/snapshot.h"

#include <diffsim/ext/draft/hooks.h>
#include <diffsim/ext/draft/score.h>
#include <diffsim/ext/steps.h>
#include <diffsim/ext/variables.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of named variables: as many as the host asks for. */
static uint64_t named(const ds_check_env *env)
{
    return env->n < DS_MAX_NAMED ? env->n : DS_MAX_NAMED;
}

/* Reads the names of all variables; 0 after recording a breach. */
static int read_names(ds_check *c, ds_check_env *env, ds_named_variable *out)
{
    const ds_env_variables *ext = ds_check_extension(env, DS_EXT_VARIABLES);
    if (ext == NULL || !DS_HAS(ds_env_variables, ext, describe) || ext->describe == NULL) {
        ds_check_fail(c, ext == NULL ? "with the same parameters, another instance does not offer the "
                                       "extension: decide by the parameters alone"
                                     : "the table ends before describe(): set its struct_size to its sizeof");
        return 0;
    }
    for (uint64_t i = 0; i < named(env); i++) {
        ds_variable v = {.struct_size = sizeof v};
        char why[DS_VARIABLE_WHY];
        ds_status st = ext->describe(env->self, i, &v);
        if (st != DS_OK) {
            ds_check_fail(c, "describe() of variable %" PRIu64 " returned %s: %.200s", i, ds_status_name(st),
                          env->h.error_text);
            return 0;
        }
        if (ds_variable_set(&out[i], v.name, v.unit, v.group, v.flags, why) != 0) {
            ds_check_fail(c, "variable %" PRIu64 ": %s", i, why);
            ds_check_hint(c, "write name, unit and group of every variable (\"\" for no unit or group); a "
                             "name begins with a letter");
            return 0;
        }
    }
    return 1;
}

/* Texts are padded with zeros, so equal texts have equal bytes. */
static void compare_names(ds_check *c, const ds_named_variable *a, const ds_named_variable *b, uint64_t n,
                          const char *when)
{
    for (uint64_t i = 0; i < n; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) != 0) {
            ds_check_fail(c, "variable %" PRIu64 " is '%s' [%s] of '%s' at first, and '%s' [%s] of '%s' %s",
                          i, a[i].name, a[i].unit, a[i].group, b[i].name, b[i].unit, b[i].group, when);
            ds_check_hint(c, "names must depend on the parameters alone");
            return;
        }
    }
}

static void compare_instances(ds_check *c, const ds_named_variable *first, ds_named_variable *again)
{
    ds_check_env two;
    if (!ds_check_env_open(c, 1, &two)) {
        return;
    }
    if (read_names(c, &two, again)) {
        compare_names(c, first, again, named(&two), "in a second instance");
    }
    ds_check_env_close(&two);
}

static void extension_variables(ds_check *c)
{
    ds_check_env *env = c->env;
    uint64_t n = named(env), a = 0, b = 0;
    if (ds_check_extension(env, DS_EXT_VARIABLES) == NULL) {
        ds_check_skip(c, "this environment does not offer it");
        return;
    }
    ds_named_variable *first = ds_check_room(c, 2 * n, sizeof *first), *again = first + n;
    ds_check_result answer;
    if (first != NULL && read_names(c, env, first)) {
        if (ds_variables_unique(first, n, &a, &b) < 0) {
            ds_check_fail(c, "variables %" PRIu64 " and %" PRIu64 " are both called '%s'", a, b,
                          first[a].name);
            ds_check_hint(c, "make names unique by a number, an axis or a step (\"push.x.12\")");
        }
        ds_check_call(env, env->x0, 0, &answer);
        if (read_names(c, env, again)) {
            compare_names(c, first, again, n, "after an evaluation");
        }
        compare_instances(c, first, again);
        ds_check_note(c, "%" PRIu64 " variables, the first is %s%s%s%s", n, first->name,
                      first->unit[0] != '\0' ? " [" : "", first->unit, first->unit[0] != '\0' ? "]" : "");
    }
    free(first);
}

/* ---- hooks ---- */

/* Hook points follow the rules and never change; a network with weights of 0 changes no result. */

enum { WIRING = 256 /* bytes */, POINTS = 4 };

/* Reads the hook points of an instance; 0 after recording a breach. */
static int read_hooks(ds_check *c, ds_check_env *env, ds_hooks *out)
{
    const ds_env_hooks *ext = ds_check_extension(env, DS_EXT_HOOKS);
    ds_error e;
    if (ext == NULL) {
        ds_check_fail(c, "with the same parameters, another instance does not offer the extension: decide by "
                         "the parameters alone");
        return 0;
    }
    if (ds_hooks_read(c->module->id, ext, env->self, out, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        return 0;
    }
    for (uint64_t i = 0; i < out->count; i++) {
        if (out->entry[i].doc[0] == '\0') {
            ds_check_fail(c, "hook point '%s' has no doc: say in a sentence which quantity it is",
                          out->entry[i].name);
        }
    }
    return c->failed == 0;
}

/* Texts are padded with zeros, so equal texts have equal bytes. */
static void compare_hooks(ds_check *c, const ds_hooks *a, const ds_hooks *b, const char *when)
{
    for (uint64_t i = 0; i < a->count || i < b->count; i++) {
        if (i >= a->count || i >= b->count || memcmp(&a->entry[i], &b->entry[i], sizeof *a->entry) != 0) {
            ds_check_fail(c, "hook point %" PRIu64 " is '%s' at first, and '%s' %s", i, a->entry[i].name,
                          b->entry[i].name, when);
            ds_check_hint(c, "hook points must depend on the parameters alone, not on what is wired");
            return;
        }
    }
}

static int has_param(const ds_check *c, const char *name, uint32_t type)
{
    const ds_param *const *p = c->module->plugin->desc->params;
    for (; p != NULL && *p != NULL; p++) {
        if (strcmp((*p)->name, name) == 0) {
            return (*p)->type == type;
        }
    }
    return 0;
}

/* Creates an instance with this wiring and weights of 0; 0, after a note, if the plugin refuses it. */
static int open_wired(ds_check *c, const char *wiring, ds_settings *settings, ds_check_env *env)
{
    ds_error e;
    memset(settings, 0, sizeof *settings);
    memset(env, 0, sizeof *env);
    if (ds_settings_copy(settings, &c->options->settings, &e) != 0 ||
        ds_settings_add_flag(settings, DS_SECTION_ENV, "residual", wiring, &e) != 0 ||
        ds_settings_add_flag(settings, DS_SECTION_ENV, "residual_start", "zero", &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        return 0;
    }
    ds_check_options options = *c->options;
    const ds_check_options *kept = c->options;
    options.settings = *settings;
    c->options = &options;
    const int open = ds_check_env_open(c, 1, env);
    c->options = kept;
    return open;
}

/* Compares losses and gradients with and without a network whose output is 0. */
static void compare_answers(ds_check *c, ds_check_env *plain, ds_check_env *wired, const char *wiring)
{
    const uint64_t n = plain->n;
    for (int k = 0; k < POINTS && c->failed == 0; k++) {
        ds_check_result with, without;
        double worst = 0, longest = 0;
        memcpy(plain->x, plain->x0, n * sizeof *plain->x);
        if (k > 0) {
            ds_check_random_point(c, plain, plain->x);
        }
        memcpy(wired->x, plain->x, n * sizeof *plain->x);
        memset(wired->x + n, 0, (wired->n - n) * sizeof *wired->x);
        ds_check_call(plain, plain->x, 1, &without);
        ds_check_call(wired, wired->x, 1, &with);
        if (with.io.outcome != without.io.outcome ||
            (without.io.outcome == DS_EVAL_OK &&
             !ds_check_near(c, ds_check_loss_distance(with.io.loss, without.io.loss)))) {
            ds_check_fail(c, "residual = %s: with weights of 0 the loss is %.17g, without a network %.17g",
                          wiring, with.io.loss, without.io.loss);
            ds_check_hint(c, "the output of a residual network is added to an existing value: an output of 0 "
                             "must not change anything");
        }
        for (uint64_t i = 0; plain->has_gradient && without.io.outcome == DS_EVAL_OK && i < n; i++) {
            worst = fmax(worst, fabs(wired->g[i] - plain->g[i]));
            longest = fmax(longest, fabs(plain->g[i]));
        }
        if (!(worst <= 1e-9 * longest + 2 * c->tolerance * longest)) {
            ds_check_fail(c,
                          "residual = %s: with weights of 0 the gradient by the first %" PRIu64
                          " variables differs by up to %.3g of %.3g",
                          wiring, n, worst, longest);
        }
    }
}

/* One wiring: from the first element of an input to the first element of an output. */
static void check_wiring(ds_check *c, ds_check_env *plain, const ds_hooks *hooks, const char *out,
                         const char *in)
{
    char wiring[WIRING];
    ds_settings settings;
    ds_check_env wired;
    ds_hooks again;
    snprintf(wiring, sizeof wiring, "%s = %s | 2 | tanh | residual", out, in);
    if (open_wired(c, wiring, &settings, &wired)) {
        if (wired.n <= plain->n || memcmp(wired.x0, plain->x0, plain->n * sizeof *plain->x0) != 0) {
            ds_check_fail(c,
                          "residual = %s: %" PRIu64 " variables, without a network %" PRIu64
                          ", or another start point",
                          wiring, wired.n, plain->n);
            ds_check_hint(c, "append the weights as further variables after those of the environment");
        } else if (read_hooks(c, &wired, &again)) {
            compare_hooks(c, hooks, &again, "with a network");
            compare_answers(c, plain, &wired, wiring);
        }
        ds_check_env_close(&wired);
    }
    ds_settings_clear(&settings);
}

static void extension_hooks(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_check_env two;
    ds_check_result answer;
    if (ds_check_extension(env, DS_EXT_HOOKS) == NULL) {
        ds_check_skip(c, "this environment does not offer it");
        return;
    }
    ds_hooks *first = ds_check_room(c, 2, sizeof *first);
    if (first != NULL && read_hooks(c, env, first)) {
        ds_check_call(env, env->x0, 0, &answer);
        if (read_hooks(c, env, first + 1)) {
            compare_hooks(c, first, first + 1, "after an evaluation");
        }
        if (ds_check_env_open(c, 1, &two)) {
            if (read_hooks(c, &two, first + 1)) {
                compare_hooks(c, first, first + 1, "in a second instance");
            }
            ds_check_env_close(&two);
        }
        ds_check_note(c, "%" PRIu64 " hook points, the first is %s %s [%s]", first->count,
                      ds_hook_kind_name(first->entry[0].kind), first->entry[0].name, first->entry[0].unit);
    }
    free(first);
}

/* The first name of a kind; NULL if there is none. */
static const char *first_of(const ds_hooks *h, uint32_t kind)
{
    for (uint64_t i = 0; i < h->count; i++) {
        if (h->entry[i].kind == kind) {
            return h->entry[i].name;
        }
    }
    return NULL;
}

static void extension_residual(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_hooks *hooks = NULL;
    if (ds_check_extension(env, DS_EXT_HOOKS) == NULL) {
        ds_check_skip(c, "this environment has no hook points");
        return;
    }
    if (!has_param(c, "residual", DS_PARAM_TEXT) || !has_param(c, "residual_start", DS_PARAM_ENUM)) {
        ds_check_skip(c, "it does not use the parameters of diffsim/helper/hybrid.h");
        return;
    }
    if (ds_settings_find(&c->options->settings, DS_SECTION_ENV, "residual") != NULL) {
        ds_check_skip(c, "parameter residual is set");
        return;
    }
    hooks = ds_check_room(c, 1, sizeof *hooks);
    if (hooks != NULL && read_hooks(c, env, hooks)) {
        const char *input = first_of(hooks, DS_HOOK_INPUT);
        unsigned wired = 0;
        for (uint64_t i = 0; input != NULL && i < hooks->count && c->failed == 0; i++) {
            if (hooks->entry[i].kind == DS_HOOK_OUTPUT) {
                check_wiring(c, env, hooks, hooks->entry[i].name, input);
                wired++;
            }
        }
        ds_check_note(c, "%u outputs wired, one at a time, to %s", wired, input != NULL ? input : "nothing");
    }
    free(hooks);
}

/* ---- scene ---- */

/* The scene is complete, repeatable and without effect on the loss; ds_snapshot_collect() checks sizes, names
 * and index numbers. */

/* Compares two copies, number by number; NaN equals NaN. */
static void compare_scenes(ds_check *c, const ds_snapshot *a, const ds_snapshot *b)
{
    int same = a->frames == b->frames && a->bodies == b->bodies && a->metrics == b->metrics;
    for (uint64_t k = 0; same && k < a->bodies; k++) {
        const ds_snapshot_body *p = &a->body[k], *q = &b->body[k];
        size_t bytes = (size_t)(a->kept * p->count * p->width) * sizeof(double);
        same = strcmp(p->name, q->name) == 0 && p->count == q->count && p->width == q->width &&
               memcmp(p->data, q->data, bytes) == 0;
        if (!same) {
            ds_check_fail(c, "body %s has other numbers at the second call", p->name);
        }
    }
    for (uint64_t k = 0; same && k < a->metrics; k++) {
        same = memcmp(a->metric[k].values, b->metric[k].values, (size_t)a->frames * sizeof(double)) == 0;
        if (!same) {
            ds_check_fail(c, "metric %s has other numbers at the second call", a->metric[k].name);
        }
    }
    if (!same) {
        ds_check_hint(c, "the data must not change until the next evaluate(): return what that call stored");
    }
}

/* Counts the control steps of the episode of the start point, and of a complete one. 0 if the episode cannot
 * be played (steps.loss reports why). */
static int play_start(ds_check_env *env, uint64_t *taken, uint64_t *horizon)
{
    ds_env_steps own;
    ds_steps_info info = {.struct_size = sizeof info};
    const ds_env_steps *theirs = ds_check_extension(env, DS_EXT_STEPS), *rl = &own;
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

/* An episode that ends early has frames up to its end, or all of them; any other episode has steps + 1. */
static void check_frames(ds_check *c, ds_check_env *env, uint64_t frames)
{
    const char *hint = "store the state before the first step and after every output step";
    uint64_t taken = 1, horizon = 1, steps = env->steps;
    if (frames == steps + 1) {
        return;
    }
    if (frames > steps + 1 || ds_check_extension(env, DS_EXT_STEPS) == NULL) {
        ds_check_fail(c, "the scene has %llu frames, but info() reports %llu steps: expected steps + 1",
                      (unsigned long long)frames, (unsigned long long)steps);
        ds_check_hint(c, "%s", hint);
        return;
    }
    if (!play_start(env, &taken, &horizon)) {
        ds_check_fail(c, "the scene has %llu frames of %llu, and the same episode cannot be stepped through",
                      (unsigned long long)frames, (unsigned long long)steps + 1);
        ds_check_hint(c, "see steps.loss first");
        return;
    }
    /* Its last control step may have ended before the last output step that belongs to it. */
    uint64_t most = (uint64_t)ceil((double)steps * (double)taken / (double)horizon) + 1;
    uint64_t least = (uint64_t)floor((double)steps * (double)(taken - 1) / (double)horizon) + 2;
    if (taken == horizon) {
        ds_check_fail(c,
                      "the scene has %llu frames, but the episode takes all of its %llu control steps: "
                      "expected steps + 1 = %llu",
                      (unsigned long long)frames, (unsigned long long)horizon, (unsigned long long)steps + 1);
        ds_check_hint(c, "%s", hint);
    } else if (frames < least || frames > most) {
        ds_check_fail(c,
                      "the scene has %llu frames, but the episode ends in control step %llu of %llu: "
                      "expected %llu to %llu, or all %llu",
                      (unsigned long long)frames, (unsigned long long)taken, (unsigned long long)horizon,
                      (unsigned long long)least, (unsigned long long)most, (unsigned long long)steps + 1);
        ds_check_hint(c, "%s, up to the end of the episode", hint);
    } else {
        ds_check_note(c, "%llu frames of %llu: the episode ends in control step %llu of %llu",
                      (unsigned long long)frames, (unsigned long long)steps + 1, (unsigned long long)taken,
                      (unsigned long long)horizon);
    }
}

static void check_scene(ds_check *c, const ds_scene_info *said, const ds_snapshot *s)
{
    unsigned material = 0;
    if (s->bodies < said->bodies) {
        ds_check_fail(c, "%llu bodies have an unknown shape", (unsigned long long)(said->bodies - s->bodies));
        ds_check_hint(c, "set ds_scene_body.shape to one of DS_BODY_*");
    }
    for (uint64_t k = 0; k < s->bodies; k++) {
        material += s->body[k].role == DS_ROLE_MATERIAL || s->body[k].role == DS_ROLE_TOOL;
        if (s->body[k].nonfinite > 0) {
            ds_check_fail(c,
                          "body %s has %llu positions that are not finite: when a simulation fails, the "
                          "outcome is DS_EVAL_DIVERGED",
                          s->body[k].name, (unsigned long long)s->body[k].nonfinite);
        }
    }
    if (s->bodies > 0 && material == 0) {
        ds_check_note(c, "no body has the role material or tool");
    }
    ds_check_note(c, "%llu frames, %llu bodies, %llu metrics", (unsigned long long)s->frames,
                  (unsigned long long)s->bodies, (unsigned long long)s->metrics);
}

static void scene_data(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_check_result with, without;
    ds_snapshot *first = NULL, *second = NULL;
    ds_scene_info info = {.struct_size = sizeof info};
    ds_error e = {0};

    const ds_scene *ext = ds_check_extension(env, DS_EXT_SCENE);
    if (ext == NULL) {
        ds_check_skip(c, "this environment offers no scene");
        return;
    }
    ds_check_evaluate(env, env->x0, DS_WANT_SCENE, 0, NULL, &with);
    if (ds_check_result_check(c, env, &with, "with DS_WANT_SCENE")) {
        if (ds_snapshot_collect(ext, env->self, NULL, 0, &first, &e) != 0 ||
            ds_snapshot_collect(ext, env->self, NULL, 0, &second, &e) != 0 ||
            ext->info(env->self, &info) != DS_OK) {
            ds_check_fail(c, "%s", e.text[0] != '\0' ? e.text : "info() of the scene fails");
            ds_check_hint(c, "diffsim/ext/scene.h says what each function fills");
        } else {
            check_scene(c, &info, first);
            compare_scenes(c, first, second);
            check_frames(c, env, first->frames);
        }
        ds_check_evaluate(env, env->x0, 0, 0, NULL, &without);
        ds_check_same(c, &with, &without, env->n, 0, "with and without DS_WANT_SCENE");
        ds_status st = ext->info(env->self, &info);
        if (st != DS_E_STATE) {
            ds_check_fail(c, "after an evaluate() without DS_WANT_SCENE the scene's info() returns %s",
                          ds_status_name(st));
            ds_check_hint(c, "return DS_E_STATE if the last evaluate() stored no scene: an old scene must "
                             "not pass for a new one");
        }
    }
    ds_snapshot_free(first);
    ds_snapshot_free(second);
}

/* ---- score: results equal those of evaluate(); score and noise follow the rules ---- */

/* Buffers of one call: n, n and `noise` values. */
typedef struct buffers {
    double *grad, *score, *noise;
    double baseline;
} buffers;

/* Reads table and info; 0 after recording a breach. */
static int read_table(ds_check *c, ds_check_env *env, ds_env_score *ext, ds_score_info *info)
{
    const ds_env_score *theirs = ds_check_extension(env, DS_EXT_SCORE);
    ds_error e;
    if (DS_SIZED_READ(ext, theirs, DS_ENV_SCORE_SIZE_1_0, "", "the table of " DS_EXT_SCORE, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        return 0;
    }
    if (ext->info == NULL || ext->evaluate == NULL) {
        ds_check_fail(c, "%s() is NULL in the table of " DS_EXT_SCORE ": fill all its functions",
                      ext->info == NULL ? "info" : "evaluate");
        return 0;
    }
    *info = (ds_score_info){.struct_size = sizeof *info};
    const ds_status status = ext->info(env->self, info);
    if (status != DS_OK || info->action == 0 || info->noise == 0 || info->noise % info->action != 0 ||
        info->noise > DS_MAX_VARIABLES || !(info->sigma > 0 && isfinite(info->sigma))) {
        ds_check_fail(c, "info(): %s, %" PRIu64 " numbers of noise, %" PRIu64 " for each action, sigma = %g",
                      ds_status_name(status), info->noise, info->action, info->sigma);
        ds_check_hint(c, "noise must be a multiple of action, both at least 1, and sigma positive");
        return 0;
    }
    return 1;
}

/* Evaluates x with score and compares with evaluate(); 0 if there is no loss or after recording a difference.
 */
static int evaluate_with_score(ds_check *c, ds_check_env *env, const ds_env_score *ext,
                               const ds_score_info *info, const double *x, uint64_t key, buffers *out)
{
    const uint32_t want = env->has_gradient ? DS_WANT_GRAD : 0;
    ds_check_result with = {.status = DS_OK,
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
    ds_check_same(c, &with, &alone, env->n, want != 0 && loss, "the score was requested");
    return loss && c->failed == 0;
}

static void check_numbers(ds_check *c, const ds_check_env *env, const ds_score_info *info, const buffers *a)
{
    uint64_t odd = 0;
    for (uint64_t i = 0; i < env->n; i++) {
        odd += !isfinite(a->score[i]);
    }
    for (uint64_t i = 0; i < info->noise; i++) {
        odd += !isfinite(a->noise[i]);
    }
    if (odd > 0 || isnan(a->baseline)) {
        ds_check_fail(
            c,
            "%" PRIu64
            " numbers of score and noise are not finite or not written, baseline %g: write all of them",
            odd, a->baseline);
    }
}

/* Without noise, noise and score are 0 and the loss is its own baseline. */
static void check_silence(ds_check *c, const ds_check_env *env, const ds_score_info *info, const buffers *a)
{
    ds_check_result answer;
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

static void compare_noise(ds_check *c, const ds_score_info *info, const buffers *a, const buffers *b)
{
    if (memcmp(a->noise, b->noise, info->noise * sizeof *a->noise) != 0) {
        ds_check_fail(c, "at another point, the same key gives other noise");
        ds_check_hint(c, "draw noise from the noise key and the parameters alone");
    }
}

static void refuse_sigma(ds_check *c, ds_check_env *env, const ds_env_score *ext, buffers *a)
{
    ds_eval io = {.n = env->n, .x = env->x0};
    ds_score s = {.struct_size = sizeof s, .sigma = -1, .score = a->score};
    ds_eval_table t;
    ds_eval_table_of(&io, &t);
    const ds_status status = ext->evaluate(env->self, &t.rows, &t.results, &s);
    if (status != DS_E_ARG) {
        ds_check_fail(c, "sigma = -1 returns %s: refuse it with DS_E_ARG", ds_status_name(status));
    } else {
        ds_check_error_explained(c, &env->h, "evaluate() of " DS_EXT_SCORE, status);
    }
}

static void check_episodes(ds_check *c, ds_check_env *env, const ds_env_score *ext, const ds_score_info *info,
                           double *room)
{
    buffers here = {room, room + env->n, room + 4 * env->n, 0};
    buffers there = {room + 2 * env->n, room + 3 * env->n, here.noise + info->noise, 0};
    if (evaluate_with_score(c, env, ext, info, env->x0, 0, &here)) {
        check_silence(c, env, info, &here);
    }
    for (uint64_t key = 1; key <= 3 && c->failed == 0; key++) {
        ds_check_random_point(c, env, env->x);
        const int one = evaluate_with_score(c, env, ext, info, env->x0, key, &here);
        if (one) {
            check_numbers(c, env, info, &here);
        }
        if (c->failed == 0 && evaluate_with_score(c, env, ext, info, env->x, key, &there) && one) {
            check_numbers(c, env, info, &there);
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
    if (ds_check_extension(env, DS_EXT_SCORE) == NULL) {
        ds_check_skip(c, "this environment does not offer it");
    } else if (read_table(c, env, &ext, &info)) {
        double *room = ds_check_room(c, 4 * env->n + 2 * info.noise, sizeof *room);
        if (room != NULL) {
            check_episodes(c, env, &ext, &info, room);
        }
        free(room);
    }
}

const ds_check_test ds_check_extension_tests[] = {
    {"ext.variables", "names of variables follow the rules, are unique and never change", DS_CHECK_ENV, 1, 0,
     extension_variables},
    {"scene.data", "the scene is complete, repeatable and without effect on the loss", DS_CHECK_ENV, 2, 0,
     scene_data},
    {"ext.score", "the score of noisy actions follows its rules, and changes no result", DS_CHECK_ENV, 8, 8,
     extension_score},
    {"ext.hooks", "hook points follow the rules, and never change", DS_CHECK_ENV, 1, 0, extension_hooks},
    {"ext.residual", "a network with output 0 changes no result", DS_CHECK_ENV, 8, 8, extension_residual},
    {NULL, NULL, 0, 0, 0, NULL}};
