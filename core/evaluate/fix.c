/* SPDX-License-Identifier: Apache-2.0 */
/* fix.c - parses run.fix and narrows the bounds of an environment. */
#include "config.h"

#include "evaluate/fix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/variables.h"

enum { WORD = 2 * DS_MAX_NAME };

/* The bounds that are narrowed. */
typedef struct box {
    const ds_setting *setting;
    const char *id;
    const ds_env_facts *env; /* with its own bounds */
    double *lower, *upper, *x0;
    unsigned char *fixed; /* n flags */
} box;

static int refuse(const box *b, const char *word, const char *why, ds_error *e)
{
    return ds_fail(e, b->setting->status, "%s: fix = %s: %s", b->setting->origin, word, why);
}

/* Fixes the variable of one word, "NAME=VALUE". */
static int fix_one(box *b, const char *word, ds_error *e)
{
    const ds_env_facts *env = b->env;
    const char *equals = strrchr(word, '=');
    char name[WORD + 1], why[300], room[24];
    uint64_t i = 0;
    double v = 0;
    if (equals == NULL || equals == word || !ds_parse_real(equals + 1, &v)) {
        return refuse(b, word, "expected NAME=VALUE, for example x[3]=0.5", e);
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
    if (ds_variable_find(env->variables, env->info.n, name, &i) != 0) {
        snprintf(why, sizeof why, "%s has no variable '%s'; it has %" PRIu64 ", numbered from 0%s", b->id,
                 name, env->info.n, env->variables != NULL ? ": `dshost eval` lists their names" : "");
        return refuse(b, word, why, e);
    }
    if (b->fixed[i]) {
        snprintf(why, sizeof why, "variable %s is fixed twice; remove one",
                 ds_variable_name(env->variables, i, room));
        return refuse(b, word, why, e);
    }
    if (!(v >= env->lower[i] && v <= env->upper[i])) {
        snprintf(why, sizeof why, "variable %s of %s has the bounds %s..%s: give a value between them",
                 ds_variable_name(env->variables, i, room), b->id, DS_TEXT_OF(env->lower[i]),
                 DS_TEXT_OF(env->upper[i]));
        return refuse(b, word, why, e);
    }
    b->fixed[i] = 1;
    b->lower[i] = b->upper[i] = b->x0[i] = v;
    return 0;
}

static int fix_all(box *b, ds_error *e)
{
    static const char gaps[] = " \t,";
    char word[WORD + 1];
    int rc = 0;
    for (const char *at = b->setting->value; rc == 0; at += strcspn(at, gaps)) {
        at += strspn(at, gaps);
        const size_t n = strcspn(at, gaps);
        if (n == 0) {
            break;
        }
        snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : WORD, at);
        rc = n < sizeof word ? fix_one(b, word, e) : refuse(b, word, "expected NAME=VALUE", e);
    }
    return rc;
}

int ds_fix_apply(const ds_settings *settings, const char *id, ds_env_facts *env, double **out, ds_error *e)
{
    const ds_setting *s = settings != NULL ? ds_settings_find(settings, DS_SECTION_RUN, "fix") : NULL;
    const uint64_t n = env->info.n;
    *out = NULL;
    if (s == NULL || s->value[strspn(s->value, " \t,")] == '\0') {
        return 0;
    }
    double *values = malloc(3 * n * sizeof *values);
    box b = {s, id, env, values, values + n, values + 2 * n, calloc(n, 1)};
    int rc = values != NULL && b.fixed != NULL ? 0 : ds_no_memory(e);
    if (rc == 0) {
        memcpy(b.lower, env->lower, n * sizeof *values);
        memcpy(b.upper, env->upper, n * sizeof *values);
        memcpy(b.x0, env->x0, n * sizeof *values);
        rc = fix_all(&b, e);
    }
    free(b.fixed);
    if (rc != 0) {
        free(values);
        return rc;
    }
    env->lower = b.lower;
    env->upper = b.upper;
    env->x0 = b.x0;
    *out = values;
    return 0;
}
