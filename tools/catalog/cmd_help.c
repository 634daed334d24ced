/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c - `dshost help ID`: describes a plugin and its parameters, from its own schema. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "config/expect.h"
#include "config/run_options.h"
#include "evaluate/pool.h"
#include "catalog/catalog.h"

static const char *const type_words[] = {"?", "bool", "int", "real", "enum", "text", "path", "list", "array"};

static json_t *param_json(const ds_param *p)
{
    json_t *choices = json_null();
    if (p->choices != NULL) {
        choices = json_array();
        for (int i = 0; p->choices[i] != NULL; i++) {
            json_array_append_new(choices, json_string(p->choices[i]));
        }
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:b, s:b}", "name", p->name, "type",
                     type_words[p->type], "default", p->default_text, "min", ds_json_real(p->min), "max",
                     ds_json_real(p->max), "unit", p->unit, "doc", p->doc, "choices", choices, "required",
                     (p->flags & DS_PARAM_REQUIRED) != 0, "advanced", (p->flags & DS_PARAM_ADVANCED) != 0);
}

static json_t *params_json(const ds_param *const *params)
{
    json_t *list = json_array();
    for (int i = 0; params != NULL && params[i] != NULL; i++) {
        json_array_append_new(list, param_json(params[i]));
    }
    return list;
}

static json_t *plugin_json(const ds_module *m)
{
    const ds_desc *d = m->plugin->desc;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o}", "id", d->id, "kind",
                     d->kind == DS_KIND_ENV ? "environment" : "optimizer", "version", d->version, "license",
                     d->license, "summary", d->summary, "description", d->description, "citation",
                     d->citation, "path", ds_json_text(m->path), "flags", (json_int_t)d->flags, "extensions",
                     ds_describe_ids(d->extensions), "needs", ds_describe_ids(d->needs), "uses",
                     ds_describe_ids(d->uses), "params", params_json(d->params));
}

/* ---- the problem posed by an environment with its default parameters, or with --set ---- */

enum { BOUNDS_SHOWN = 6, GROUPS_SHOWN = 8, NAMES_SHOWN = 4 };

/* How many variables from `first` on have the same bounds. */
static uint64_t same_bounds(const ds_pool_env *env, uint64_t first)
{
    uint64_t k = first;
    while (k < env->info.n && env->lower[k] == env->lower[first] && env->upper[k] == env->upper[first]) {
        k++;
    }
    return k - first;
}

static void print_bounds(const ds_pool_env *env)
{
    int shown = 0;
    for (uint64_t i = 0, run = 0; i < env->info.n; i += run, shown++) {
        if (shown == BOUNDS_SHOWN) {
            printf(", ...");
            break;
        }
        run = same_bounds(env, i);
        printf("%s", shown > 0 ? ", " : "");
        if (run == env->info.n) {
            fputs(run > 1 ? "each " : "", stdout);
        } else if (run == 1) {
            printf("%" PRIu64 ": ", i);
        } else {
            printf("%" PRIu64 "-%" PRIu64 ": ", i, i + run - 1);
        }
        printf("%g to %g", env->lower[i], env->upper[i]);
    }
}

/* The groups of variables in order of appearance, with their sizes. */
static void print_groups(const ds_pool_env *env)
{
    const ds_named_variable *v = env->variables;
    int shown = 0;
    for (uint64_t i = 0; i < env->info.n && shown <= GROUPS_SHOWN; i++) {
        uint64_t count = 0;
        int known = 0;
        for (uint64_t k = 0; k < env->info.n && !known; k++) {
            int same = strcmp(v[k].group, v[i].group) == 0;
            known = same && k < i;
            count += (uint64_t)same;
        }
        if (!known && shown++ < GROUPS_SHOWN) {
            printf("%s%s (%" PRIu64 ")", shown > 1 ? ", " : "",
                   v[i].group[0] != '\0' ? v[i].group : "without one", count);
        } else if (!known) {
            printf(", ...");
        }
    }
}

static void variables_text(const ds_pool_env *env)
{
    printf("Groups of variables: ");
    print_groups(env);
    printf(". They are called ");
    for (uint64_t i = 0; i < env->info.n && i < NAMES_SHOWN; i++) {
        char label[DS_VARIABLE_LABEL];
        ds_variable_label(env->variables, i, label);
        printf("%s%s", i > 0 ? ", " : "", label);
    }
    printf("%s\n", env->info.n > NAMES_SHOWN ? ", ..." : ".");
}

/* Places for networks, one line each. */
static void hooks_text(const ds_hooks *hooks)
{
    for (uint64_t i = 0; i < hooks->count; i++) {
        const ds_hook_entry *h = &hooks->entry[i];
        char name[DS_MAX_NAME + 16];
        int length = snprintf(name, sizeof name, "%s", h->name);
        if (h->count > 1) {
            snprintf(name + length, sizeof name - (size_t)length, ".1-%u", (unsigned)h->count);
        }
        printf("%s  %-6s  %-20s%s%s%s  %s\n",
               i == 0 ? "Hook points for networks (parameter residual):\n" : "", ds_hook_kind_name(h->kind),
               name, h->unit[0] != '\0' ? " [" : "", h->unit, h->unit[0] != '\0' ? "]" : "", h->doc);
    }
}

static void problem_text(const ds_pool_env *env)
{
    printf("%" PRIu64 " variable%s (", env->info.n, env->info.n == 1 ? "" : "s");
    print_bounds(env);
    printf("); %s", env->has_gradient ? "gradient" : "no gradient");
    if (env->info.steps > 0) {
        printf("; %" PRIu64 " output steps", env->info.steps);
    }
    for (uint64_t i = 0; i < env->channels->count; i++) {
        const ds_channel *c = env->channels->list[i];
        printf("; %s %s (%" PRIu64 ")", ds_channel_role_name(c->role), c->name, ds_channel_elements(c));
    }
    if (env->steps.horizon > 0) {
        printf("; stepwise control, %" PRIu64 " steps%s", env->steps.horizon,
               env->steps.flags & DS_STEPS_TIME_LIMIT ? " (a time limit)" : "");
    }
    if (env->info.tolerance > 0) {
        printf("; exact to %g", env->info.tolerance);
    }
    printf("%s.\n", env->stochastic ? "; may have noise" : "");
    if (env->variables != NULL) {
        variables_text(env);
    }
    hooks_text(&env->hooks);
}

static json_t *channels_json(const ds_channels *channels)
{
    json_t *list = json_array();
    for (uint64_t i = 0; i < channels->count; i++) {
        const ds_channel *c = channels->list[i];
        json_t *shape = json_array();
        for (uint32_t k = 0; k < c->ndim; k++) {
            json_array_append_new(shape, json_integer((json_int_t)c->shape[k]));
        }
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", c->name, "role",
                                              ds_channel_role_name(c->role), "shape", shape, "unit", c->unit,
                                              "doc", c->doc));
    }
    return list;
}

static json_t *hooks_json(const ds_hooks *hooks)
{
    json_t *list = json_array();
    for (uint64_t i = 0; i < hooks->count; i++) {
        const ds_hook_entry *h = &hooks->entry[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:s, s:s}", "name", h->name, "kind",
                                              ds_hook_kind_name(h->kind), "count", (json_int_t)h->count,
                                              "unit", h->unit, "doc", h->doc));
    }
    return list;
}

static json_t *problem_json(const ds_pool_env *env)
{
    json_t *o = json_pack(
        "{s:I, s:o, s:o, s:o, s:b, s:I, s:I, s:o, s:I, s:b, s:f, s:o}", "n", (json_int_t)env->info.n, "lower",
        ds_json_reals(env->lower, env->info.n), "upper", ds_json_reals(env->upper, env->info.n), "start",
        ds_json_reals(env->x0, env->info.n), "gradient", env->has_gradient, "steps",
        (json_int_t)env->info.steps, "residuals", (json_int_t)ds_channels_residuals(env->channels),
        "channels", channels_json(env->channels), "horizon", (json_int_t)env->steps.horizon, "stochastic",
        env->stochastic, "tolerance", env->info.tolerance, "hooks", hooks_json(&env->hooks));
    ds_json_add_variables(o, env->variables, env->info.n);
    return o;
}

static int open_problem(const ds_module *m, const ds_settings *settings, ds_pool **pool, ds_error *e)
{
    const ds_pool_config config = {.module = m, .settings = settings, .threads = 1, .jobs = 1, .exact = 1};
    return ds_pool_open(&config, pool, e);
}

/* Prints text. An environment with required parameters has no default problem. */
static void describe_problem(const ds_module *m, const ds_settings *settings)
{
    const char *with =
        settings->section[DS_SECTION_ENV].count > 0 ? "With these settings" : "With the default parameters";
    ds_pool *pool = NULL;
    ds_error e = {0, ""};
    if (open_problem(m, settings, &pool, &e) == 0) {
        printf("%s: ", with);
        problem_text(ds_pool_env_of(pool));
    } else {
        printf("%s it cannot be used: %s\n", with, e.text);
    }
    ds_pool_close(pool);
}

/* Fills *o for programs: wrong settings are an error. */
static int add_problem(const ds_module *m, const ds_settings *settings, json_t *o, ds_error *e)
{
    ds_pool *pool = NULL;
    int rc = open_problem(m, settings, &pool, e);
    json_object_set_new(o, "default_problem", rc == 0 ? problem_json(ds_pool_env_of(pool)) : json_null());
    ds_pool_close(pool);
    if (rc != 0 && settings->section[DS_SECTION_ENV].count == 0) {
        *e = (ds_error){0, ""};
        rc = 0;
    }
    return rc;
}

static void plugin_text(const ds_module *m, const ds_settings *settings)
{
    const ds_desc *d = m->plugin->desc;
    printf("%s - %s\n\n", d->id, d->summary);
    ds_describe_paragraphs(stdout, d->description);
    if (d->citation[0] != '\0') {
        printf("Source:\n");
        ds_describe_paragraphs(stdout, d->citation);
    }
    printf("%s %s, license %s, %s\n", d->kind == DS_KIND_ENV ? "Environment" : "Optimizer", d->version,
           d->license, m->path);
    if (d->extensions != NULL && d->extensions[0] != NULL) {
        printf("Extensions, some perhaps not with all parameters:");
        for (int i = 0; d->extensions[i] != NULL; i++) {
            printf("%s %s", i > 0 ? "," : "", d->extensions[i]);
        }
        printf("\n");
    }
    ds_describe_needs(stdout, "Needs ", d->needs, ".\n");
    ds_describe_needs(stdout, "Uses ", d->uses, " if available, perhaps only with some parameters.\n");
    if ((d->flags & DS_ENV_OWN_PROCESS) != 0 && d->kind == DS_KIND_ENV) {
        printf("Each instance needs its own process.\n");
    }
    if (d->kind == DS_KIND_ENV) {
        describe_problem(m, settings);
    }
    printf("Set parameters with --set %s.NAME=VALUE or in section [%s] of an .ini file:\n\n",
           d->kind == DS_KIND_ENV ? "env" : "opt", d->kind == DS_KIND_ENV ? "env" : "opt");
    if (d->params == NULL || d->params[0] == NULL) {
        printf("  (none)\n");
    }
    for (int i = 0; d->params != NULL && d->params[i] != NULL; i++) {
        ds_describe_param(stdout, d->params[i], "  ");
    }
}

static const char usage[] =
    "usage: dshost help                  the commands\n       dshost help ID [OPTIONS]     a plugin and its "
    "parameters\n       dshost help run [--json]     section [run] of an .ini file\n       dshost help "
    "expect           random settings of an environment\n       dshost help "
    "COMMAND          the flags of a command\n  --set env.NAME=VALUE   describe the problem (variables, "
    "channels, hook points) with this parameter\n                         instead of its default, as in "
    "env.variant=damping; may be repeated\n  --json                 print one JSON object\n";

typedef struct request {
    int json;
    ds_settings sets;
} request;

static int take_set(void *to, const char *name, const char *text, ds_error *e)
{
    (void)name;
    return strncmp(text, "env.", 4) == 0
               ? ds_settings_set(&((request *)to)->sets, text, e)
               : ds_fail(e, DS_EXIT_USAGE, "help: --set %.80s: expected env.NAME=VALUE", text);
}

/* Parameters of the host: section [run] of an .ini file, or those of [env] for every environment. */
static int help_host(const char *id, const ds_param *const *schema, const char *text, int json, ds_error *e)
{
    if (json) {
        json_t *o = json_pack("{s:s, s:o}", "id", id, "params", params_json(schema));
        int status = ds_json_write(o, stdout, "standard output", e);
        json_decref(o);
        return status;
    }
    printf("%s\n\n", text);
    for (int i = 0; schema[i] != NULL; i++) {
        ds_describe_param(stdout, schema[i], "  ");
    }
    return 0;
}

static const char run_text[] =
    "Section [run] of an .ini file; the same names are flags of `dshost run` (--timeout-s "
    "for timeout_s).";
static const char expect_text[] = "Parameters of every environment (--set env.expect=8, or section [env]): "
                                  "an evaluation is the mean of several "
                                  "episodes\nwith random settings. It is one row of the record, and counts "
                                  "as that many episodes of the budget.\n\n"
                                  "Terms of expect_over: NAME=uniform(A,B), loguniform(A,B), normal(MEAN,SD) "
                                  "or choice(A,B,...); += adds the "
                                  "number to the\nvalue, *= multiplies it. NAME is a parameter, an element "
                                  "of a list (start[0]), or x, the decision "
                                  "variables (x+= only).";

static int help_plugin(const char *name, const request *q, ds_error *e)
{
    const ds_module *m = NULL;
    const ds_settings *settings = &q->sets;
    int status = ds_loader_describe(name, 0, &m, e);
    if (status == 0 && settings->section[DS_SECTION_ENV].count > 0 && m->plugin->desc->kind != DS_KIND_ENV) {
        status =
            ds_fail(e, DS_EXIT_USAGE,
                    "help: --set: %s is an optimizer, which has no problem to describe: name an environment",
                    m->plugin->desc->id);
    }
    if (status == 0 && q->json) {
        json_t *o = plugin_json(m);
        if (m->plugin->desc->kind == DS_KIND_ENV) {
            status = add_problem(m, settings, o, e);
        }
        status = status != 0 ? status : ds_json_write(o, stdout, "standard output", e);
        json_decref(o);
    } else if (status == 0) {
        plugin_text(m, settings);
    }
    return status;
}

static int run_request(const request *q, int argc, char **argv, ds_error *e)
{
    if (optind == argc && !q->json && q->sets.section[DS_SECTION_ENV].count == 0) {
        ds_usage(stdout);
        return 0;
    }
    if (optind + 1 != argc) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "help: name one plugin (`dshost list` prints them), a command, 'run' for section "
                       "[run], or 'expect' for random settings");
    }
    const char *name = argv[optind];
    const int is_run = strcmp(name, "run") == 0, is_expect = strcmp(name, "expect") == 0;
    if (!is_run && !is_expect && !ds_is_command(name)) {
        return help_plugin(name, q, e);
    }
    if (q->sets.section[DS_SECTION_ENV].count > 0) {
        return ds_fail(e, DS_EXIT_USAGE, "help: --set: %.60s is a command: name an environment", name);
    }
    return is_run      ? help_host(name, ds_run_schema, run_text, q->json, e)
           : is_expect ? help_host(name, ds_expect_schema, expect_text, q->json, e)
                       : ds_dispatch_help(name, e);
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    const ds_flag flags[] = {
        {"json", .set = &q.json}, {"set", .take = take_set}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "help", flags, -1, &q, e);
    rc = rc != 0 ? rc : run_request(&q, argc, argv, e);
    ds_settings_clear(&q.sets);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
