/* SPDX-License-Identifier: Apache-2.0 */
/* environment_steps.c - episodes of stepwise control for another program, see diffsim/lib/environment.h. */
#include "config.h"

#include "base/text.h"
#include "embed/environment_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "guest/surroundings.h"

/* The episode in a lane. */
typedef struct ds_open_episode {
    int open;
    uint64_t key, steps; /* taken */
    double *x;           /* n: the actions of all steps; allocated with obs */
    double *obs;         /* n_obs: the last observation */
} ds_open_episode;

void ds_environment_drop_episodes(ds_environment *e)
{
    ds_lanes_close(e->lanes);
    for (size_t i = 0; e->episode != NULL && i < DS_MAX_LANES; i++) {
        free(e->episode[i].x);
    }
    free(e->episode);
    free(e->step);
}

DS_EXPORT ds_status ds_environment_episodes(const ds_environment *e, ds_rl_info *out)
{
    if (e == NULL || !DS_ENVIRONMENT_TAKES(ds_rl_info, out, dt)) {
        return DS_E_ARG;
    }
    if (e->facts->rl.horizon == 0) {
        return DS_E_UNSUPPORTED;
    }
    uint32_t size = out->struct_size;
    memcpy(out, &e->facts->rl, size < sizeof *out ? size : sizeof *out);
    out->struct_size = size;
    return DS_OK;
}

/* Makes the lanes, when they are first needed. */
static ds_status open_lanes(ds_environment *e)
{
    ds_error error = {0, ""};
    if (e->facts->rl.horizon == 0) {
        return ds_environment_say(e, DS_E_UNSUPPORTED, "%s has no stepwise control", e->id);
    }
    e->episode = e->episode != NULL ? e->episode : calloc(DS_MAX_LANES, sizeof *e->episode);
    e->step = e->step != NULL ? e->step : calloc(DS_MAX_LANES, sizeof *e->step);
    if (e->episode == NULL || e->step == NULL) {
        return ds_environment_say(e, DS_E_NOMEM, "out of memory for episodes");
    }
    return e->lanes != NULL
               ? DS_OK
               : ds_environment_outcome(e, ds_lanes_open(e->source.pool, &e->lanes, &error), &error);
}

static ds_status check_action(ds_environment *e, const double *action, uint64_t row, uint64_t lane)
{
    const ds_pool_env *f = e->facts;
    uint64_t m = f->rl.n_act, first = e->episode[lane].steps * m;
    for (uint64_t i = 0; i < m; i++) {
        if (!(action[i] >= f->lower[first + i] && action[i] <= f->upper[first + i])) { /* also catches NaN */
            return ds_environment_say(e, DS_E_ARG,
                                      "row %llu, number %llu of the action is %s, outside of its bounds "
                                      "%s..%s",
                                      (unsigned long long)row, (unsigned long long)i, DS_TEXT_OF(action[i]),
                                      DS_TEXT_OF(f->lower[first + i]), DS_TEXT_OF(f->upper[first + i]));
        }
    }
    return DS_OK;
}

/* Are these rows that can be begun or stepped? */
static ds_status check_rows(ds_environment *e, const ds_episode_rows *r, int stepping)
{
    uint64_t seen = 0;
    if (!DS_ENVIRONMENT_TAKES(ds_episode_rows, r, done)) {
        return ds_environment_say(e, DS_E_ARG,
                                  "the rows are missing or their struct_size is not sizeof(ds_episode_rows)");
    }
    if (r->count < 1 || r->count > DS_MAX_LANES || r->lane == NULL || r->obs == NULL ||
        (stepping && (r->action == NULL || r->reward == NULL || r->ended == NULL || r->loss == NULL))) {
        return ds_environment_say(e, DS_E_ARG, "no rows, more rows than lanes, or a buffer is NULL");
    }
    for (uint64_t k = 0; k < r->count; k++) {
        uint64_t lane = r->lane[k];
        if (lane >= DS_MAX_LANES || (seen >> lane & 1u) != 0) {
            return ds_environment_say(e, DS_E_ARG, "row %llu: lane %llu is not below %u, or named twice",
                                      (unsigned long long)k, (unsigned long long)lane, DS_MAX_LANES);
        }
        seen |= (uint64_t)1 << lane;
        if (stepping && !e->episode[lane].open) {
            return ds_environment_say(e, DS_E_STATE, "row %llu: lane %llu holds no open episode; reset it",
                                      (unsigned long long)k, (unsigned long long)lane);
        }
        if (stepping && check_action(e, r->action + k * e->facts->rl.n_act, k, lane) != DS_OK) {
            return DS_E_ARG;
        }
    }
    return DS_OK;
}

/* Both kinds of calls begin like this. */
static ds_status prepare(ds_environment *e, ds_episode_rows *r, int stepping)
{
    if (e == NULL) {
        return DS_E_ARG;
    }
    e->message[0] = '\0';
    ds_status status = open_lanes(e);
    status = status != DS_OK ? status : check_rows(e, r, stepping);
    if (status == DS_OK) {
        r->done = 0;
    }
    return status;
}

/* Sends the rows in e->step to the lanes. */
static ds_status play(ds_environment *e, const ds_episode_rows *r)
{
    ds_error error = {0, ""};
    for (uint64_t k = 0; k < r->count; k++) {
        const ds_open_episode *ep = &e->episode[r->lane[k]];
        e->step[k] =
            (ds_lane_step){.lane = r->lane[k], .key = ep->key, .step = ep->steps, .x = ep->x, .obs = ep->obs};
    }
    return ds_environment_outcome(e, ds_lanes_step(e->lanes, r->count, e->step, &error), &error);
}

/* The first failure of a call is its message. */
static void note(ds_environment *e, const ds_answer *a)
{
    if (a->outcome != DS_EVAL_OK && e->message[0] == '\0') {
        ds_environment_say(e, DS_OK, "%s", a->message[0] != '\0' ? a->message : ds_outcome_name(a->outcome));
    }
}

DS_EXPORT ds_status ds_environment_reset(ds_environment *e, ds_episode_rows *r, const uint64_t *noise_key)
{
    DS_LOCALE_PLAIN_HERE;
    ds_status status = prepare(e, r, 0);
    if (status != DS_OK) {
        return status;
    }
    uint64_t n = e->facts->info.n, n_obs = e->facts->rl.n_obs;
    for (uint64_t k = 0; k < r->count; k++) {
        ds_open_episode *ep = &e->episode[r->lane[k]];
        ep->open = 0;
        ep->steps = 0;
        ep->key = noise_key != NULL ? noise_key[k] : 0;
        ep->x = ep->x != NULL ? ep->x : calloc(n + n_obs, sizeof *ep->x);
        if (ep->x == NULL) {
            return ds_environment_say(e, DS_E_NOMEM, "out of memory for an episode");
        }
        ep->obs = ep->x + n;
        memset(ep->obs, 0, n_obs * sizeof *ep->obs);
    }
    status = play(e, r);
    for (uint64_t k = 0; status == DS_OK && k < r->count; k++) {
        ds_open_episode *ep = &e->episode[r->lane[k]];
        const ds_answer *a = &e->step[k].out.answer;
        ep->open = a->outcome == DS_EVAL_OK;
        memcpy(r->obs + k * n_obs, ep->obs, n_obs * sizeof *ep->obs);
        if (r->outcome != NULL) {
            r->outcome[k] = a->outcome;
        }
        note(e, a);
        r->done = k + 1;
    }
    return status;
}

/* What a step gave goes to row k. */
static void take_step(ds_environment *e, ds_episode_rows *r, uint64_t k)
{
    ds_open_episode *ep = &e->episode[r->lane[k]];
    const ds_episode_answer *out = &e->step[k].out;
    uint64_t n_obs = e->facts->rl.n_obs;
    int failed = out->answer.outcome != DS_EVAL_OK;
    memcpy(r->obs + k * n_obs, ep->obs, n_obs * sizeof *ep->obs);
    r->reward[k] = failed ? 0.0 : out->reward;
    r->ended[k] = failed ? DS_RL_TERMINATED : out->ended;
    r->loss[k] = failed ? (double)INFINITY : out->ended != 0 ? out->answer.loss : 0.0;
    if (r->outcome != NULL) {
        r->outcome[k] = out->answer.outcome;
    }
    ep->open = r->ended[k] == DS_RL_GOES_ON;
    note(e, &out->answer);
    r->done = k + 1;
}

DS_EXPORT ds_status ds_environment_step(ds_environment *e, ds_episode_rows *r)
{
    DS_LOCALE_PLAIN_HERE;
    ds_status status = prepare(e, r, 1);
    if (status != DS_OK) {
        return status;
    }
    uint64_t m = e->facts->rl.n_act;
    for (uint64_t k = 0; k < r->count; k++) {
        ds_open_episode *ep = &e->episode[r->lane[k]];
        memcpy(ep->x + ep->steps * m, r->action + k * m, m * sizeof *ep->x);
        ep->steps++;
    }
    status = play(e, r);
    for (uint64_t k = 0; status == DS_OK && k < r->count; k++) {
        take_step(e, r, k);
    }
    return status;
}
