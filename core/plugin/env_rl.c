/* SPDX-License-Identifier: Apache-2.0 */
/* env_rl.c - one episode of stepwise control on an instance. */
#include "config.h"

#include "plugin/instance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void fail(ds_episode *ep, ds_episode_answer *out, uint32_t outcome, const char *text)
{
    ep->open = ep->sound = 0;
    ds_answer_fail(&out->answer, outcome, text);
    out->reward = 0.0;
    out->ended = DS_RL_TERMINATED;
}

static void fail_status(ds_episode *ep, ds_episode_answer *out, const char *function, ds_status st)
{
    const char *why = ep->env->services.last_error;
    char text[640];
    snprintf(text, sizeof(text), "%s: %s", function, why[0] != '\0' ? why : ds_status_text(st));
    fail(ep, out, st > 0 ? DS_EVAL_STOPPED : DS_EVAL_ERROR, text);
}

int ds_all_finite(const double *v, uint64_t count)
{
    uint64_t i = 0;
    while (i < count && isfinite(v[i])) {
        i++;
    }
    return i == count;
}

static void begin(ds_episode *ep, uint64_t key, double *obs, ds_episode_answer *out)
{
    ds_env *env = ep->env;
    ep->open = ep->sound = 1;
    ep->key = key;
    ep->step = 0;
    ep->back = UINT64_MAX;
    env->services.last_error[0] = '\0';
    ds_status st = env->rl->reset(env->self, key, obs);
    if (st != DS_OK) {
        fail_status(ep, out, "reset()", st);
    } else if (!ds_all_finite(obs, env->rl_info.n_obs)) {
        fail(ep, out, DS_EVAL_INVALID, "reset() gave an observation that is not finite");
    }
}

/* What is wrong with how a step ends, or does not end, its episode; NULL = nothing. */
static const char *wrong_end(const ds_episode *ep, uint32_t ended)
{
    const ds_rl_info *info = &ep->env->rl_info;
    int last = ep->step == info->horizon;
    return ended > DS_RL_TRUNCATED          ? "step() set `ended` to a value that is none of DS_RL_*"
           : ended == DS_RL_GOES_ON && last ? "step() did not end the episode with its last step"
           : ended == DS_RL_TRUNCATED && last && (info->flags & DS_RL_TIME_LIMIT) == 0
               ? "step() said DS_RL_TRUNCATED at the horizon, where info() does not say DS_RL_TIME_LIMIT: a "
                 "horizon that is a part of the task ends it with DS_RL_TERMINATED"
               : NULL;
}

/* What the plugin answered, made safe. */
static void validate(ds_episode *ep, const ds_rl_step *io, const double *obs, ds_episode_answer *out)
{
    const char *wrong = wrong_end(ep, io->ended);
    if (io->outcome >= DS_EVAL_OUTCOMES) {
        fail(ep, out, DS_EVAL_ERROR, "step() set an outcome that this host does not know");
    } else if (io->outcome != DS_EVAL_OK && io->outcome != DS_EVAL_DIVERGED &&
               io->outcome != DS_EVAL_INFEASIBLE) {
        fail(ep, out, DS_EVAL_INVALID, "step() set an outcome that it must not set");
    } else if (io->outcome != DS_EVAL_OK) {
        fail(ep, out, io->outcome, ep->env->services.last_error);
    } else if (!isfinite(io->reward) || !ds_all_finite(obs, ep->env->rl_info.n_obs)) {
        fail(ep, out, DS_EVAL_INVALID,
             "step() gave a reward or an observation that is not finite as a success");
    } else if (wrong != NULL) {
        fail(ep, out, DS_EVAL_INVALID, wrong);
    } else if (io->ended != DS_RL_GOES_ON && !isfinite(io->loss)) {
        fail(ep, out, DS_EVAL_INVALID, "step() gave a loss that is not finite as a success");
    } else {
        out->reward = io->reward;
        out->ended = io->ended;
        out->answer.loss = io->ended != DS_RL_GOES_ON ? io->loss : 0.0;
        ep->open = io->ended == DS_RL_GOES_ON;
    }
}

static void step(ds_episode *ep, const double *action, double *obs, ds_episode_answer *out)
{
    ds_env *env = ep->env;
    ds_rl_step io = {.struct_size = sizeof(io), .action = action, .obs = obs, .reward = NAN, .loss = NAN};
    memset(obs, 0xff, env->rl_info.n_obs * sizeof(double)); /* NaN: what is not filled is noticed */
    env->services.last_error[0] = '\0';
    ds_status st = env->rl->step(env->self, &io);
    ep->step++;
    ep->back = UINT64_MAX;
    out->answer.cost_steps = ds_cost_sum(out->answer.cost_steps, ds_cost_of(io.cost_steps));
    if (st != DS_OK) {
        fail_status(ep, out, "step()", st);
    } else {
        validate(ep, &io, obs, out);
    }
}

ds_status ds_episode_advance(ds_episode *ep, uint64_t key, uint64_t step_, const double *x, double *obs,
                             ds_episode_answer *out)
{
    uint64_t m = ep->env->rl_info.n_act;
    size_t bytes = ep->env->rl_info.n_obs * sizeof(double);
    double start = ds_clock_s();
    double *fresh = malloc(bytes);
    memset(out, 0, sizeof(*out));
    out->answer.bad_step = -1;
    if (fresh == NULL) {
        fail(ep, out, DS_EVAL_ERROR, "out of memory");
        return DS_OK;
    }
    if (step_ == 0 || !ep->open || ep->key != key || ep->step != step_ - 1) {
        begin(ep, key, fresh, out);
    }
    while (ep->open && ep->step < step_) {
        out->answer.cost_steps = 0; /* repeated steps are not counted */
        step(ep, x + ep->step * m, fresh, out);
    }
    if (out->answer.outcome == DS_EVAL_OK) {
        memcpy(obs, fresh, bytes);
    } else if (out->answer.outcome != DS_EVAL_STOPPED && step_ > 0) {
        uint64_t output = ep->env->info.steps / ep->env->rl_info.horizon;
        out->answer.bad_step = (int64_t)((step_ - 1) * output);
    }
    free(fresh);
    out->answer.wall_s = ds_clock_s() - start;
    return out->answer.outcome == DS_EVAL_STOPPED ? DS_STOPPED : DS_OK;
}

/* ---- backwards ---- */

static void fail_back(const ds_env *env, const char *function, ds_status st, ds_answer *out)
{
    const char *why = env->services.last_error;
    char text[640];
    snprintf(text, sizeof(text), "%s: %s", function, why[0] != '\0' ? why : ds_status_text(st));
    ds_answer_fail(out, st > 0 ? DS_EVAL_STOPPED : DS_EVAL_ERROR, text);
}

/* Calls the plugin; its answer is in b->action_bar. */
static void call_back(ds_episode *ep, const ds_episode_back *b, ds_answer *out)
{
    ds_env *env = ep->env;
    ds_rl_back io = {.struct_size = sizeof(io),
                     .step = b->step,
                     .reward_bar = b->reward_bar,
                     .obs_bar = b->obs_bar,
                     .action_bar = b->action_bar};
    env->services.last_error[0] = '\0';
    ds_status st = b->step + 1 == b->taken ? env->rl_gradient->begin(env->self, b->taken) : DS_OK;
    if (st != DS_OK) {
        fail_back(env, "begin() of " DS_EXT_RL_GRADIENT, st, out);
        return;
    }
    memset(b->action_bar, 0xff, env->rl_info.n_act * sizeof(double)); /* NaN: what is not filled is noticed */
    st = env->rl_gradient->back(env->self, &io);
    out->cost_steps = ds_cost_of(io.cost_steps);
    if (st != DS_OK) {
        fail_back(env, "back()", st, out);
    } else if (!ds_all_finite(b->action_bar, env->rl_info.n_act)) {
        ds_answer_fail(out, DS_EVAL_BAD_GRAD, "the derivatives of a step are not finite");
    }
}

ds_status ds_episode_go_back(ds_episode *ep, const ds_episode_back *b, int *lost, ds_answer *out)
{
    double start = ds_clock_s();
    int first = b->step + 1 == b->taken;
    memset(out, 0, sizeof(*out));
    out->bad_step = -1;
    *lost = !ep->sound || ep->key != b->key || ep->step != b->taken || (!first && ep->back != b->step + 1);
    if (!*lost) {
        call_back(ep, b, out);
        ep->back = out->outcome == DS_EVAL_OK ? b->step : UINT64_MAX;
    }
    if (*lost || out->outcome != DS_EVAL_OK) {
        memset(b->action_bar, 0, ep->env->rl_info.n_act * sizeof(double));
    }
    out->wall_s = ds_clock_s() - start;
    return out->outcome == DS_EVAL_STOPPED ? DS_STOPPED : DS_OK;
}
