/* SPDX-License-Identifier: Apache-2.0 */
/* env_kit.c - the environment interface from a table, see env_kit.h. */
#include "env_kit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const env_kit_scene[] = {DS_EXT_SCENE, DS_EXT_VARIABLES, NULL};
const char *const env_kit_scene_channels[] = {DS_EXT_SCENE, DS_EXT_CHANNELS, DS_EXT_VARIABLES, NULL};
const char *const env_kit_scene_rl[] = {DS_EXT_SCENE, DS_EXT_RL, DS_EXT_VARIABLES, NULL};
const char *const env_kit_scene_channels_rl[] = {DS_EXT_SCENE, DS_EXT_CHANNELS, DS_EXT_RL, DS_EXT_VARIABLES,
                                                 NULL};
const char *const env_kit_scene_rl_gradient[] = {DS_EXT_SCENE, DS_EXT_RL, DS_EXT_RL_GRADIENT,
                                                 DS_EXT_VARIABLES, NULL};
const char *const env_kit_scene_channels_rl_gradient[] = {DS_EXT_SCENE,       DS_EXT_CHANNELS,  DS_EXT_RL,
                                                          DS_EXT_RL_GRADIENT, DS_EXT_VARIABLES, NULL};

const char *const env_kit_scene_hooks[] = {DS_EXT_SCENE, DS_EXT_VARIABLES, DS_EXT_HOOKS, NULL};
const char *const env_kit_scene_rl_gradient_hooks[] = {DS_EXT_SCENE,     DS_EXT_RL,    DS_EXT_RL_GRADIENT,
                                                       DS_EXT_VARIABLES, DS_EXT_HOOKS, NULL};

const char *const env_kit_scene_channels_hooks[] = {DS_EXT_SCENE, DS_EXT_CHANNELS, DS_EXT_VARIABLES,
                                                    DS_EXT_HOOKS, NULL};

const char *const env_kit_scene_channels_rl_gradient_hooks[] = {
    DS_EXT_SCENE, DS_EXT_CHANNELS, DS_EXT_RL, DS_EXT_RL_GRADIENT, DS_EXT_VARIABLES, DS_EXT_HOOKS, NULL};

/* ---- an instance ---- */

static int open_scene(env_kit *kit)
{
    const env_table *env = kit->env;
    if (env->place == NULL) {
        return 1;
    }
    scene_kit_open(&kit->scene, kit->steps, kit->dt, env->place);
    for (const scene_metric *m = env->metrics; m->name != NULL; m++) {
        kit->scene.metric[kit->scene.info.metrics++] = *m;
    }
    env->bodies(kit, &kit->scene);
    return scene_kit_ready(&kit->scene, &kit->memory);
}

static ds_status no_memory(const env_table *env, const ds_host *host)
{
    const char *advice = env->advice != NULL ? env->advice : "";
    return ds_host_fail(host, DS_E_NOMEM, "out of memory%s%s", *advice ? ": " : "", advice);
}

static ds_status wire(env_kit *kit, const ds_host *host)
{
    kit->hooks = kit->env->hook_points(kit, kit->hook);
    return ds_hybrid_open(&kit->hybrid, host, kit->hooks, kit->hook);
}

static ds_status open_kit(env_kit *kit, const env_table *env, const ds_host *host)
{
    ds_param_reader in = {host, DS_OK};
    kit->env = env;
    kit->host = host;
    kit->grad_kind = DS_GRAD_ADJOINT;
    kit->next = kit->taken = kit->back = ENV_KIT_CLOSED;
    env->read(kit, &in);
    if (in.status == DS_OK && env->hook_points != NULL) {
        in.status = wire(kit, host);
    }
    if (in.status == DS_OK && env->allocate != NULL) {
        in.status = env->allocate(kit);
    }
    in.status = in.status == DS_OK && kit->memory.failed ? DS_E_NOMEM : in.status;
    return in.status == DS_OK && !open_scene(kit) ? no_memory(env, host) : in.status;
}

ds_status env_kit_create(const env_table *env, const ds_host *host, void **out)
{
    env_kit *kit = calloc(1, env->size);
    ds_status status = kit != NULL ? open_kit(kit, env, host) : DS_E_NOMEM;
    if (kit == NULL || (status == DS_E_NOMEM && (env->advice == NULL || *env->advice))) {
        no_memory(env, host);
    }
    if (status != DS_OK) {
        env_kit_destroy(kit);
        return status;
    }
    *out = kit;
    return DS_OK;
}

void env_kit_destroy(void *self)
{
    env_kit *kit = self;
    if (kit == NULL) {
        return;
    }
    if (kit->env->release != NULL) {
        kit->env->release(kit);
    }
    ds_hybrid_close(&kit->hybrid);
    ds_memory_free(&kit->memory);
    free(kit);
}

ds_status env_kit_info(void *self, ds_env_info *out)
{
    const env_kit *kit = self;
    out->flags = kit->flags;
    out->n = kit->n + kit->hybrid.variables;
    out->steps = kit->steps;
    out->dt = kit->dt;
    out->loss_floor = kit->loss_floor;
    return DS_OK;
}

ds_status env_kit_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    const env_kit *kit = self;
    const env_table *env = kit->env;
    const uint64_t all = kit->n + kit->hybrid.variables;
    if (n != all) {
        return ds_host_fail(kit->host, DS_E_ARG, "bounds of %llu variables asked for, there are %llu",
                            (unsigned long long)n, (unsigned long long)all);
    }
    for (uint64_t i = 0; i < n; i++) {
        double start = 0;
        lower[i] = -env->limit;
        upper[i] = env->limit;
        if (i >= kit->n) {
            ds_hybrid_range(&kit->hybrid, i - kit->n, &lower[i], &upper[i], &start);
        } else if (env->range != NULL) {
            env->range(kit, i, &lower[i], &upper[i], &start);
        }
        if (x0 != NULL) {
            x0[i] = start;
        }
    }
    return DS_OK;
}

/* ---- an evaluation ---- */

static void say_cure(const env_kit *kit, int64_t step)
{
    if (kit->env->cure != NULL) {
        ds_host_fail(kit->host, DS_OK, "not finite any more at %.4g s: %s", (double)(step + 1) * kit->dt,
                     kit->env->cure);
    }
}

void env_kit_diverged(env_kit *kit, ds_eval *io)
{
    const env_table *env = kit->env;
    io->outcome = DS_EVAL_DIVERGED;
    if (io->bad_step < 0 && env->bad_step != NULL) {
        io->bad_step = env->bad_step(kit, io);
    }
    if (io->bad_step < 0) { /* a last state that is finite, too far away for its loss */
        io->bad_step = (int64_t)kit->steps - 1;
    }
    io->loss = INFINITY;
    say_cure(kit, io->bad_step);
    if (io->want & DS_WANT_GRAD) {
        memset(io->grad, 0, io->n * sizeof *io->grad);
    }
}

static ds_status differentiate(env_kit *kit, ds_eval *io)
{
    const env_table *env = kit->env;
    if (env->adjoint != NULL) {
        ds_status status = env->adjoint(kit, io);
        if (status != DS_OK) {
            return status;
        }
        if (kit->hybrid.nets > 0) {
            ds_hybrid_penalty(&kit->hybrid, io->x + kit->n, io->grad + kit->n);
        }
        io->grad_kind = kit->grad_kind;
        io->cost_steps += env->passes * (kit->cost ? kit->cost : kit->steps);
    }
    for (uint64_t i = 0; io->grad_kind != DS_GRAD_NONE && i < io->n; i++) {
        if (!isfinite(io->grad[i])) {
            memset(io->grad, 0, io->n * sizeof *io->grad);
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    return DS_OK;
}

static void keep_scene(env_kit *kit)
{
    scene_kit *s = &kit->scene;
    double row[SCENE_KIT_METRICS];
    if (kit->env->measure != NULL) {
        scene_kit_reset_box(s);
        for (uint64_t k = 0; k <= kit->steps; k++) {
            kit->env->measure(kit, k, row);
            scene_kit_measured(s, k, row);
        }
    }
    s->kept = 1;
}

/* A product that is not finite is none. */
static void judge_product(ds_eval *io, const ds_ask *ask)
{
    const double *out = ask->out;
    for (uint64_t i = 0; i < ask->out_bytes / sizeof *out; i++) {
        if (!isfinite(out[i])) {
            memset(ask->out, 0, ask->out_bytes);
            io->outcome = DS_EVAL_BAD_GRAD;
            return;
        }
    }
}

/* Answers the questions about values, or about products. */
static ds_status answer(env_kit *kit, ds_eval *io, int products)
{
    ds_status status = DS_OK;
    for (uint64_t i = 0; status == DS_OK && i < io->asks; i++) {
        ds_ask *ask = io->ask[i];
        if ((ask->op != DS_ASK_VALUE) == products) {
            ask->kind = DS_GRAD_NONE;
            status = kit->env->answer != NULL ? kit->env->answer(kit, io, ask) : DS_E_UNSUPPORTED;
            if (products && status == DS_OK) {
                judge_product(io, ask);
            }
        }
    }
    return status;
}

ds_status env_kit_more(env_kit *kit, ds_eval *io)
{
    ds_status status = answer(kit, io, 0);
    if (status == DS_OK && (io->want & DS_WANT_GRAD)) {
        status = differentiate(kit, io);
    }
    if (status == DS_OK && (io->want & DS_WANT_SCENE) && io->outcome != DS_EVAL_DIVERGED) {
        keep_scene(kit);
    }
    return status == DS_OK && io->outcome == DS_EVAL_OK ? answer(kit, io, 1) : status;
}

/* ---- channels ---- */

static ds_status channel_count(void *self, uint64_t *count)
{
    *count = ((const env_kit *)self)->env->channels(self);
    return DS_OK;
}

static ds_status describe_channel(void *self, uint64_t i, ds_channel *out)
{
    out->type = DS_TYPE_F64;
    out->ndim = 1;
    out->unit = "";
    ((const env_kit *)self)->env->channel(self, i, out);
    return DS_OK;
}

static const ds_env_channels env_kit_channels = {
    .struct_size = sizeof(ds_env_channels), .count = channel_count, .describe = describe_channel};

/* ---- stepwise control ---- */

static ds_status rl_info(void *self, ds_rl_info *out)
{
    const env_kit *kit = self;
    out->horizon = kit->horizon;
    out->n_act = kit->n / kit->horizon;
    out->n_obs = kit->n_obs;
    out->dt = kit->control_dt;
    out->flags = kit->time_limit ? DS_RL_TIME_LIMIT : 0;
    return DS_OK;
}

static ds_status rl_reset(void *self, uint64_t noise_key, double *obs)
{
    env_kit *kit = self;
    kit->scene.kept = 0;
    kit->next = kit->taken = kit->back = ENV_KIT_CLOSED;
    ds_status status = kit->env->begin(kit, noise_key);
    if (status == DS_OK) {
        kit->next = kit->taken = 0;
        kit->env->observe(kit, obs);
    }
    return status;
}

/* How an episode ends that reaches its horizon. */
static uint32_t end_at_horizon(const env_kit *kit)
{
    return kit->time_limit ? DS_RL_TRUNCATED : DS_RL_TERMINATED;
}

static ds_status rl_step(void *self, ds_rl_step *io)
{
    env_kit *kit = self;
    if (kit->next >= kit->horizon) {
        return DS_E_STATE;
    }
    io->outcome = DS_EVAL_OK;
    io->ended = DS_RL_GOES_ON;
    ds_status status = kit->env->act(kit, kit->next, io);
    if (status == DS_E_ARG) { /* the action is refused, the episode as it was */
        return status;
    }
    kit->next++;
    kit->back = ENV_KIT_CLOSED;
    int failed = status != DS_OK || io->outcome != DS_EVAL_OK;
    kit->taken = failed ? kit->taken : kit->next;
    if (failed) {
        if (status == DS_OK && io->outcome == DS_EVAL_DIVERGED && kit->env->cure != NULL) {
            ds_host_fail(kit->host, DS_OK, "not finite any more in control step %llu: %s",
                         (unsigned long long)(kit->next - 1), kit->env->cure);
        }
        io->ended = DS_RL_TERMINATED;
        io->reward = 0;
        io->loss = INFINITY;
    } else {
        if (io->ended == DS_RL_GOES_ON && kit->next == kit->horizon) {
            io->ended = end_at_horizon(kit);
        }
        io->loss = io->ended != DS_RL_GOES_ON ? io->loss : 0;
        kit->env->observe(kit, io->obs);
    }
    kit->next = io->ended != DS_RL_GOES_ON ? ENV_KIT_CLOSED : kit->next;
    return status;
}

static const ds_rl env_kit_rl = {
    .struct_size = sizeof(ds_rl), .info = rl_info, .reset = rl_reset, .step = rl_step};

/* ---- its derivatives ---- */

static ds_status back_begin(void *self, uint64_t last)
{
    env_kit *kit = self;
    if (kit->taken == ENV_KIT_CLOSED || last < 1 || last > kit->taken) {
        return DS_E_STATE;
    }
    kit->back = last;
    return kit->env->back_begin(kit, last);
}

static ds_status back(void *self, ds_rl_back *io)
{
    env_kit *kit = self;
    if (kit->back == ENV_KIT_CLOSED || kit->back == 0 || io->step != kit->back - 1) {
        return DS_E_STATE;
    }
    io->cost_steps = 0;
    ds_status status = kit->env->back(kit, io);
    kit->back = status == DS_OK ? io->step : ENV_KIT_CLOSED;
    return status;
}

static const ds_rl_gradient env_kit_rl_gradient = {
    .struct_size = sizeof(ds_rl_gradient), .begin = back_begin, .back = back};

/* ---- names of the variables ---- */

void env_variable_put(char text[DS_MAX_NAME + 1], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, DS_MAX_NAME + 1, format, args);
    va_end(args);
}

void env_variable_unit(env_variable *v, double size, const char *unit)
{
    if (fabs(size) > 0 && fabs(size - 1) > 0) {
        env_variable_put(v->unit, "%.6g %s", size, unit);
    } else {
        env_variable_put(v->unit, "%s", fabs(size) > 0 ? unit : "");
    }
}

static ds_status describe(void *self, uint64_t i, ds_variable *out)
{
    env_kit *kit = self;
    const uint64_t all = kit->n + kit->hybrid.variables;
    env_variable *v = &kit->described;
    if (i >= all) {
        return ds_host_fail(kit->host, DS_E_ARG, "variable %llu asked for, there are %llu",
                            (unsigned long long)i, (unsigned long long)all);
    }
    *v = (env_variable){"", "", ""};
    if (i < kit->n) {
        kit->env->variable(kit, i, v);
    } else {
        ds_hybrid_name(&kit->hybrid, i - kit->n, v->name, v->group, sizeof v->name);
    }
    out->flags = 0;
    out->name = kit->described.name;
    out->unit = kit->described.unit;
    out->group = kit->described.group;
    return DS_OK;
}

static const ds_env_variables env_kit_variables = {.struct_size = sizeof(ds_env_variables),
                                                   .describe = describe};

/* ---- hook points ---- */

void env_kit_hook(ds_hook *out, uint64_t *count, uint32_t kind, uint64_t numbers, const char *name,
                  const char *unit, const char *doc)
{
    out[(*count)++] = (ds_hook){
        .struct_size = sizeof *out, .kind = kind, .count = numbers, .name = name, .unit = unit, .doc = doc};
}

static ds_status hook_count(void *self, uint64_t *count)
{
    *count = ((const env_kit *)self)->hooks;
    return DS_OK;
}

static ds_status describe_hook(void *self, uint64_t i, ds_hook *out)
{
    const ds_hook *h = &((const env_kit *)self)->hook[i];
    out->kind = h->kind;
    out->count = h->count;
    out->name = h->name;
    out->unit = h->unit;
    out->doc = h->doc;
    return DS_OK;
}

static const ds_env_hooks env_kit_hooks = {
    .struct_size = sizeof(ds_env_hooks), .count = hook_count, .describe = describe_hook};

const void *env_kit_extension(void *self, const char *id)
{
    const env_table *env = ((const env_kit *)self)->env;
    if (env->place != NULL && strcmp(id, DS_EXT_SCENE) == 0) {
        return &scene_kit_table;
    }
    if (env->hook_points != NULL && strcmp(id, DS_EXT_HOOKS) == 0) {
        return &env_kit_hooks;
    }
    /* Weights are no actions: with networks the variables are not those of control steps. */
    const int stepwise = env->act != NULL && ((const env_kit *)self)->hybrid.nets == 0;
    if (stepwise && strcmp(id, DS_EXT_RL) == 0) {
        return &env_kit_rl;
    }
    if (stepwise && env->back != NULL && strcmp(id, DS_EXT_RL_GRADIENT) == 0) {
        return env->differentiable == NULL || env->differentiable(self) ? &env_kit_rl_gradient : NULL;
    }
    if (env->channels != NULL && strcmp(id, DS_EXT_CHANNELS) == 0) {
        return env->channels(self) > 0 ? &env_kit_channels : NULL;
    }
    if (env->variable != NULL && strcmp(id, DS_EXT_VARIABLES) == 0) {
        return &env_kit_variables;
    }
    return env->extension != NULL ? env->extension(self, id) : NULL;
}
