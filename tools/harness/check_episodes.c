/* SPDX-License-Identifier: Apache-2.0 */
/* check_episodes.c - the small problems as episodes, for optimizers that use stepwise control. Each step sets
 * one or two variables, later ones stay at the start point, and the reward is the decrease of the loss. */
#include "config.h"

#include "harness/check_watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plugin_memory.h"
#include "base/text.h"

enum { LANES = 64, N_OBS = 2 };

/* The structs of a call, converted to our size. */
typedef struct call {
    ds_step_rows rows;
    ds_step_results results;
} call;

typedef struct back_call {
    ds_back_rows rows;
    ds_back_results results;
} back_call;

typedef struct lane {
    int open;
    uint32_t ended; /* DS_STEPS_*: how the last episode in this lane ended */
    uint64_t t;
    double loss; /* with the variables set so far */
    double x[DS_CHECK_MAX_N];
    /* For a backward sweep: the last step covered (UINT64_MAX = none), and the adjoints of the variables and
     * of the loss before it. */
    uint64_t back;
    double x_bar[DS_CHECK_MAX_N], loss_bar;
    int held, failed;
} lane;

typedef struct ds_check_episodes {
    ds_objective_steps table;
    ds_objective_steps_gradient gradients;
    ds_steps_info info;
    uint64_t open;
    lane lane[LANES];
} ds_check_episodes;

/* Reports a row whose lane is in the wrong state. */
static void wrong_lane(ds_check_watch *w, uint64_t row, uint64_t at, int twice)
{
    const ds_check_episodes *s = w->episodes;
    uint32_t ended = at < LANES ? s->lane[at].ended : DS_STEPS_CONTINUES;
    ds_check_breach(w, "row %llu: lane %llu is %s", (unsigned long long)row, (unsigned long long)at,
                    at >= LANES                    ? "out of range"
                    : twice                        ? "named twice"
                    : s->lane[at].open             ? "in use by an open episode"
                    : ended == DS_STEPS_TRUNCATED  ? "without an episode: the last one was truncated"
                    : ended == DS_STEPS_TERMINATED ? "without an episode: the last one has terminated"
                                                   : "without an episode");
    if (at < LANES && ended != DS_STEPS_CONTINUES) {
        ds_check_advise(w, "an episode is over, and its lane free, once `ended` is not DS_STEPS_CONTINUES: "
                           "terminated or truncated");
    }
}

/* Do the rows keep the contract? */
static int sound_rows(ds_check_watch *w, const call *c, int stepping)
{
    const ds_step_rows *r = &c->rows;
    const ds_step_results *out = &c->results;
    const ds_check_episodes *s = w->episodes;
    uint64_t seen = 0;
    if (r->count < 1 || r->count > LANES || r->lane == NULL || out->obs == NULL ||
        (stepping && (r->action == NULL || out->reward == NULL || out->ended == NULL || out->loss == NULL))) {
        ds_check_breach(w, "a call for episodes without lanes or without room for results");
        return 0;
    }
    for (uint64_t k = 0; k < r->count; k++) {
        uint64_t at = r->lane[k];
        int twice = at < LANES && (seen >> at & 1) != 0;
        if (at >= LANES || twice || (s->lane[at].open != 0) != stepping) {
            wrong_lane(w, k, at, twice);
            return 0;
        }
        seen |= (uint64_t)1 << at;
    }
    return 1;
}

static int sound_actions(ds_check_watch *w, const ds_step_rows *r)
{
    const ds_check_episodes *s = w->episodes;
    uint64_t m = s->info.n_act;
    for (uint64_t k = 0; k < r->count; k++) {
        for (uint64_t i = 0; i < m; i++) {
            uint64_t variable = s->lane[r->lane[k]].t * m + i;
            double a = r->action[k * m + i];
            if (!(a >= w->problem.lower[variable] && a <= w->problem.upper[variable])) {
                ds_check_breach(w, "episode %llu: action %s is outside of its bounds %s..%s",
                                (unsigned long long)w->s->used, DS_TEXT_OF(a),
                                DS_TEXT_OF(w->problem.lower[variable]),
                                DS_TEXT_OF(w->problem.upper[variable]));
                ds_check_advise(w, "an action has the bounds of its variables: clip it to them");
                return 0;
            }
        }
    }
    return 1;
}

/* The loss at x; variables of later steps are at the start point. */
static double value_of(const ds_check_search *s, const double *x)
{
    double chance = (double)(ds_check_hash_row(x, s->n, 77) >> 12) * 0x1p-52;
    if (s->failure == DS_CHECK_FAIL_HUGE) {
        return chance < 0.5 ? 1e300 : -1e300;
    }
    return ds_check_problem_value(s->function, s->n, x, NULL);
}

static void observe(const ds_check_episodes *s, const lane *l, double *obs)
{
    obs[0] = l->t > 0 ? l->x[l->t * s->info.n_act - 1] : 0.0;
    obs[1] = fmin(fmax(l->loss, -1e6), 1e6);
}

static void read_rows(ds_check_watch *w, const ds_step_rows *rows, const ds_step_results *results,
                      const uint64_t *done, int stepping, call *c)
{
    ds_error why = {0, "rows, results or done of a call for episodes is NULL"};
    if (rows == NULL || results == NULL || done == NULL ||
        DS_SIZED_READ(&c->rows, rows, DS_STEP_ROWS_SIZE_1_0, "", "the rows of episodes", &why) != 0 ||
        DS_SIZED_READ(&c->results, results, DS_STEP_RESULTS_SIZE_1_0, "", "the results of episodes", &why) !=
            0) {
        ds_check_breach(w, "%s", why.text);
        longjmp(w->cut, 2);
    }
    if (!sound_rows(w, c, stepping) || (stepping && !sound_actions(w, &c->rows))) {
        longjmp(w->cut, 2);
    }
}

static ds_status episodes_begin(const ds_objective *objective, const ds_step_rows *rows,
                                const ds_label *label, const ds_step_results *results, uint64_t *done)
{
    call c;
    ds_check_watch *w = objective->ctx;
    ds_check_search *s = w->s;
    ds_check_episodes *e = w->episodes;
    uint64_t limit = s->stop_after > 0 ? s->stop_after : s->budget;
    (void)label;
    if (done != NULL) {
        *done = 0;
    }
    if (w->stopped) {
        return ds_check_called_after(w);
    }
    read_rows(w, rows, results, done, 0, &c);
    /* Running out of time ends a search like a budget, namely the episodes begun so far: a repetition with
     * this budget then ends at the same place, between episodes. */
    if (ds_check_time_is_up(w) && s->used + e->open < limit) {
        limit = s->stop_after = s->used + e->open;
    }
    if (ds_check_is_hurried(w) || (e->open == 0 && s->used >= limit)) {
        return ds_check_watch_stop(w);
    }
    for (uint64_t k = 0; k < c.rows.count && s->used + e->open < limit; k++) {
        lane *l = &e->lane[c.rows.lane[k]];
        l->open = l->held = 1;
        l->failed = 0;
        l->back = UINT64_MAX;
        l->ended = DS_STEPS_CONTINUES;
        l->t = 0;
        memcpy(l->x, w->problem.x0, s->n * sizeof l->x[0]);
        l->loss = value_of(s, l->x);
        observe(e, l, c.results.obs + k * N_OBS);
        e->open++;
        s->wanted_episodes++;
        ++*done;
    }
    return DS_OK;
}

/* Failing episodes fail in their first or last step. */
static int fails(const ds_check_watch *w, const lane *l)
{
    const ds_check_search *s = w->s;
    int last = l->t == w->episodes->info.horizon;
    double chance = (double)(ds_check_hash_row(l->x, s->n, 77) >> 12) * 0x1p-52;
    return s->failure == DS_CHECK_FAIL_ALL ? last || chance < 0.3
                                           : s->failure == DS_CHECK_FAIL_SOME && last && chance < 0.3;
}

/* How this step ends an episode that has not failed. */
static uint32_t end_of(const ds_check_watch *w, const lane *l)
{
    const ds_check_search *s = w->s;
    double chance = (double)(ds_check_hash_row(l->x, s->n, 78) >> 12) * 0x1p-52;
    return s->early_ends && chance < 0.15     ? DS_STEPS_TERMINATED
           : l->t < w->episodes->info.horizon ? DS_STEPS_CONTINUES
           : s->time_limit                    ? DS_STEPS_TRUNCATED
                                              : DS_STEPS_TERMINATED;
}

static void step_row(ds_check_watch *w, const call *c, uint64_t k)
{
    const ds_step_rows *rows = &c->rows;
    const ds_step_results *r = &c->results;
    ds_check_search *s = w->s;
    ds_check_episodes *e = w->episodes;
    lane *l = &e->lane[rows->lane[k]];
    uint64_t m = e->info.n_act;
    double before = l->loss;
    memcpy(l->x + l->t * m, rows->action + k * m, m * sizeof l->x[0]);
    l->t++;
    l->back = UINT64_MAX;
    l->loss = value_of(s, l->x);
    int failed = l->failed = fails(w, l);
    l->ended = failed ? DS_STEPS_TERMINATED : end_of(w, l);
    int over = l->ended != DS_STEPS_CONTINUES;
    observe(e, l, r->obs + k * N_OBS);
    r->reward[k] = failed ? 0.0 : before - l->loss;
    r->ended[k] = l->ended;
    r->loss[k] = failed ? (double)INFINITY : over ? l->loss : 0.0;
    if (r->outcome != NULL) {
        r->outcome[k] = failed ? DS_EVAL_DIVERGED : DS_EVAL_OK;
    }
    if (r->cost_steps != NULL) {
        r->cost_steps[k] = 1;
    }
    if (over) {
        l->open = 0;
        e->open--;
        s->trace[s->used++] = ds_check_hash_row(l->x, s->n, 0);
        s->terminated += !failed && l->ended == DS_STEPS_TERMINATED;
        s->truncated += l->ended == DS_STEPS_TRUNCATED;
        s->best = failed ? s->best : fmin(s->best, l->loss);
    }
}

static ds_status episodes_step(const ds_objective *objective, const ds_step_rows *rows,
                               const ds_step_results *results, uint64_t *done)
{
    ds_check_watch *w = objective->ctx;
    call c;
    if (done != NULL) {
        *done = 0;
    }
    if (w->stopped) {
        return ds_check_called_after(w);
    }
    read_rows(w, rows, results, done, 1, &c);
    if (ds_check_is_hurried(w)) {
        return ds_check_watch_stop(w);
    }
    for (uint64_t k = 0; k < c.rows.count; k++) {
        step_row(w, &c, k);
    }
    *done = c.rows.count;
    return DS_OK;
}

/* ---- backward sweeps ---- */

static int sound_back(ds_check_watch *w, const back_call *c)
{
    const ds_back_rows *r = &c->rows;
    const ds_check_episodes *e = w->episodes;
    uint64_t seen = 0;
    if (r->count < 1 || r->count > LANES || r->lane == NULL || r->step == NULL || r->reward_bar == NULL ||
        r->obs_bar == NULL || c->results.action_bar == NULL || c->results.outcome == NULL) {
        ds_check_breach(w, "a backward call without lanes or without room for results");
        return 0;
    }
    for (uint64_t k = 0; k < r->count; k++) {
        const uint64_t at = r->lane[k], step = r->step[k];
        const lane *l = at < LANES ? &e->lane[at] : NULL;
        if (l == NULL || (seen >> at & 1) != 0 || !l->held || l->t == 0 ||
            (step != l->t - 1 && (l->back == UINT64_MAX || step + 1 != l->back))) {
            ds_check_breach(w, "row %llu: lane %llu cannot go back over step %llu", (unsigned long long)k,
                            (unsigned long long)at, (unsigned long long)step);
            ds_check_advise(w, "a sweep begins at the last step taken and goes back one step per call");
            return 0;
        }
        seen |= (uint64_t)1 << at;
        if (!isfinite(r->reward_bar[k]) || !isfinite(r->obs_bar[k * N_OBS]) ||
            !isfinite(r->obs_bar[k * N_OBS + 1])) {
            ds_check_breach(w, "row %llu: an adjoint is not finite", (unsigned long long)k);
            return 0;
        }
    }
    return 1;
}

/* The reward of a step is the loss before it minus the loss after it, each with later variables at the start
 * point. */
static void back_row(ds_check_watch *w, const back_call *c, uint64_t k)
{
    const ds_back_rows *r = &c->rows;
    const ds_back_results *out = &c->results;
    const ds_check_search *s = w->s;
    ds_check_episodes *e = w->episodes;
    lane *l = &e->lane[r->lane[k]];
    const uint64_t m = e->info.n_act, set = (r->step[k] + 1) * m;
    const double *obs_bar = r->obs_bar + k * N_OBS;
    double x[DS_CHECK_MAX_N], g[DS_CHECK_MAX_N] = {0};
    if (r->step[k] + 1 == l->t) {
        memset(l->x_bar, 0, sizeof l->x_bar);
        l->loss_bar = 0.0;
    }
    l->back = r->step[k];
    memcpy(x, w->problem.x0, s->n * sizeof x[0]);
    memcpy(x, l->x, set * sizeof x[0]);
    double loss = s->failure == DS_CHECK_FAIL_HUGE ? 0.0 : ds_check_problem_value(s->function, s->n, x, g);
    double bar = l->loss_bar - r->reward_bar[k] + (fabs(loss) <= 1e6 ? obs_bar[1] : 0.0);
    for (uint64_t i = 0; i < set; i++) {
        l->x_bar[i] += bar * g[i];
    }
    l->x_bar[set - 1] += obs_bar[0];
    l->loss_bar = r->reward_bar[k];
    uint32_t outcome = l->failed ? DS_EVAL_DIVERGED : DS_EVAL_OK;
    for (uint64_t i = 0; i < m; i++) {
        double v = l->x_bar[set - m + i];
        outcome = outcome == DS_EVAL_OK && !isfinite(v) ? DS_EVAL_BAD_GRAD : outcome;
        out->action_bar[k * m + i] = v;
    }
    if (outcome != DS_EVAL_OK) {
        memset(out->action_bar + k * m, 0, m * sizeof(double));
    }
    out->outcome[k] = outcome;
    if (out->cost_steps != NULL) {
        out->cost_steps[k] = 1;
    }
}

static ds_status episodes_back(const ds_objective *objective, const ds_back_rows *rows,
                               const ds_back_results *results, uint64_t *done)
{
    ds_check_watch *w = objective->ctx;
    back_call c;
    ds_error why = {0, "rows, results or done of a backward call is NULL"};
    if (done != NULL) {
        *done = 0;
    }
    if (w->stopped) {
        return ds_check_called_after(w);
    }
    if (rows == NULL || results == NULL || done == NULL ||
        DS_SIZED_READ(&c.rows, rows, DS_BACK_ROWS_SIZE_1_0, "", "the rows of a backward call", &why) != 0 ||
        DS_SIZED_READ(&c.results, results, DS_BACK_RESULTS_SIZE_1_0, "", "the results of a backward call",
                      &why) != 0) {
        ds_check_breach(w, "%s", why.text);
        longjmp(w->cut, 2);
    }
    if (!sound_back(w, &c)) {
        longjmp(w->cut, 2);
    }
    if (ds_check_is_hurried(w)) {
        return ds_check_watch_stop(w);
    }
    for (uint64_t k = 0; k < c.rows.count; k++) {
        back_row(w, &c, k);
    }
    *done = c.rows.count;
    return DS_OK;
}

const ds_objective_steps_gradient *ds_check_episode_gradients_of(ds_check_watch *w)
{
    if (ds_check_episodes_of(w) == NULL) {
        return NULL;
    }
    w->episodes->gradients =
        (ds_objective_steps_gradient){.struct_size = sizeof w->episodes->gradients, .back = episodes_back};
    return &w->episodes->gradients;
}

const ds_objective_steps *ds_check_episodes_of(ds_check_watch *w)
{
    if (w->episodes == NULL) {
        ds_check_episodes *s = calloc(1, sizeof *s);
        if (s == NULL) {
            return NULL;
        }
        uint64_t m = w->s->n > 2 && w->s->n % 2 == 0 ? 2 : 1;
        s->info = (ds_steps_info){.struct_size = sizeof s->info,
                                  .flags = w->s->time_limit ? DS_STEPS_TIME_LIMIT : 0,
                                  .horizon = w->s->n / m,
                                  .n_act = m,
                                  .n_obs = N_OBS};
        s->table = (ds_objective_steps){sizeof s->table, 0, &s->info, LANES, episodes_begin, episodes_step};
        w->episodes = s;
    }
    return &w->episodes->table;
}
