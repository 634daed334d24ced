/* SPDX-License-Identifier: Apache-2.0 */
/* check_hooks.c - conformance of the extension hooks: hook points keep the rules and never change, and a
 * network whose weights are 0 changes no answer. */
#include "config.h"

#include <diffsim/ext/draft/hooks.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_tests.h"
#include "harness/check_host.h"
#include "plugin/channels.h"

enum { WIRING = 256 /* bytes */, POINTS = 4 };

/* The hook points of an instance; 0 after recording a breach. */
static int read_hooks(ds_check *c, ds_check_env *env, ds_hooks *out)
{
    const ds_env_hooks *ext = env->vt->get_extension(env->self, DS_EXT_HOOKS);
    ds_error e;
    if (ext == NULL) {
        ds_check_fail(c, "not every instance with these parameters offers the extension");
        return 0;
    }
    if (ds_hooks_read(c->module->id, ext, env->self, out, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        return 0;
    }
    for (uint64_t i = 0; i < out->count; i++) {
        if (out->entry[i].doc[0] == '\0') {
            ds_check_fail(c, "hook point '%s' has no sentence that says which quantity it is",
                          out->entry[i].name);
        }
    }
    return c->failed == 0;
}

/* Texts are filled up with zeros, so that equal ones have equal bytes. */
static void compare(ds_check *c, const ds_hooks *a, const ds_hooks *b, const char *when)
{
    for (uint64_t i = 0; i < a->count || i < b->count; i++) {
        if (i >= a->count || i >= b->count || memcmp(&a->entry[i], &b->entry[i], sizeof *a->entry) != 0) {
            ds_check_fail(c, "hook point %" PRIu64 " is '%s' at first, and '%s' %s", i, a->entry[i].name,
                          b->entry[i].name, when);
            ds_check_hint(c, "hook points depend on the parameters alone, and not on what is wired");
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

/* An instance with this wiring and weights of 0; 0 where there is none, with a note where the plugin
 * refused it. */
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

/* Are losses and gradients at the same points the same with and without a network that says 0? */
static void compare_answers(ds_check *c, ds_check_env *plain, ds_check_env *wired, const char *wiring)
{
    const uint64_t n = plain->n;
    for (int k = 0; k < POINTS && c->failed == 0; k++) {
        ds_check_answer with, without;
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
            ds_check_hint(
                c, "a residual network is added to what is there: with an output of 0 nothing may change");
        }
        for (uint64_t i = 0; plain->has_gradient && without.io.outcome == DS_EVAL_OK && i < n; i++) {
            worst = fmax(worst, fabs(wired->g[i] - plain->g[i]));
            longest = fmax(longest, fabs(plain->g[i]));
        }
        if (!(worst <= 1e-9 * longest + 2 * c->tolerance * longest)) {
            ds_check_fail(c,
                          "residual = %s: with weights of 0 the gradient by the first %" PRIu64
                          " variables is another one, by up to %.3g of %.3g",
                          wiring, n, worst, longest);
        }
    }
}

/* One wiring, of the first element of an output by that of an input. */
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
                          ", whose start is another one",
                          wiring, wired.n, plain->n);
            ds_check_hint(c, "weights are further variables behind those of the environment");
        } else if (read_hooks(c, &wired, &again)) {
            compare(c, hooks, &again, "with a network");
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
    ds_check_answer answer;
    if (env->vt->get_extension == NULL || env->vt->get_extension(env->self, DS_EXT_HOOKS) == NULL) {
        ds_check_skip(c, "this environment does not offer it");
        return;
    }
    ds_hooks *first = calloc(2, sizeof *first);
    if (first == NULL) {
        ds_check_fail(c, "out of memory");
    } else if (read_hooks(c, env, first)) {
        ds_check_call(env, env->x0, 0, &answer);
        if (read_hooks(c, env, first + 1)) {
            compare(c, first, first + 1, "after an evaluation");
        }
        if (ds_check_env_open(c, 1, &two)) {
            if (read_hooks(c, &two, first + 1)) {
                compare(c, first, first + 1, "in a second instance");
            }
            ds_check_env_close(&two);
        }
        ds_check_note(c, "%" PRIu64 " hook points, the first is %s %s [%s]", first->count,
                      ds_hook_kind_name(first->entry[0].kind), first->entry[0].name, first->entry[0].unit);
    }
    free(first);
}

/* The first name of a kind, NULL where there is none. */
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
    if (env->vt->get_extension == NULL || env->vt->get_extension(env->self, DS_EXT_HOOKS) == NULL) {
        ds_check_skip(c, "this environment has no hook points");
        return;
    }
    if (!has_param(c, "residual", DS_PARAM_TEXT) || !has_param(c, "residual_start", DS_PARAM_ENUM)) {
        ds_check_skip(c, "it is not wired by the parameters of diffsim/helper/hybrid.h");
        return;
    }
    if (ds_settings_find(&c->options->settings, DS_SECTION_ENV, "residual") != NULL) {
        ds_check_skip(c, "parameter residual is set");
        return;
    }
    hooks = calloc(1, sizeof *hooks);
    if (hooks == NULL) {
        ds_check_fail(c, "out of memory");
    } else if (read_hooks(c, env, hooks)) {
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

const ds_check_test ds_check_hook_tests[] = {
    {"ext.hooks", "hook points keep the rules, and never change", DS_CHECK_ENV, 1, 0, extension_hooks},
    {"ext.residual", "a network that says 0 changes no answer", DS_CHECK_ENV, 8, 8, extension_residual},
    {NULL, NULL, 0, 0, 0, NULL}};
