/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - makes and closes an environment instance: reads and tests info, bounds and extensions; matches
 * needs of optimizers with offers of environments. */
#include "config.h"

#include "plugin/instance.h"

#include "base/plugin_memory.h"
#include "base/text.h"
#include "plugin/descriptor.h"
#include "protect/call_state.h"

#include <diffsim/ext/channel.h>
#include <diffsim/ext/variables.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits for the buffers of a worker. */
enum {
    NUMBERS_OF_CALL = 1 << 20,  /* variables of all rows of one call */
    NUMBERS_OF_LANES = 1 << 26, /* variables and observed numbers of all lanes of an instance */
    LANES_OF_INSTANCE = 65536
};

int ds_bounds_check(const char *who, uint64_t n, const double *lower, const double *upper, const double *x0,
                    int status, ds_error *e)
{
    for (uint64_t i = 0; i < n; i++) {
        double lo = lower[i], hi = upper[i], x = x0 != NULL ? x0[i] : lo;
        const char *colon = who[0] != '\0' ? ": " : "";
        if (!(isfinite(lo) && isfinite(hi) && lo <= hi)) {
            return ds_fail(e, status,
                           "%s%sbounds of variable %llu are %s..%s: they must be finite and lower <= upper",
                           who, colon, (unsigned long long)i, DS_TEXT_OF(lo), DS_TEXT_OF(hi));
        }
        if (!(x >= lo && x <= hi)) {
            return ds_fail(e, status, "%s%sstart point: variable %llu is %s, outside of its bounds %s..%s",
                           who, colon, (unsigned long long)i, DS_TEXT_OF(x), DS_TEXT_OF(lo), DS_TEXT_OF(hi));
        }
    }
    return 0;
}

static int read_bounds(ds_env *env, ds_error *e)
{
    uint64_t n = env->info.n;
    ds_status st = env->vt->bounds(env->self, n, env->lower, env->upper, env->x0);
    return st != DS_OK
               ? ds_services_fail(&env->services, e, "bounds()", st)
               : ds_bounds_check(env->module->id, n, env->lower, env->upper, env->x0, DS_EXIT_PLUGIN, e);
}

static int read_channels(ds_env *env, ds_error *e)
{
    const ds_env_channels *theirs = ds_env_extension(env, DS_EXT_CHANNELS);
    return theirs != NULL ? ds_channels_read(env->module->id, theirs, env->self, &env->channels, e) : 0;
}

static int read_hooks(ds_env *env, ds_error *e)
{
    const ds_env_hooks *theirs = ds_env_extension(env, DS_EXT_HOOKS);
    return theirs != NULL ? ds_hooks_read(env->module->id, theirs, env->self, &env->hooks, e) : 0;
}

static int missing_function(const ds_env *env, const char *extension, ds_error *e)
{
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: extension %s: a function is missing", env->module->id, extension);
}

static int ask_steps_gradient(ds_env *env, ds_error *e)
{
    ds_env_steps_gradient *own = &env->steps_gradient_table;
    const ds_env_steps_gradient *theirs = ds_env_extension(env, DS_EXT_STEPS_GRADIENT);
    if (theirs == NULL) {
        return 0;
    }
    if (DS_SIZED_READ(own, theirs, DS_ENV_STEPS_GRADIENT_SIZE_1_0, env->module->id,
                      "the table of " DS_EXT_STEPS_GRADIENT, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    env->steps_gradient = own;
    return own->back != NULL ? 0 : missing_function(env, DS_EXT_STEPS_GRADIENT, e);
}

static int check_steps(const ds_env *env, const ds_steps_info *info, ds_error *e)
{
    const uint64_t n = env->info.n;
    return info->horizon >= 1 && info->n_act >= 1 && info->n_act <= n && info->horizon <= n &&
                   info->horizon * info->n_act == n && info->n_obs >= 1 && info->n_obs <= DS_MAX_OBSERVED
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN,
                         "%s: extension " DS_EXT_STEPS
                         ": %llu steps of %llu actions with %llu observations do not fit %llu variables: "
                         "horizon x n_act must be n, and n_obs 1 to %u",
                         env->module->id, (unsigned long long)info->horizon, (unsigned long long)info->n_act,
                         (unsigned long long)info->n_obs, (unsigned long long)n, DS_MAX_OBSERVED);
}

static int read_steps(ds_env *env, ds_error *e)
{
    ds_steps_info *info = &env->steps_info;
    const ds_env_steps *theirs = ds_env_extension(env, DS_EXT_STEPS), *own = &env->steps_table;
    if (theirs == NULL) {
        return 0;
    }
    if (DS_SIZED_READ(&env->steps_table, theirs, DS_ENV_STEPS_SIZE_1_0, env->module->id,
                      "the table of " DS_EXT_STEPS, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    *info = (ds_steps_info){.struct_size = sizeof(*info)};
    if (own->info == NULL || own->begin == NULL || own->step == NULL) {
        return missing_function(env, DS_EXT_STEPS, e);
    }
    ds_status st = own->info(env->self, info);
    if (st != DS_OK) {
        return ds_services_fail(&env->services, e, "info() of " DS_EXT_STEPS, st);
    }
    if (check_steps(env, info, e) != 0) {
        return e->status;
    }
    const uint64_t most = NUMBERS_OF_LANES / (env->info.n + info->n_obs);
    info->max_lanes = info->max_lanes < LANES_OF_INSTANCE ? info->max_lanes : LANES_OF_INSTANCE;
    info->max_lanes = info->max_lanes < most ? info->max_lanes : most;
    info->max_lanes = info->max_lanes > 1 ? info->max_lanes : 1;
    env->steps = own;
    return ask_steps_gradient(env, e);
}

static int check_tolerance(const ds_env *env, ds_error *e)
{
    double tolerance = env->info.tolerance;
    if (!(isfinite(tolerance) && tolerance >= 0)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: info() returned tolerance %g: it must be finite and at least 0", env->module->id,
                       tolerance);
    }
    return tolerance == 0 || (env->module->plugin->desc->flags & DS_ENV_INEXACT) != 0
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN,
                         "%s: info() returned tolerance %g, but the descriptor lacks DS_ENV_INEXACT: set the "
                         "flag, or return 0",
                         env->module->id, tolerance);
}

static int check_numbers(const ds_env *env, ds_error *e)
{
    const ds_env_info *info = &env->info;
    const char *id = env->module->id;
    if (!(info->loss_floor < (double)INFINITY)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: info() returned loss_floor %g: return a lower bound of the loss, or -INFINITY",
                       id, info->loss_floor);
    }
    if (!(isfinite(info->dt) && info->dt >= 0)) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: info() returned dt %g s: return the seconds of a step, or 0 where time has no meaning", id,
            info->dt);
    }
    return check_tolerance(env, e);
}

static int read_info(ds_env *env, ds_error *e)
{
    env->info.struct_size = sizeof env->info;
    env->info.loss_floor = -INFINITY;
    ds_status st = env->vt->info(env->self, &env->info);
    uint64_t n = env->info.n;
    if (st != DS_OK) {
        return ds_services_fail(&env->services, e, "info()", st);
    }
    if (n < 1 || n > DS_MAX_VARIABLES) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: info() returned %llu variables: 1 to %u are possible",
                       env->module->id, (unsigned long long)n, DS_MAX_VARIABLES);
    }
    if (check_numbers(env, e) != 0) {
        return e->status;
    }
    env->lower = calloc(n, 3 * sizeof *env->lower);
    if (env->lower == NULL) {
        return ds_no_memory(e);
    }
    /* An environment that takes many rows gets as many as buffers of a bounded size hold. */
    const uint64_t most = NUMBERS_OF_CALL / n;
    env->max_rows = most < env->info.max_rows ? most : env->info.max_rows;
    env->max_rows = env->max_rows > 1 ? env->max_rows : 1;
    env->results = ds_env_results_make(env->max_rows);
    if (env->results == NULL) {
        return ds_no_memory(e);
    }
    env->upper = env->lower + n;
    env->x0 = env->upper + n;
    uint64_t flags = env->module->plugin->desc->flags;
    env->has_gradient = (flags & DS_ENV_GRADIENT) != 0 && (env->info.flags & DS_INFO_NO_GRADIENT) == 0;
    return 0;
}

int ds_env_create(ds_env *env, ds_error *e)
{
    ds_status st = env->vt->create(&env->services.host, &env->self);
    if (st == DS_OK && env->self != NULL) {
        return 0;
    }
    env->self = NULL;
    return st != DS_OK ? ds_services_fail(&env->services, e, "create()", st)
                       : ds_fail(e, DS_EXIT_PLUGIN, "%s: create() returned DS_OK without an instance",
                                 env->module->id);
}

static int ask_score(ds_env *env, ds_error *e)
{
    return ds_score_accept(env->module->id, ds_env_extension(env, DS_EXT_SCORE), env->self, &env->score_table,
                           &env->score, e);
}

/* Reads and tests the description of an instance. */
static int read_all(ds_env *env, ds_error *e)
{
    static int (*const described[])(ds_env *, ds_error *) = {read_channels, ask_score, read_hooks};
    int status = read_info(env, e);
    status = status != 0 ? status : read_bounds(env, e);
    for (size_t i = 0; i < sizeof described / sizeof described[0] && status == 0; i++) {
        env->services.last_error[0] = '\0';
        status = ds_services_explain(&env->services, described[i](env, e), e);
    }
    return status != 0 ? status : read_steps(env, e);
}

int ds_env_open_by(const ds_module *module, const ds_settings *settings, uint64_t seed, const ds_place *place,
                   const atomic_int *stop, ds_env_maker *make, void *ctx, ds_env **out, ds_error *e)
{
    ds_env *env = calloc(1, sizeof *env);
    ds_params *params = NULL;
    if (env == NULL) {
        return ds_no_memory(e);
    }
    const ds_offer host = {.who = "this host", .advice = "use a newer host, or another environment"};
    env->module = module;
    env->vt = &module->env;
    int status = ds_need_check(module->plugin->desc, &host, e);
    status = status != 0 ? status
                         : ds_params_make(module->plugin->desc->params, module->id, settings, DS_SECTION_ENV,
                                          &params, e);
    ds_services_init(&env->services, module, params, seed, place->threads, stop);
    env->services.host.worker = place->worker;
    env->services.host.workers = place->workers > 0 ? place->workers : 1;
    if (place->quiet) {
        ds_services_quiet(&env->services);
    }
    env->episodes = 1;
    env->stochastic = (module->plugin->desc->flags & DS_ENV_STOCHASTIC) != 0;
    const ds_call_state ours = ds_call_state_save();
    status = status != 0 ? status : make != NULL ? make(env, ctx, e) : ds_env_create(env, e);
    ds_call_state_restore(&ours);
    status = status != 0 ? status : read_all(env, e);
    ds_call_state_restore(&ours);
    if (status != 0) {
        ds_env_close(env);
    } else {
        *out = env;
    }
    return status;
}

void ds_env_close(ds_env *env)
{
    if (env == NULL) {
        return;
    }
    if (env->self != NULL) {
        const ds_call_state ours = ds_call_state_save();
        env->vt->destroy(env->self);
        ds_call_state_restore(&ours);
    }
    ds_services_clear(&env->services);
    ds_channels_clear(&env->channels);
    free(env->lower);
    free(env->variables);
    free(env->results);
    free(env);
}

ds_env_facts ds_env_facts_of(const ds_env *env)
{
    return (ds_env_facts){.info = env->info,
                          .max_rows = env->max_rows,
                          .steps = env->steps_info,
                          .score = env->score,
                          .channels = &env->channels,
                          .has_gradient = env->has_gradient != 0,
                          .steps_gradient = env->steps_gradient != NULL,
                          .stochastic = env->stochastic,
                          .episodes = env->episodes,
                          .lower = env->lower,
                          .upper = env->upper,
                          .x0 = env->x0,
                          .variables = env->variables,
                          .params = env->services.params,
                          .hooks = env->hooks};
}

/* ---- names of variables ---- */

static int describe(ds_env *env, const ds_env_variables *table, uint64_t i, ds_error *e)
{
    ds_variable out = {.struct_size = sizeof out, .name = "", .unit = "", .group = ""};
    char why[DS_VARIABLE_WHY];
    ds_status st = table->describe(env->self, i, &out);
    if (st != DS_OK) {
        return ds_services_fail(&env->services, e, "describe() of " DS_EXT_VARIABLES, st);
    }
    return ds_variable_set(&env->variables[i], out.name, out.unit, out.group, out.flags, why) == 0
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN, "%s: " DS_EXT_VARIABLES ": variable %" PRIu64 ": %s",
                         env->module->id, i, why);
}

static int check_unique(const ds_env *env, ds_error *e)
{
    uint64_t a = 0, b = 0;
    int rc = ds_variables_unique(env->variables, env->info.n, &a, &b);
    return rc > 0   ? ds_no_memory(e)
           : rc < 0 ? ds_fail(e, DS_EXIT_PLUGIN,
                              "%s: " DS_EXT_VARIABLES ": variables %" PRIu64 " and %" PRIu64
                              " are both called '%s': names must be unique",
                              env->module->id, a, b, env->variables[a].name)
                    : 0;
}

int ds_env_read_variables(ds_env *env, ds_error *e)
{
    const ds_env_variables *theirs = ds_env_extension(env, DS_EXT_VARIABLES);
    ds_env_variables own, *table = &own;
    if (theirs == NULL || env->info.n > DS_MAX_NAMED) {
        return 0;
    }
    if (DS_SIZED_READ(table, theirs, DS_ENV_VARIABLES_SIZE_1_0, env->module->id,
                      "the table of " DS_EXT_VARIABLES, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    if (table->describe == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: extension " DS_EXT_VARIABLES ": a function is missing",
                       env->module->id);
    }
    env->variables = calloc(env->info.n, sizeof *env->variables);
    int rc = env->variables != NULL ? 0 : ds_no_memory(e);
    for (uint64_t i = 0; i < env->info.n && rc == 0; i++) {
        rc = describe(env, table, i, e);
    }
    return rc != 0 ? rc : check_unique(env, e);
}

/* ---- needs ---- */

static const char other_plugin[] = "use another optimizer, or an environment that has it";

ds_offer ds_offer_of_env(const ds_desc *env)
{
    return (ds_offer){.who = env->id,
                      .gradient = (env->flags & DS_ENV_GRADIENT) != 0,
                      .residuals = ds_desc_offers(env, DS_EXT_CHANNELS),
                      .episodes = ds_desc_offers(env, DS_EXT_STEPS),
                      .episode_gradients = ds_desc_offers(env, DS_EXT_STEPS_GRADIENT),
                      .extensions = env->extensions,
                      .advice = other_plugin};
}

ds_offer ds_offer_of_instance(const ds_desc *env, const ds_env_facts *facts)
{
    ds_offer o = ds_offer_of_env(env);
    o.gradient = facts->has_gradient;
    o.residuals = ds_channels_residuals(facts->channels) > 0;
    o.episodes = facts->steps.horizon > 0;
    o.episode_gradients = facts->steps_gradient != 0;
    return o;
}

static int offers(const ds_offer *o, const char *id)
{
    const char *const *at = o->extensions;
    if (strcmp(id, DS_HAS_GRADIENT) == 0) {
        return o->gradient;
    }
    if (strcmp(id, DS_HAS_RESIDUALS) == 0) {
        return o->residuals;
    }
    if (strcmp(id, DS_EXT_STEPS) == 0) {
        return o->episodes;
    }
    if (strcmp(id, DS_EXT_STEPS_GRADIENT) == 0) {
        return o->episode_gradients;
    }
    while (at != NULL && *at != NULL && strcmp(*at, id) != 0) {
        at++;
    }
    return at != NULL && *at != NULL;
}

const char *ds_need_unmet(const ds_desc *d, const ds_offer *o)
{
    const char *const *need = d->needs;
    while (need != NULL && *need != NULL && offers(o, *need)) {
        need++;
    }
    return need != NULL ? *need : NULL;
}

const char *ds_need_words(const char *id)
{
    return strcmp(id, DS_HAS_GRADIENT) == 0         ? "gradients"
           : strcmp(id, DS_HAS_RESIDUALS) == 0      ? "residuals"
           : strcmp(id, DS_EXT_STEPS) == 0          ? "stepwise control"
           : strcmp(id, DS_EXT_STEPS_GRADIENT) == 0 ? "gradients of stepwise control"
                                                    : id;
}

int ds_need_check(const ds_desc *d, const ds_offer *o, ds_error *e)
{
    const char *id = ds_need_unmet(d, o);
    return id == NULL ? 0
                      : ds_fail(e, DS_EXIT_PLUGIN, "%s needs %.80s, which %s does not have; %s", d->id,
                                ds_need_words(id), o->who, o->advice);
}

int ds_need_process(const ds_desc *env, const char *who, const char *advice, ds_error *e)
{
    return (env->flags & DS_ENV_OWN_PROCESS) == 0
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN,
                         "%s needs a process of its own for each instance, which %s does not provide; %s",
                         env->id, who, advice);
}
