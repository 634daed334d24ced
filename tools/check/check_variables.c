/* SPDX-License-Identifier: Apache-2.0 */
/* check_variables.c - conformance of the extension variables: names keep the rules, and never change. */
#include "config.h"

#include <diffsim/ext/variables.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/variables.h"
#include "harness/check_host.h"
#include "check/check_tests.h"

/* As many as the host asks for. */
static uint64_t named(const ds_check_env *env)
{
    return env->n < DS_MAX_NAMED ? env->n : DS_MAX_NAMED;
}

/* The names of all variables; 0 after recording a breach. */
static int read_names(ds_check *c, ds_check_env *env, ds_named_variable *out)
{
    const ds_env_variables *ext = env->vt->get_extension(env->self, DS_EXT_VARIABLES);
    if (ext == NULL || !DS_HAS(ds_env_variables, ext, describe) || ext->describe == NULL) {
        ds_check_fail(c, ext == NULL ? "not every instance with these parameters offers the extension"
                                     : "the table ends before describe()");
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
            ds_check_hint(
                c, "write name, unit and group of every variable, \"\" where there is no unit or group; "
                   "a name begins with a letter");
            return 0;
        }
    }
    return 1;
}

/* Texts are filled up with zeros, so that equal ones have equal bytes. */
static void compare(ds_check *c, const ds_named_variable *a, const ds_named_variable *b, uint64_t n,
                    const char *when)
{
    for (uint64_t i = 0; i < n; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) != 0) {
            ds_check_fail(c, "variable %" PRIu64 " is '%s' [%s] of '%s' at first, and '%s' [%s] of '%s' %s",
                          i, a[i].name, a[i].unit, a[i].group, b[i].name, b[i].unit, b[i].group, when);
            ds_check_hint(c, "what a variable is called depends on the parameters alone");
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
        compare(c, first, again, named(&two), "in a second instance");
    }
    ds_check_env_close(&two);
}

static void extension_variables(ds_check *c)
{
    ds_check_env *env = c->env;
    uint64_t n = named(env), a = 0, b = 0;
    if (env->vt->get_extension == NULL || env->vt->get_extension(env->self, DS_EXT_VARIABLES) == NULL) {
        ds_check_skip(c, "this environment does not offer it");
        return;
    }
    ds_named_variable *first = calloc(2 * n, sizeof *first), *again = first + n;
    ds_check_answer answer;
    if (first == NULL) {
        ds_check_fail(c, "out of memory");
    } else if (read_names(c, env, first)) {
        if (ds_variables_unique(first, n, &a, &b) < 0) {
            ds_check_fail(c, "variables %" PRIu64 " and %" PRIu64 " are both called '%s'", a, b,
                          first[a].name);
            ds_check_hint(
                c, "put what tells them apart into the name: a number, an axis, a step (\"push.x.12\")");
        }
        ds_check_call(env, env->x0, 0, &answer);
        if (read_names(c, env, again)) {
            compare(c, first, again, n, "after an evaluation");
        }
        compare_instances(c, first, again);
        ds_check_note(c, "%" PRIu64 " variables, the first is %s%s%s%s", n, first->name,
                      first->unit[0] != '\0' ? " [" : "", first->unit, first->unit[0] != '\0' ? "]" : "");
    }
    free(first);
}

const ds_check_test ds_check_variables_tests[] = {
    {"ext.variables", "names of variables keep the rules, are unique and never change", DS_CHECK_ENV, 1, 0,
     extension_variables},
    {NULL, NULL, 0, 0, 0, NULL}};
