/* SPDX-License-Identifier: Apache-2.0 */
/* episodes_back.c - derivatives of stepwise control for the optimizer of a run
 * (diffsim/ext/draft/steps_gradient.h). The last episode of each lane is kept with the adjoints of its sweep:
 * where no worker has it in hand, because it comes from the record or its worker has died, its steps and its
 * sweep are made again. */
#include "config.h"

#include "run/episodes_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/text.h"

enum { TRIES = 3 }; /* of a sweep whose worker dies each time */

void ds_episodes_keep(ds_run_episodes *s, episode *ep)
{
    episode *before = s->kept[ep->lane];
    if (s->keeps) {
        s->kept[ep->lane] = ep;
    }
    if (before != NULL && before->recorded) {
        ds_episode_discard(before);
    }
}

void ds_episodes_forget(ds_run_episodes *s)
{
    for (size_t i = 0; i < s->lanes; i++) {
        if (s->kept[i] != NULL && s->kept[i]->recorded) {
            ds_episode_discard(s->kept[i]);
        }
        s->kept[i] = NULL;
    }
}

/* ---- the contract ---- */

ds_status ds_episodes_check_lanes(const ds_client *c, const char *function, const uint64_t *lane,
                                  uint64_t count)
{
    ds_run_episodes *s = c->episodes;
    uint64_t good = 0;
    while (good < count && lane[good] < s->lanes && !s->named[lane[good]]) {
        s->named[lane[good++]] = 1;
    }
    for (uint64_t k = 0; k < good; k++) {
        s->named[lane[k]] = 0;
    }
    return good == count ? DS_OK : ds_episodes_refuse(c, function, "a lane is out of range, or named twice");
}

static ds_status refuse(const ds_client *c, const char *text)
{
    return ds_episodes_refuse(c, "back", text);
}

static ds_status check_row(const ds_client *c, const ds_back_rows *r, uint64_t k)
{
    const ds_run_episodes *s = c->episodes;
    const uint64_t n_obs = s->info.n_obs, at = r->step[k];
    const episode *ep = s->kept[r->lane[k]];
    char text[200];
    if (ep == NULL) {
        return refuse(c, "a lane has held no episode since the extension was asked for");
    }
    if (ep->t == 0 || (at != ep->t - 1 && (ep->back == UINT64_MAX || at + 1 != ep->back))) {
        snprintf(
            text, sizeof(text),
            "row %llu: step %llu is neither the last one taken, of %llu, nor the one before that of the call "
            "before",
            (unsigned long long)k, (unsigned long long)at, (unsigned long long)ep->t);
        return refuse(c, text);
    }
    return isfinite(r->reward_bar[k]) && ds_all_finite(r->obs_bar + k * n_obs, n_obs)
               ? DS_OK
               : refuse(c, "an adjoint is not finite");
}

/* The structs of a call, in our own size. */
typedef struct call {
    ds_back_rows rows;
    ds_back_results results;
} call;

/* What the optimizer has passed. */
typedef struct passed {
    const ds_back_rows *rows;
    const ds_back_results *results;
    uint64_t *done;
} passed;

static ds_status read_rows(const ds_client *c, const passed *p, call *into)
{
    ds_error why = {0, "rows, results or done is NULL"};
    const ds_back_rows *r = &into->rows;
    if (p->rows == NULL || p->results == NULL || p->done == NULL ||
        DS_SIZED_READ(&into->rows, p->rows, DS_BACK_ROWS_SIZE_1_0, "", "the rows", &why) != 0 ||
        DS_SIZED_READ(&into->results, p->results, DS_BACK_RESULTS_SIZE_1_0, "", "the results", &why) != 0) {
        return refuse(c, why.text);
    }
    if (r->count < 1 || r->count > c->episodes->lanes || r->lane == NULL || r->step == NULL ||
        r->reward_bar == NULL || r->obs_bar == NULL || into->results.action_bar == NULL ||
        into->results.outcome == NULL) {
        return refuse(c, "no rows, more rows than lanes, or a buffer is NULL");
    }
    ds_status st = ds_episodes_check_lanes(c, "back", r->lane, r->count);
    for (uint64_t k = 0; st == DS_OK && k < r->count; k++) {
        st = check_row(c, r, k);
    }
    return st;
}

/* ---- where a worker does not have it in hand ---- */

static int is_near(double now, double then)
{
    return now == then || fabs(now - then) <= 1e-9 * fmax(fabs(now), fabs(then));
}

/* Is what a recorded episode gives now what it gave then? */
static int compare(const ds_client *c, const episode *ep, const double *obs, const ds_lane_step *out)
{
    const ds_run_episodes *s = c->episodes;
    const double *then = ep->obs + ep->t * s->info.n_obs;
    int same = out->answer.outcome == DS_EVAL_OK && is_near(out->reward, ep->reward[ep->t - 1]) &&
               (!ep->over || is_near(out->answer.loss, ep->answer.loss));
    for (uint64_t i = 0; same && i < s->info.n_obs; i++) {
        same = is_near(obs[i], then[i]);
    }
    if (ds_journal_worker_lost(&out->answer)) {
        return ds_journal_not_repeated(ds_store_path(c->journal->store), ep->id, &out->answer,
                                       &c->journal->error);
    }
    return same ? 0
                : ds_fail(
                      &c->journal->error, DS_EXIT_PLUGIN,
                      "%s: evaluation %llu, step %llu: the environment now answers the recorded actions in "
                      "another way (%s): it is not the version that made this run, or not deterministic; "
                      "nothing was changed",
                      ds_store_path(c->journal->store), (unsigned long long)ep->id, (unsigned long long)ep->t,
                      out->answer.outcome == DS_EVAL_OK ? "reward, loss or observation"
                                                        : ds_outcome_name(out->answer.outcome));
}

/* Brings an episode to its step in a worker. */
static int bring(ds_client *c, episode *ep)
{
    ds_run_episodes *s = c->episodes;
    ds_lane_step step;
    int rc = 0, tries = 0;
    do { /* a worker that died is tried once more: that may have been for want of memory */
        step = (ds_lane_step){.lane = ep->lane, .key = ep->key, .x = ep->x, .obs = s->seen};
        rc = ds_pool_step(c->journal->pool, 1, &step, &c->journal->error);
        step.step = ep->t;
        rc = rc != 0 ? rc : ds_pool_step(c->journal->pool, 1, &step, &c->journal->error);
    } while (rc == 0 && ep->stored && ds_journal_worker_lost(&step.answer) && ++tries < 2);
    rc = rc == 0 && ep->stored ? compare(c, ep, s->seen, &step) : rc;
    ep->present = ep->t;
    return rc;
}

static ds_lane_back ask_of(const ds_run_episodes *s, const episode *ep, uint64_t step, double *action_bar)
{
    const double *bars = ep->bars + step * (1 + s->info.n_obs);
    return (ds_lane_back){.lane = ep->lane,
                          .key = ep->key,
                          .taken = ep->t,
                          .step = step,
                          .reward_bar = bars[0],
                          .obs_bar = bars + 1,
                          .action_bar = action_bar};
}

/* Makes a sweep again from its beginning to where it is. */
static int sweep_again(ds_client *c, episode *ep, ds_lane_back *b)
{
    ds_run_episodes *s = c->episodes;
    const uint64_t at = b->step;
    double *action_bar = b->action_bar;
    int rc = 0;
    for (int i = 0; rc == 0 && b->lost && i < TRIES; i++) {
        rc = bring(c, ep);
        for (uint64_t t = ep->t; rc == 0 && t-- > at;) {
            *b = ask_of(s, ep, t, action_bar);
            rc = ds_pool_back(c->journal->pool, 1, b, &c->journal->error);
            if (b->lost || b->answer.outcome != DS_EVAL_OK) {
                break;
            }
        }
    }
    if (rc == 0 && b->lost) {
        ds_answer_fail(&b->answer, DS_EVAL_CRASHED, "the process of this lane died several times");
    }
    return rc;
}

/* ---- a step backwards ---- */

/* The row has no derivatives. */
static void fail_row(const ds_run_episodes *s, const ds_back_results *r, uint64_t k, uint32_t outcome)
{
    r->outcome[k] = outcome;
    memset(r->action_bar + k * s->info.n_act, 0, s->info.n_act * sizeof(double));
}

/* Goes back in the rows row[0 .. count - 1], whose asks are in s->back. */
static int ask_workers(ds_client *c, const call *r, const uint64_t *row, uint64_t count)
{
    ds_run_episodes *s = c->episodes;
    int rc = 0;
    ds_module_end(c->optimizer);
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        episode *ep = s->kept[r->rows.lane[row[i]]];
        if (ep->stored && ep->present != ep->t) {
            rc = bring(c, ep);
        }
    }
    rc = rc == 0 && count > 0 ? ds_pool_back(c->journal->pool, count, s->back, &c->journal->error) : rc;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        episode *ep = s->kept[r->rows.lane[row[i]]];
        if (r->results.cost_steps != NULL) {
            r->results.cost_steps[row[i]] = s->back[i].answer.cost_steps;
        }
        rc = s->back[i].lost ? sweep_again(c, ep, &s->back[i]) : 0;
        ep->back_fail = s->back[i].answer.outcome;
        if (rc == 0 && ep->back_fail != DS_EVAL_OK) {
            fail_row(s, &r->results, row[i], ep->back_fail);
        }
    }
    ds_module_begin(c->optimizer);
    return rc;
}

static int go_back(ds_client *c, const call *of)
{
    ds_run_episodes *s = c->episodes;
    const ds_back_rows *r = &of->rows;
    const uint64_t n_obs = s->info.n_obs, m = s->info.n_act;
    uint64_t count = 0;
    for (uint64_t k = 0; k < r->count; k++) {
        episode *ep = s->kept[r->lane[k]];
        const uint64_t at = r->step[k];
        ep->back_fail = at == ep->t - 1 ? DS_EVAL_OK : ep->back_fail;
        ep->back = at;
        of->results.outcome[k] = DS_EVAL_OK;
        if (of->results.cost_steps != NULL) {
            of->results.cost_steps[k] = 0;
        }
        if (ep->bars == NULL && (ep->bars = malloc(s->info.horizon * (1 + n_obs) * sizeof(double))) == NULL) {
            return ds_no_memory(&c->journal->error);
        }
        ep->bars[at * (1 + n_obs)] = r->reward_bar[k];
        memcpy(ep->bars + at * (1 + n_obs) + 1, r->obs_bar + k * n_obs, n_obs * sizeof(double));
        if (ep->over && ep->answer.outcome != DS_EVAL_OK) {
            ep->back_fail = ep->answer.outcome;
        }
        if (ep->back_fail != DS_EVAL_OK) {
            fail_row(s, &of->results, k, ep->back_fail);
            continue;
        }
        s->back[count] = ask_of(s, ep, at, of->results.action_bar + k * m);
        s->row[count++] = k;
    }
    return ask_workers(c, of, s->row, count);
}

static ds_status back_rows(ds_client *c, void *argument)
{
    const passed *p = argument;
    call own;
    if (p->done != NULL) {
        *p->done = 0;
    }
    if (ds_client_over(c)) {
        return DS_STOPPED;
    }
    ds_status st = read_rows(c, p, &own);
    if (st != DS_OK) {
        return st;
    }
    int rc = go_back(c, &own);
    if (rc != 0) {
        return ds_journal_stop(c->journal, rc);
    }
    *p->done = own.rows.count;
    return DS_OK;
}

static ds_status back(const ds_objective *objective, const ds_back_rows *rows, const ds_back_results *results,
                      uint64_t *done)
{
    passed p = {rows, results, done};
    return ds_client_guard(objective, back_rows, &p);
}

const ds_objective_steps_gradient *ds_episodes_gradients(ds_client *c)
{
    ds_run_episodes *s = c->episodes;
    s->back = s->back != NULL ? s->back : calloc(s->lanes, sizeof(*s->back));
    s->seen = s->seen != NULL ? s->seen : calloc(s->info.n_obs, sizeof(double));
    if (s->back == NULL || s->seen == NULL) {
        return NULL;
    }
    s->keeps = 1;
    s->gradients = (ds_objective_steps_gradient){.struct_size = sizeof(s->gradients), .back = back};
    return &s->gradients;
}
