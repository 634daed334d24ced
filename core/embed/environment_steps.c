/* SPDX-License-Identifier: Apache-2.0 */
/* environment_steps.c - episodes of stepwise control for another program, see diffsim/lib/environment.h. */
#include "config.h"

#include "embed/environment_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/text.h"
#include "protect/call_state.h"

/* The episode in a lane. */
typedef struct ds_open_episode {
    int open;
    uint64_t key, steps; /* taken */
    double *x;           /* n: the actions of all steps; allocated with obs */
    double *obs;         /* n_obs: the last observation */
} ds_open_episode;

void ds_environment_drop_episodes(ds_environment *e)
{
    for (size_t i = 0; e->episode != NULL && i < e->lanes; i++) {
        free(e->episode[i].x);
    }
    free(e->episode);
    free(e->step);
    free(e->named);
}

DS_EXPORT uint64_t ds_environment_lanes(const ds_environment *e)
{
    return e != NULL && e->facts->steps.horizon > 0 ? ds_pool_lanes(e->source.pool) : 0;
}

DS_EXPORT ds_status ds_environment_episodes(const ds_environment *e, ds_steps_info *out)
{
    if (e == NULL || !DS_ENVIRONMENT_TAKES(ds_steps_info, out, max_lanes)) {
        return DS_E_ARG;
    }
    if (e->facts->steps.horizon == 0) {
        return DS_E_UNSUPPORTED;
    }
    uint32_t size = out->struct_size;
    memcpy(out, &e->facts->steps, size < sizeof *out ? size : sizeof *out);
    out->struct_size = size;
    return DS_OK;
}

/* Makes the lanes, when they are first needed. */
static ds_status open_lanes(ds_environment *e)
{
    if (e->facts->steps.horizon == 0) {
        return ds_environment_say(e, DS_E_UNSUPPORTED, "%s has no stepwise control", e->id);
    }
    e->lanes = ds_pool_lanes(e->source.pool);
    e->episode = e->episode != NULL ? e->episode : calloc(e->lanes, sizeof *e->episode);
    e->step = e->step != NULL ? e->step : calloc(e->lanes, sizeof *e->step);
    e->named = e->named != NULL ? e->named : calloc(e->lanes, 1);
    return e->episode != NULL && e->step != NULL && e->named != NULL
               ? DS_OK
               : ds_environment_say(e, DS_E_NOMEM, "out of memory for episodes");
}

static ds_status check_action(ds_environment *e, const double *action, uint64_t row, uint64_t lane)
{
    const ds_pool_env *f = e->facts;
    uint64_t m = f->steps.n_act, first = e->episode[lane].steps * m;
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

/* The structs of a call, in our own size. */
typedef struct call {
    ds_step_rows rows;
    ds_step_results results;
} call;

static ds_status check_lane(ds_environment *e, const call *c, uint64_t k, int stepping)
{
    const uint64_t lane = c->rows.lane[k];
    if (lane >= e->lanes || e->named[lane]) {
        return ds_environment_say(e, DS_E_ARG, "row %llu: lane %llu is not below %llu, or named twice",
                                  (unsigned long long)k, (unsigned long long)lane,
                                  (unsigned long long)e->lanes);
    }
    e->named[lane] = 1;
    if (stepping && !e->episode[lane].open) {
        return ds_environment_say(e, DS_E_STATE, "row %llu: lane %llu holds no open episode; reset it",
                                  (unsigned long long)k, (unsigned long long)lane);
    }
    return stepping ? check_action(e, c->rows.action + k * e->facts->steps.n_act, k, lane) : DS_OK;
}

/* Are these rows that can be begun or stepped? */
static ds_status check_rows(ds_environment *e, const call *c, int stepping)
{
    const ds_step_results *r = &c->results;
    ds_status status = DS_OK;
    if (c->rows.count < 1 || c->rows.count > e->lanes || c->rows.lane == NULL || r->obs == NULL ||
        (stepping && (c->rows.action == NULL || r->reward == NULL || r->ended == NULL || r->loss == NULL))) {
        return ds_environment_say(e, DS_E_ARG, "no rows, more rows than lanes, or a buffer is NULL");
    }
    for (uint64_t k = 0; k < c->rows.count && status == DS_OK; k++) {
        status = check_lane(e, c, k, stepping);
    }
    memset(e->named, 0, e->lanes);
    return status;
}

/* Both kinds of calls begin like this. */
static ds_status prepare(ds_environment *e, const ds_step_rows *rows, const ds_step_results *results,
                         uint64_t *done, int stepping, call *c)
{
    ds_error why = {0, "rows or results is NULL"};
    if (e == NULL) {
        return DS_E_ARG;
    }
    e->message[0] = '\0';
    if (done != NULL) {
        *done = 0;
    }
    if (rows == NULL || results == NULL ||
        DS_SIZED_READ(&c->rows, rows, DS_STEP_ROWS_SIZE_1_0, "", "the rows", &why) != 0 ||
        DS_SIZED_READ(&c->results, results, DS_STEP_RESULTS_SIZE_1_0, "", "the results", &why) != 0) {
        return ds_environment_say(e, DS_E_ARG, "%s", why.text);
    }
    ds_status status = open_lanes(e);
    return status != DS_OK ? status : check_rows(e, c, stepping);
}

/* Sends the rows in e->step to the lanes. */
static ds_status play(ds_environment *e, const call *c)
{
    ds_error error = {0, ""};
    for (uint64_t k = 0; k < c->rows.count; k++) {
        const uint64_t lane = c->rows.lane[k];
        const ds_open_episode *ep = &e->episode[lane];
        e->step[k] =
            (ds_lane_step){.lane = lane, .key = ep->key, .step = ep->steps, .x = ep->x, .obs = ep->obs};
    }
    return ds_environment_outcome(e, ds_pool_step(e->source.pool, c->rows.count, e->step, &error), &error);
}

/* The first failure of a call is its message. */
static void note(ds_environment *e, const ds_answer *a)
{
    if (a->outcome != DS_EVAL_OK && e->message[0] == '\0') {
        ds_environment_say(e, DS_OK, "%s", a->message[0] != '\0' ? a->message : ds_outcome_name(a->outcome));
    }
}

DS_EXPORT ds_status ds_environment_reset(ds_environment *e, const ds_step_rows *rows,
                                         const ds_step_results *results, uint64_t *done)
{
    DS_LOCALE_C_HERE;
    call c;
    ds_status status = prepare(e, rows, results, done, 0, &c);
    if (status != DS_OK) {
        return status;
    }
    uint64_t n = e->facts->info.n, n_obs = e->facts->steps.n_obs;
    for (uint64_t k = 0; k < c.rows.count; k++) {
        ds_open_episode *ep = &e->episode[c.rows.lane[k]];
        ep->open = 0;
        ep->steps = 0;
        ep->key = c.rows.noise_key != NULL ? c.rows.noise_key[k] : 0;
        ep->x = ep->x != NULL ? ep->x : calloc(n + n_obs, sizeof *ep->x);
        if (ep->x == NULL) {
            return ds_environment_say(e, DS_E_NOMEM, "out of memory for an episode");
        }
        ep->obs = ep->x + n;
        memset(ep->obs, 0, n_obs * sizeof *ep->obs);
    }
    status = play(e, &c);
    for (uint64_t k = 0; status == DS_OK && k < c.rows.count; k++) {
        ds_open_episode *ep = &e->episode[c.rows.lane[k]];
        const ds_answer *a = &e->step[k].answer;
        ep->open = a->outcome == DS_EVAL_OK;
        memcpy(c.results.obs + k * n_obs, ep->obs, n_obs * sizeof *ep->obs);
        if (c.results.outcome != NULL) {
            c.results.outcome[k] = a->outcome;
        }
        if (c.results.cost_steps != NULL) {
            c.results.cost_steps[k] = a->cost_steps;
        }
        note(e, a);
    }
    if (done != NULL) {
        *done = status == DS_OK ? c.rows.count : 0;
    }
    return status;
}

/* What a step gave goes to row k. */
static void take_step(ds_environment *e, const call *c, uint64_t k)
{
    ds_open_episode *ep = &e->episode[c->rows.lane[k]];
    const ds_lane_step *out = &e->step[k];
    const ds_step_results *r = &c->results;
    uint64_t n_obs = e->facts->steps.n_obs;
    int failed = out->answer.outcome != DS_EVAL_OK;
    memcpy(r->obs + k * n_obs, ep->obs, n_obs * sizeof *ep->obs);
    r->reward[k] = failed ? 0.0 : out->reward;
    r->ended[k] = failed ? DS_STEPS_TERMINATED : out->ended;
    r->loss[k] = failed ? (double)INFINITY : out->ended != 0 ? out->answer.loss : 0.0;
    if (r->outcome != NULL) {
        r->outcome[k] = out->answer.outcome;
    }
    if (r->cost_steps != NULL) {
        r->cost_steps[k] = out->answer.cost_steps;
    }
    ep->open = r->ended[k] == DS_STEPS_CONTINUES;
    note(e, &out->answer);
}

DS_EXPORT ds_status ds_environment_step(ds_environment *e, const ds_step_rows *rows,
                                        const ds_step_results *results, uint64_t *done)
{
    DS_LOCALE_C_HERE;
    call c;
    ds_status status = prepare(e, rows, results, done, 1, &c);
    if (status != DS_OK) {
        return status;
    }
    uint64_t m = e->facts->steps.n_act;
    for (uint64_t k = 0; k < c.rows.count; k++) {
        ds_open_episode *ep = &e->episode[c.rows.lane[k]];
        memcpy(ep->x + ep->steps * m, c.rows.action + k * m, m * sizeof *ep->x);
        ep->steps++;
    }
    status = play(e, &c);
    for (uint64_t k = 0; status == DS_OK && k < c.rows.count; k++) {
        take_step(e, &c, k);
    }
    if (done != NULL) {
        *done = status == DS_OK ? c.rows.count : 0;
    }
    return status;
}
