/* SPDX-License-Identifier: Apache-2.0 */
/* env_steps.c - stepwise control: episodes in the lanes of instances. */
#include "config.h"

#include "plugin/instance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

int ds_all_finite(const double *v, uint64_t count)
{
    uint64_t i = 0;
    while (i < count && isfinite(v[i])) {
        i++;
    }
    return i == count;
}

/* ---- lanes ---- */

static int grow(ds_lane_set *s, uint64_t lane, ds_error *e)
{
    uint64_t lanes = s->lanes > 0 ? s->lanes : 8;
    while (lanes <= lane) {
        lanes *= 2;
    }
    ds_episode **more = lanes != s->lanes ? realloc(s->lane, lanes * sizeof(ds_episode *)) : s->lane;
    if (more == NULL) {
        return ds_no_memory(e);
    }
    s->lane = more;
    ds_env **env = lanes != s->lanes ? realloc(s->env, lanes * sizeof(ds_env *)) : s->env;
    if (env == NULL) {
        return ds_no_memory(e);
    }
    s->env = env;
    for (; s->lanes < lanes; s->lanes++) {
        s->lane[s->lanes] = NULL;
        s->env[s->lanes] = NULL;
    }
    return 0;
}

int ds_lane_set_find(ds_lane_set *s, uint64_t lane, uint64_t max_lanes, ds_episode **out, ds_error *e)
{
    int rc = grow(s, lane, e);
    s->max_lanes = max_lanes;
    ds_env **env = rc == 0 ? &s->env[lane / max_lanes] : NULL;
    if (rc == 0 && *env == NULL) {
        rc = s->make(s->ctx, env, e);
    }
    if (rc == 0 && s->lane[lane] == NULL) {
        s->lane[lane] = calloc(1, sizeof(ds_episode));
        rc = s->lane[lane] == NULL ? ds_no_memory(e) : 0;
    }
    if (rc == 0) {
        *out = s->lane[lane];
        (*out)->env = *env;
        (*out)->lane = lane % max_lanes;
    }
    return rc;
}

void ds_lane_set_close(ds_lane_set *s, const ds_env *kept)
{
    for (uint64_t i = 0; i < s->lanes; i++) {
        free(s->lane[i]);
        if (s->env[i] != kept) {
            ds_env_close(s->env[i]);
        }
    }
    free(s->lane);
    free(s->env);
    s->lane = NULL;
    s->env = NULL;
    s->lanes = 0;
}

static void fail(ds_episode_step *s, uint32_t outcome, const char *text)
{
    s->episode->open = s->episode->sound = 0;
    ds_answer_fail(s->answer, outcome, text);
    s->reward = 0.0;
    s->ended = DS_STEPS_TERMINATED;
}

/* The outcome and message for a failed call of the plugin. */
static uint32_t explain(const ds_env *env, const char *function, ds_status st, char text[200])
{
    const char *why = env->services.last_error;
    snprintf(text, 200, "%s: %.180s", function, why[0] != '\0' ? why : ds_status_text(st));
    return st > 0 ? DS_EVAL_STOPPED : DS_EVAL_ERROR;
}

/* ---- the tables of one call ---- */

/* Buffers for `count` rows of one call, forwards or backwards. */
typedef struct call {
    const ds_env *env;
    uint64_t count;
    uint64_t *lane, *key, *cost;
    double *action, *obs, *reward, *loss;
    uint32_t *ended, *outcome;
    void *memory;
} call;

static int call_open(call *c, const ds_env *env, uint64_t count)
{
    const uint64_t m = env->steps_info.n_act, o = env->steps_info.n_obs;
    *c = (call){.env = env, .count = count};
    uint64_t *words_ = malloc(count * (3 + m + o + 2 + 1) * sizeof *words_);
    c->memory = words_;
    if (words_ == NULL) {
        return -1;
    }
    c->lane = words_;
    c->key = c->lane + count;
    c->cost = c->key + count;
    c->action = (double *)(void *)(c->cost + count);
    c->obs = c->action + count * m;
    c->reward = c->obs + count * o;
    c->loss = c->reward + count;
    c->ended = (uint32_t *)(void *)(c->loss + count);
    c->outcome = c->ended + count;
    for (uint64_t k = 0; k < count; k++) {
        c->reward[k] = c->loss[k] = 0.0;
        c->ended[k] = DS_STEPS_CONTINUES;
        c->outcome[k] = DS_EVAL_OK;
        c->cost[k] = 0;
    }
    memset(c->obs, 0xff, count * o * sizeof *c->obs); /* NaN shows what the plugin did not fill */
    return 0;
}

static ds_step_results results_of(const call *c)
{
    return (ds_step_results){.struct_size = sizeof(ds_step_results),
                             .obs = c->obs,
                             .reward = c->reward,
                             .ended = c->ended,
                             .loss = c->loss,
                             .outcome = c->outcome,
                             .cost_steps = c->cost};
}

static const double *obs_of(const call *c, uint64_t k)
{
    return c->obs + k * c->env->steps_info.n_obs;
}

/* ---- begin and step ---- */

/* The plugin's message for the row that failed; none where several have, because it cannot be attributed. */
static const char *message_of(const call *c)
{
    uint64_t failed = 0;
    for (uint64_t k = 0; k < c->count; k++) {
        failed += c->outcome[k] != DS_EVAL_OK;
    }
    return failed > 1 ? "" : c->env->services.last_error;
}

/* Tests the outcome of a row; 0 = the episode has failed. */
static int succeeded(const call *c, uint64_t k, const char *function, ds_episode_step *s)
{
    const uint32_t outcome = c->outcome[k];
    char text[100];
    if (outcome == DS_EVAL_OK) {
        return 1;
    }
    snprintf(text, sizeof text, "%s set an outcome %s", function,
             outcome >= DS_EVAL_OUTCOMES ? "unknown to this host" : "that it must not set");
    if (outcome >= DS_EVAL_OUTCOMES) {
        fail(s, DS_EVAL_ERROR, text);
    } else if (outcome == DS_EVAL_BAD_GRAD || outcome > DS_EVAL_INFEASIBLE) {
        fail(s, DS_EVAL_INVALID, text);
    } else {
        fail(s, outcome, message_of(c));
    }
    return 0;
}

/* Begins episodes in one instance. */
static void begin_rows(uint64_t count, ds_episode_step *const *step, double *const *obs)
{
    ds_env *env = step[0]->episode->env;
    call c;
    char text[200];
    if (call_open(&c, env, count) != 0) {
        for (uint64_t k = 0; k < count; k++) {
            fail(step[k], DS_EVAL_ERROR, "out of memory");
        }
        return;
    }
    for (uint64_t k = 0; k < count; k++) {
        ds_episode *ep = step[k]->episode;
        ep->open = ep->sound = 1;
        ep->key = c.key[k] = step[k]->key;
        ep->step = 0;
        ep->back = UINT64_MAX;
        c.lane[k] = ep->lane;
    }
    const ds_step_rows rows = {
        .struct_size = sizeof rows, .count = count, .lane = c.lane, .noise_key = c.key};
    const ds_step_results results = results_of(&c);
    env->services.last_error[0] = '\0';
    const ds_status st = env->steps->begin(env->self, &rows, &results);
    for (uint64_t k = 0; k < count; k++) {
        if (st != DS_OK) {
            fail(step[k], explain(env, "begin()", st, text), text);
        } else if (succeeded(&c, k, "begin()", step[k])) {
            if (!ds_all_finite(obs_of(&c, k), env->steps_info.n_obs)) {
                fail(step[k], DS_EVAL_INVALID, "begin() gave an observation that is not finite");
            }
            memcpy(obs[k], obs_of(&c, k), env->steps_info.n_obs * sizeof(double));
        }
    }
    free(c.memory);
}

/* Returns the fault in how a step ends or continues its episode; NULL = none. */
static const char *wrong_end(const ds_episode *ep, uint32_t ended)
{
    const ds_steps_info *info = &ep->env->steps_info;
    int last = ep->step == info->horizon;
    return ended > DS_STEPS_TRUNCATED            ? "step() set `ended` to a value that is none of DS_STEPS_*"
           : ended == DS_STEPS_CONTINUES && last ? "step() did not end the episode with its last step"
           : ended == DS_STEPS_TRUNCATED && last && (info->flags & DS_STEPS_TIME_LIMIT) == 0
               ? "step() returned DS_STEPS_TRUNCATED at the horizon, but info() lacks DS_STEPS_TIME_LIMIT: "
                 "if the horizon is part of the task, return DS_STEPS_TERMINATED"
               : NULL;
}

/* Tests what the plugin returned for a row, and takes it. */
static void take_step(const call *c, uint64_t k, ds_episode_step *s, double *obs)
{
    ds_episode *ep = s->episode;
    const char *wrong = wrong_end(ep, c->ended[k]);
    if (!succeeded(c, k, "step()", s)) {
        return;
    }
    if (!isfinite(c->reward[k]) || !ds_all_finite(obs_of(c, k), c->env->steps_info.n_obs)) {
        fail(s, DS_EVAL_INVALID,
             "step() returned a reward or an observation that is not finite with outcome DS_EVAL_OK");
    } else if (wrong != NULL) {
        fail(s, DS_EVAL_INVALID, wrong);
    } else if (c->ended[k] != DS_STEPS_CONTINUES && !isfinite(c->loss[k])) {
        fail(s, DS_EVAL_INVALID, "step() returned a loss that is not finite with outcome DS_EVAL_OK");
    } else {
        s->reward = c->reward[k];
        s->ended = c->ended[k];
        s->answer->loss = c->ended[k] != DS_STEPS_CONTINUES ? c->loss[k] : 0.0;
        ep->open = c->ended[k] == DS_STEPS_CONTINUES;
        memcpy(obs, obs_of(c, k), c->env->steps_info.n_obs * sizeof *obs);
    }
}

/* Takes the next step in one instance. */
static void step_rows(uint64_t count, ds_episode_step *const *step, double *const *obs)
{
    ds_env *env = step[0]->episode->env;
    const uint64_t m = env->steps_info.n_act;
    call c;
    char text[200];
    if (call_open(&c, env, count) != 0) {
        for (uint64_t k = 0; k < count; k++) {
            fail(step[k], DS_EVAL_ERROR, "out of memory");
        }
        return;
    }
    for (uint64_t k = 0; k < count; k++) {
        ds_episode *ep = step[k]->episode;
        c.lane[k] = ep->lane;
        memcpy(c.action + k * m, step[k]->x + ep->step * m, m * sizeof(double));
    }
    const ds_step_rows rows = {
        .struct_size = sizeof rows, .count = count, .lane = c.lane, .action = c.action};
    const ds_step_results results = results_of(&c);
    env->services.last_error[0] = '\0';
    const ds_status st = env->steps->step(env->self, &rows, &results);
    for (uint64_t k = 0; k < count; k++) {
        ds_episode *ep = step[k]->episode;
        ep->step++;
        ep->back = UINT64_MAX;
        step[k]->answer->cost_steps = ds_cost_sum(step[k]->answer->cost_steps, ds_cost_of(c.cost[k]));
        if (st != DS_OK) {
            fail(step[k], explain(env, "step()", st, text), text);
        } else {
            take_step(&c, k, step[k], obs[k]);
        }
    }
    free(c.memory);
}

/* ---- advancing to the requested step ---- */

typedef void on_rows(uint64_t count, ds_episode_step *const *step, double *const *obs);

/* Calls `function` for the marked rows k, once per run of consecutive rows of the same instance. `some` and
 * `to` have room for all rows. */
static void call_marked(uint64_t count, ds_episode_step *const *step, double *obs, const unsigned char *mark,
                        ds_episode_step **some, double **to, on_rows *function)
{
    const uint64_t n_obs = step[0]->episode->env->steps_info.n_obs;
    uint64_t held = 0;
    for (uint64_t k = 0; k <= count; k++) {
        int other = held > 0 && (k == count || step[k]->episode->env != some[0]->episode->env);
        if (other) {
            function(held, some, to);
            held = 0;
        }
        if (k < count && mark[k]) {
            to[held] = obs + k * n_obs;
            some[held++] = step[k];
        }
    }
}

static int is_elsewhere(const ds_episode_step *s)
{
    const ds_episode *ep = s->episode;
    return s->step == 0 || !ep->open || ep->key != s->key || ep->step != s->step - 1;
}

/* Repeats the steps that an episode lost when its process ended. They are not counted again. */
static void catch_up(ds_episode_step *s, double *obs)
{
    while (s->episode->open && s->episode->step + 1 < s->step) {
        step_rows(1, &s, &obs);
        s->answer->cost_steps = 0;
    }
}

static void advance(uint64_t count, ds_episode_step *const *step, double *obs, unsigned char *mark,
                    ds_episode_step **some, double **to)
{
    const uint64_t n_obs = step[0]->episode->env->steps_info.n_obs;
    for (uint64_t k = 0; k < count; k++) {
        mark[k] = is_elsewhere(step[k]);
    }
    call_marked(count, step, obs, mark, some, to, begin_rows);
    for (uint64_t k = 0; k < count; k++) {
        if (mark[k] && step[k]->step > 0) {
            step[k]->answer->cost_steps = 0;
            catch_up(step[k], obs + k * n_obs);
        }
        mark[k] = step[k]->step > 0 && step[k]->episode->open && step[k]->answer->outcome == DS_EVAL_OK;
    }
    call_marked(count, step, obs, mark, some, to, step_rows);
}

ds_status ds_episodes_advance(uint64_t count, ds_episode_step *const *step)
{
    const ds_env *env = step[0]->episode->env;
    const uint64_t n_obs = env->steps_info.n_obs, output = env->info.steps / env->steps_info.horizon;
    const double start = ds_clock_s();
    double *obs = malloc(count * (n_obs * sizeof *obs + sizeof(void *) * 2 + 1));
    ds_status status = DS_OK;
    for (uint64_t k = 0; k < count; k++) {
        *step[k]->answer = (ds_answer){.bad_step = -1};
        step[k]->reward = 0.0;
        step[k]->ended = DS_STEPS_CONTINUES;
        if (obs == NULL) {
            fail(step[k], DS_EVAL_ERROR, "out of memory");
        }
    }
    if (obs != NULL) {
        ds_episode_step **some = (ds_episode_step **)(void *)(obs + count * n_obs);
        double **to = (double **)(void *)(some + count);
        advance(count, step, obs, (unsigned char *)(to + count), some, to);
    }
    const double each = (ds_clock_s() - start) / (double)count;
    for (uint64_t k = 0; k < count; k++) {
        ds_answer *a = step[k]->answer;
        if (a->outcome == DS_EVAL_OK) {
            memcpy(step[k]->obs, obs + k * n_obs, n_obs * sizeof *obs);
        } else if (a->outcome == DS_EVAL_STOPPED) {
            status = DS_STOPPED;
        } else if (step[k]->step > 0) {
            a->bad_step = (int64_t)((step[k]->step - 1) * output);
        }
        a->wall_s = each;
    }
    free(obs);
    return status;
}

/* ---- backwards ---- */

/* Goes back over one step in one instance. */
static void back_rows(uint64_t count, ds_episode_back *const *back)
{
    ds_env *env = back[0]->episode->env;
    const uint64_t m = env->steps_info.n_act, o = env->steps_info.n_obs;
    call c;
    char text[200];
    if (call_open(&c, env, count) != 0) {
        for (uint64_t k = 0; k < count; k++) {
            ds_answer_fail(back[k]->answer, DS_EVAL_ERROR, "out of memory");
        }
        return;
    }
    uint64_t *at = c.key; /* reuses the room of keys and of `ended` */
    uint32_t *begins = c.ended;
    for (uint64_t k = 0; k < count; k++) {
        c.lane[k] = back[k]->episode->lane;
        at[k] = back[k]->step;
        begins[k] = back[k]->step + 1 == back[k]->taken;
        c.reward[k] = back[k]->reward_bar;
        memcpy(c.obs + k * o, back[k]->obs_bar, o * sizeof(double));
    }
    memset(c.action, 0xff, count * m * sizeof(double)); /* NaN shows what the plugin did not fill */
    const ds_back_rows rows = {.struct_size = sizeof rows,
                               .count = count,
                               .lane = c.lane,
                               .step = at,
                               .begins = begins,
                               .reward_bar = c.reward,
                               .obs_bar = c.obs};
    const ds_back_results results = {
        .struct_size = sizeof results, .action_bar = c.action, .outcome = c.outcome, .cost_steps = c.cost};
    env->services.last_error[0] = '\0';
    const ds_status st = env->steps_gradient->back(env->self, &rows, &results);
    for (uint64_t k = 0; k < count; k++) {
        ds_answer *a = back[k]->answer;
        a->cost_steps = ds_cost_of(c.cost[k]);
        memcpy(back[k]->action_bar, c.action + k * m, m * sizeof(double));
        if (st != DS_OK) {
            const uint32_t outcome = explain(env, "back()", st, text);
            ds_answer_fail(a, outcome, text);
        } else if (c.outcome[k] > DS_EVAL_BAD_GRAD) {
            ds_answer_fail(a, DS_EVAL_INVALID, "back() set an outcome that it must not set");
        } else if (c.outcome[k] == DS_EVAL_BAD_GRAD || !ds_all_finite(back[k]->action_bar, m)) {
            ds_answer_fail(a, DS_EVAL_BAD_GRAD, "the derivatives of a step are not finite");
        }
    }
    free(c.memory);
}

/* Is the episode where the step backwards begins? */
static int is_there(const ds_episode_back *b)
{
    const ds_episode *ep = b->episode;
    return ep->sound && ep->key == b->key && ep->step == b->taken &&
           (b->step + 1 == b->taken || ep->back == b->step + 1);
}

ds_status ds_episodes_go_back(uint64_t count, ds_episode_back *const *back)
{
    const double start = ds_clock_s();
    const uint64_t m = back[0]->episode->env->steps_info.n_act;
    ds_episode_back **some = malloc(count * sizeof(ds_episode_back *));
    ds_status status = DS_OK;
    uint64_t held = 0;
    for (uint64_t k = 0; k <= count; k++) {
        if (held > 0 && (k == count || back[k]->episode->env != some[0]->episode->env)) {
            back_rows(held, some);
            held = 0;
        }
        if (k < count) {
            *back[k]->answer = (ds_answer){.bad_step = -1};
            back[k]->lost = !is_there(back[k]);
            if (some == NULL) {
                ds_answer_fail(back[k]->answer, DS_EVAL_ERROR, "out of memory");
            } else if (!back[k]->lost) {
                some[held++] = back[k];
            }
        }
    }
    free(some);
    const double each = (ds_clock_s() - start) / (double)count;
    for (uint64_t k = 0; k < count; k++) {
        ds_episode_back *b = back[k];
        const int good = !b->lost && b->answer->outcome == DS_EVAL_OK;
        b->answer->wall_s = each;
        if (!b->lost) {
            b->episode->back = good ? b->step : UINT64_MAX;
        }
        if (!good) {
            memset(b->action_bar, 0, m * sizeof(double));
        }
        status = b->answer->outcome == DS_EVAL_STOPPED ? DS_STOPPED : status;
    }
    return status;
}
