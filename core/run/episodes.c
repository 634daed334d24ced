/* SPDX-License-Identifier: Apache-2.0 */
/* episodes.c - stepwise control for the optimizer of a run. Episodes (diffsim/ext/steps.h) are numbered in
 * the order in which they begin and recorded in that order, one row each: a finished episode waits for those
 * that began before it. On resume, the first episodes are answered from the store while the optimizer takes
 * the same actions. */
#include "config.h"

#include "base/plugin_memory.h"
#include "base/text.h"
#include "run/objective.h"

#include <diffsim/ext/draft/steps_gradient.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An episode that is not recorded yet, or that is kept for derivatives. */
typedef struct episode {
    struct episode *next; /* in the order of their numbers */
    uint64_t id, lane, key;
    uint64_t t; /* steps taken */
    int over;   /* finished, waits to be recorded */
    int stored; /* answered from the store, which holds `steps` steps */
    uint64_t steps;
    uint32_t ended;   /* DS_STEPS_*: of the last step, or of the end of a stored one */
    ds_answer answer; /* of the episode */
    double *x, *obs, *reward;
    uint64_t group;
    char tag[DS_MAX_TAG + 1];
    /* For derivatives: */
    int recorded;       /* recorded, and kept only for them */
    uint64_t present;   /* stored episode: steps that a worker has repeated; 0 = none */
    uint64_t back;      /* step that the sweep reached last; UINT64_MAX = no sweep */
    uint32_t back_fail; /* DS_EVAL_* of a failed sweep */
    double *bars;       /* adjoints of reward and observation for each step of the sweep */
} episode;

typedef struct ds_run_episodes {
    ds_objective_steps table;
    ds_objective_steps_gradient gradients;
    ds_steps_info info;
    uint64_t lanes;
    episode *first, *last;
    episode **lane; /* `lanes` of them, as in all arrays below */
    /* For one call: */
    unsigned char *named; /* lanes; zeros between calls */
    ds_lane_step *step;
    uint64_t *row;
    int warned;
    /* For derivatives: the last episode of each lane. */
    int keeps;
    episode **kept;
    ds_lane_back *back; /* of one call */
    double *seen;       /* n_obs values: the observation of a repeated episode */
} ds_run_episodes;

static ds_status refuse(const ds_client *c, const char *function, const char *text)
{
    char name[40];
    snprintf(name, sizeof(name), "%s() of episodes", function);
    return ds_journal_refuse(c->journal, name, text);
}

static void discard(episode *ep)
{
    if (ep != NULL) {
        free(ep->x);
        free(ep->bars);
        free(ep);
    }
}

/* Keeps an episode that begins in its lane, in place of the one kept before. */
static void keep(ds_run_episodes *s, episode *ep)
{
    episode *before = s->kept[ep->lane];
    if (s->keeps) {
        s->kept[ep->lane] = ep;
    }
    if (before != NULL && before->recorded) {
        discard(before);
    }
}

/* Discards recorded episodes; the others wait until they are recorded. */
static void forget(ds_run_episodes *s)
{
    for (size_t i = 0; i < s->lanes; i++) {
        if (s->kept[i] != NULL && s->kept[i]->recorded) {
            discard(s->kept[i]);
        }
        s->kept[i] = NULL;
    }
}

/* ---- the contract ---- */

/* Are `count` lanes in range and different? */
static ds_status check_lanes(const ds_client *c, const char *function, const uint64_t *lane, uint64_t count)
{
    ds_run_episodes *s = c->episodes;
    uint64_t good = 0;
    while (good < count && lane[good] < s->lanes && !s->named[lane[good]]) {
        s->named[lane[good++]] = 1;
    }
    for (uint64_t k = 0; k < good; k++) {
        s->named[lane[k]] = 0;
    }
    return good == count ? DS_OK : refuse(c, function, "a lane is out of range, or named twice");
}

/* The structs of a call, in our own size. */
typedef struct call {
    ds_step_rows rows;
    ds_label label;
    ds_step_results results;
} call;

/* The arguments of the optimizer. */
typedef struct passed {
    const ds_step_rows *rows;
    const ds_label *label;
    const ds_step_results *results;
    uint64_t *done;
} passed;

static ds_status check_held(const ds_client *c, const char *function, const call *r, int held)
{
    for (uint64_t k = 0; k < r->rows.count; k++) {
        if ((c->episodes->lane[r->rows.lane[k]] != NULL) != held) {
            return refuse(c, function, held ? "a lane holds no episode" : "a lane holds an open episode");
        }
    }
    return DS_OK;
}

/* Reads and checks the rows of a call. */
static ds_status read_rows(ds_client *c, const char *function, const passed *p, int stepping, call *r)
{
    ds_error why = {0, "rows, results or done is NULL"};
    r->label = (ds_label){.struct_size = sizeof r->label};
    if (p->rows == NULL || p->results == NULL || p->done == NULL ||
        DS_SIZED_READ(&r->rows, p->rows, DS_STEP_ROWS_SIZE_1_0, "", "the rows", &why) != 0 ||
        DS_SIZED_READ(&r->results, p->results, DS_STEP_RESULTS_SIZE_1_0, "", "the results", &why) != 0 ||
        (p->label != NULL &&
         DS_SIZED_READ(&r->label, p->label, DS_LABEL_SIZE_1_0, "", "the label", &why) != 0)) {
        return refuse(c, function, why.text);
    }
    const ds_step_results *out = &r->results;
    if (r->rows.count < 1 || r->rows.count > c->episodes->lanes || r->rows.lane == NULL || out->obs == NULL ||
        (stepping &&
         (r->rows.action == NULL || out->reward == NULL || out->ended == NULL || out->loss == NULL))) {
        return refuse(c, function, "no rows, more rows than lanes, or a buffer is NULL");
    }
    ds_status st = check_lanes(c, function, r->rows.lane, r->rows.count);
    return st == DS_OK ? check_held(c, function, r, stepping) : st;
}

static ds_status check_actions(ds_client *c, const ds_step_rows *r)
{
    const ds_run_episodes *s = c->episodes;
    uint64_t m = s->info.n_act;
    for (uint64_t k = 0; k < r->count; k++) {
        uint64_t first = s->lane[r->lane[k]]->t * m;
        for (uint64_t i = 0; i < m; i++) {
            double a = r->action[k * m + i], lower = c->problem.lower[first + i],
                   upper = c->problem.upper[first + i];
            if (!(a >= lower && a <= upper)) { /* also catches NaN */
                char text[300];
                snprintf(text, sizeof(text),
                         "row %llu, number %llu of the action is %s, outside of its bounds %s..%s",
                         (unsigned long long)k, (unsigned long long)i, DS_TEXT_OF(a), DS_TEXT_OF(lower),
                         DS_TEXT_OF(upper));
                return refuse(c, "step", text);
            }
        }
    }
    return DS_OK;
}

/* ---- the list ---- */

static episode *append(ds_client *c, uint64_t lane, const ds_label *label)
{
    ds_run_episodes *s = c->episodes;
    episode *ep = calloc(1, sizeof(*ep));
    uint64_t n = c->problem.n, obs = (s->info.horizon + 1) * s->info.n_obs;
    if (ep == NULL || (ep->x = calloc(n + obs + s->info.horizon, sizeof(double))) == NULL) {
        free(ep);
        return NULL;
    }
    ep->obs = ep->x + n;
    ep->reward = ep->obs + obs;
    ep->lane = lane;
    ep->back = UINT64_MAX;
    ep->id = c->journal->statistics.count + c->open + 1;
    ep->key = ds_pool_noise_key(c->journal->pool, ep->id, 0);
    ep->group = label->group;
    ep->answer.bad_step = -1;
    ds_journal_tag(ep->tag, label->tag);
    if (s->last != NULL) {
        s->last->next = ep;
    } else {
        s->first = ep;
    }
    s->last = s->lane[lane] = ep;
    keep(s, ep);
    c->open++;
    return ep;
}

/* How a stored episode ended. Records before 0.2 lack this: an end before the horizon was then a termination.
 */
static uint32_t stored_end(const ds_steps_info *info, const episode *ep, uint32_t recorded)
{
    int limit = (info->flags & DS_STEPS_TIME_LIMIT) != 0 && ep->steps == info->horizon;
    return ep->answer.outcome != DS_EVAL_OK ? DS_STEPS_TERMINATED
           : recorded != DS_STEPS_CONTINUES ? recorded
           : limit                          ? DS_STEPS_TRUNCATED
                                            : DS_STEPS_TERMINATED;
}

/* Takes the next row of the record for an episode that begins. */
static int take_stored(ds_client *c, episode *ep)
{
    const ds_run_episodes *s = c->episodes;
    ds_row row;
    uint32_t ended = DS_STEPS_CONTINUES;
    int rc = ds_replay_take(c->journal->replay, &row, &c->journal->error);
    rc = rc != 0 ? rc
                 : ds_store_read_episode(c->journal->store, row.id, s->info.horizon, s->info.n_obs,
                                         &ep->steps, &ended, ep->obs, ep->reward, &c->journal->error);
    if (rc == 0 && (ep->steps == 0 || row.id != ep->id)) {
        rc = ds_fail(&c->journal->error, DS_EXIT_PLUGIN,
                     "%s: at evaluation %llu the optimizer now begins an episode, the record has a single "
                     "evaluation: it is not the version that made this run; nothing was changed",
                     ds_store_path(c->journal->store), (unsigned long long)row.id);
    }
    if (rc == 0) {
        memcpy(ep->x, row.x, row.n * sizeof(double));
        ep->stored = 1;
        ep->answer = row.answer;
        ep->ended = stored_end(&s->info, ep, ended);
    }
    return rc;
}

/* ---- recording ---- */

/* The episode's part of a row, in one block that the recorder frees. */
static ds_row_episode *copy_episode(const ds_run_episodes *s, const episode *ep)
{
    size_t obs = (size_t)((ep->t + 1) * s->info.n_obs), reward = (size_t)ep->t;
    ds_row_episode *copy = malloc(sizeof(*copy) + (obs + reward) * sizeof(double));
    if (copy != NULL) {
        double *values = (double *)(void *)(copy + 1);
        memcpy(values, ep->obs, obs * sizeof(double));
        memcpy(values + obs, ep->reward, reward * sizeof(double));
        *copy = (ds_row_episode){.key = ep->key,
                                 .steps = ep->t,
                                 .n_obs = s->info.n_obs,
                                 .obs = values,
                                 .reward = values + obs,
                                 .ended = ep->ended};
    }
    return copy;
}

/* Records finished episodes until an older one is open. Returns nonzero where the run ends. */
static int flush(ds_client *c)
{
    ds_run_episodes *s = c->episodes;
    while (s->first != NULL && s->first->over && c->journal->end == DS_END_NONE) {
        episode *ep = s->first;
        uint64_t taken = ep->t * s->info.n_act, left = c->problem.n - taken;
        ds_row row = {.x = ep->x, .answer = ep->answer, .group = ep->group};
        memcpy(row.tag, ep->tag, sizeof(row.tag));
        if (!ep->stored) {
            memcpy(ep->x + taken, c->problem.x0 + taken, left * sizeof(double));
            row.episode = copy_episode(s, ep);
            if (row.episode == NULL) {
                ds_fail(&c->journal->error, DS_EXIT_MEMORY, "out of memory for the record of an episode");
                c->journal->end = DS_END_ERROR;
                return 1;
            }
        }
        s->first = ep->next;
        s->last = s->first == NULL ? NULL : s->last;
        c->open--;
        ds_journal_append(c->journal, &row, 0, ep->x, ep->stored);
        ep->recorded = 1;
        if (s->kept[ep->lane] != ep) {
            discard(ep);
        }
    }
    return c->journal->end != DS_END_NONE;
}

/* ---- begin ---- */

/* Sends the rows in s->step to the workers. */
static int query(ds_client *c, uint64_t count)
{
    ds_run_episodes *s = c->episodes;
    if (count == 0) {
        return atomic_load_explicit(c->journal->stop, memory_order_relaxed) != 0 ? DS_POOL_STOPPED : 0;
    }
    int rc = c->journal->recorder == NULL ? ds_journal_live(c->journal) : 0;
    if (rc == 0) {
        ds_module_end(c->optimizer);
        rc = ds_pool_step(c->journal->pool, count, s->step, &c->journal->error);
        ds_module_begin(c->optimizer);
    }
    return rc;
}

/* Adds a step to its episode. An episode that cannot begin fails with its first step. */
static void note(episode *ep, const ds_answer *now)
{
    ds_answer before = ep->answer;
    ep->answer = *now;
    ep->answer.wall_s += before.wall_s;
    ep->answer.cost_steps = ds_cost_sum(ep->answer.cost_steps, before.cost_steps);
}

static ds_status begin_rows(ds_client *c, void *argument)
{
    const passed *p = argument;
    ds_run_episodes *s = c->episodes;
    call own, *r = &own;
    if (p->done != NULL) {
        *p->done = 0;
    }
    if (ds_client_over(c)) {
        return DS_STOPPED;
    }
    ds_status st = read_rows(c, "begin", p, 0, r);
    if (st != DS_OK) {
        return st;
    }
    const uint64_t count = r->rows.count;
    uint64_t room = ds_journal_limit(c->journal) - c->journal->statistics.count - c->open, live = 0;
    uint64_t begun = count < room ? count : room;
    if (begun < count && c->open + begun > 0 && ds_journal_limit(c->journal) == c->journal->budget &&
        ds_journal_halt(c->journal) != 0) {
        return ds_journal_stop(c->journal, c->journal->error.status);
    }
    int rc = 0;
    for (uint64_t k = 0; k < begun && rc == 0; k++) {
        episode *ep = append(c, r->rows.lane[k], &r->label);
        if (ep == NULL) {
            rc = ds_fail(&c->journal->error, DS_EXIT_MEMORY, "out of memory for an episode");
        } else if (ds_journal_replaying(c->journal)) {
            rc = take_stored(c, ep);
        } else {
            s->row[live] = k;
            s->step[live++] = (ds_lane_step){.lane = ep->lane, .key = ep->key, .x = ep->x, .obs = ep->obs};
        }
    }
    rc = rc != 0 ? rc : query(c, live);
    if (rc != 0) {
        return ds_journal_stop(c->journal, rc);
    }
    for (uint64_t i = 0; i < live; i++) {
        note(s->lane[r->rows.lane[s->row[i]]], &s->step[i].answer);
    }
    for (uint64_t k = 0; k < begun; k++) {
        memcpy(r->results.obs + k * s->info.n_obs, s->lane[r->rows.lane[k]]->obs,
               s->info.n_obs * sizeof(double));
    }
    *p->done = begun;
    return DS_OK;
}

/* ---- step ---- */

/* Writes row k of the results from its episode, whose values of step t are filled; `ended` says whether it is
 * over. */
static void answer_row(ds_run_episodes *s, const ds_step_results *r, uint64_t k, episode *ep, uint32_t ended)
{
    uint64_t n_obs = s->info.n_obs;
    int over = ended != DS_STEPS_CONTINUES;
    memcpy(r->obs + k * n_obs, ep->obs + ep->t * n_obs, n_obs * sizeof(double));
    r->reward[k] = ep->reward[ep->t - 1];
    r->ended[k] = ended;
    r->loss[k] = over ? ep->answer.loss : 0.0;
    if (r->outcome != NULL) {
        r->outcome[k] = over ? ep->answer.outcome : DS_EVAL_OK;
    }
    if (r->cost_steps != NULL) {
        r->cost_steps[k] = over ? ep->answer.cost_steps : 0;
    }
    if (over) {
        ep->over = 1;
        s->lane[ep->lane] = NULL;
    }
}

static int step_stored(ds_client *c, const call *r, uint64_t k, episode *ep)
{
    ds_run_episodes *s = c->episodes;
    uint64_t m = s->info.n_act;
    int rc = ds_replay_compare(ds_store_path(c->journal->store), c->journal->width, ep->id, ep->t * m, m,
                               r->rows.action + k * m, ep->x, &s->warned, &c->journal->error);
    if (rc == 0) {
        ep->t++;
        ep->back = UINT64_MAX;
        answer_row(s, &r->results, k, ep, ep->t == ep->steps ? ep->ended : DS_STEPS_CONTINUES);
    }
    return rc;
}

static void step_live(ds_run_episodes *s, const call *r, uint64_t k, episode *ep, const ds_lane_step *out)
{
    uint64_t n_obs = s->info.n_obs;
    note(ep, &out->answer);
    ep->reward[ep->t - 1] = out->reward;
    if (out->answer.outcome != DS_EVAL_OK) {
        memcpy(ep->obs + ep->t * n_obs, ep->obs + (ep->t - 1) * n_obs, n_obs * sizeof(double));
    }
    ep->ended = out->ended;
    answer_row(s, &r->results, k, ep, ep->ended);
}

/* Takes the actions of all rows; live episodes send theirs to the workers. */
static int advance(ds_client *c, const call *r)
{
    ds_run_episodes *s = c->episodes;
    uint64_t m = s->info.n_act, live = 0;
    for (uint64_t k = 0; k < r->rows.count; k++) {
        episode *ep = s->lane[r->rows.lane[k]];
        if (ep->stored) {
            int rc = step_stored(c, r, k, ep);
            if (rc != 0) {
                return rc;
            }
            continue;
        }
        memcpy(ep->x + ep->t * m, r->rows.action + k * m, m * sizeof(double));
        ep->t++;
        ep->back = UINT64_MAX;
        s->step[live] = (ds_lane_step){.lane = ep->lane,
                                       .key = ep->key,
                                       .step = ep->t,
                                       .x = ep->x,
                                       .obs = ep->obs + ep->t * s->info.n_obs};
        s->row[live++] = k;
    }
    int rc = query(c, live);
    for (uint64_t i = 0; rc == 0 && i < live; i++) {
        step_live(s, r, s->row[i], s->lane[r->rows.lane[s->row[i]]], &s->step[i]);
    }
    return rc;
}

static ds_status step_rows(ds_client *c, void *argument)
{
    const passed *p = argument;
    call own, *r = &own;
    if (p->done != NULL) {
        *p->done = 0;
    }
    if (ds_client_over(c)) {
        return DS_STOPPED;
    }
    ds_status st = read_rows(c, "step", p, 1, r);
    st = st != DS_OK ? st : check_actions(c, &r->rows);
    if (st != DS_OK) {
        return st;
    }
    double wall = c->journal->statistics.wall_s;
    int rc = advance(c, r);
    if (rc != 0) {
        return ds_journal_stop(c->journal, rc);
    }
    *p->done = r->rows.count;
    if (flush(c)) {
        return DS_STOPPED;
    }
    /* The last step returns DS_OK: an extended run must get the same status. */
    if (c->journal->statistics.count >= c->journal->budget) {
        c->journal->end = DS_END_BUDGET;
    } else if (c->journal->recorder != NULL && c->journal->statistics.wall_s > wall) {
        ds_journal_notify(c->journal, DS_RUN_STEP);
    }
    return DS_OK;
}

static ds_status begin(const ds_objective *objective, const ds_step_rows *rows, const ds_label *label,
                       const ds_step_results *results, uint64_t *done)
{
    passed p = {rows, label, results, done};
    return ds_client_guard(objective, begin_rows, &p);
}

static ds_status step(const ds_objective *objective, const ds_step_rows *rows, const ds_step_results *results,
                      uint64_t *done)
{
    passed p = {rows, NULL, results, done};
    return ds_client_guard(objective, step_rows, &p);
}

/* ---- derivatives ----
 *
 * The last episode of each lane is kept with the adjoints of its sweep (diffsim/ext/draft/steps_gradient.h).
 * Where no worker holds it, because it comes from the record or its worker has died, its steps and its sweep
 * are repeated. */

enum { TRIES = 3 }; /* for a sweep whose worker crashes each time */

static ds_status check_row(const ds_client *c, const ds_back_rows *r, uint64_t k)
{
    const ds_run_episodes *s = c->episodes;
    const uint64_t n_obs = s->info.n_obs, at = r->step[k];
    const episode *ep = s->kept[r->lane[k]];
    char text[200];
    if (ep == NULL) {
        return refuse(c, "back", "a lane has held no episode since the extension was requested");
    }
    if (ep->t == 0 || (at != ep->t - 1 && (ep->back == UINT64_MAX || at + 1 != ep->back))) {
        snprintf(text, sizeof(text),
                 "row %llu: step %llu is neither the last one taken, of %llu, nor the one before the step of "
                 "the last call",
                 (unsigned long long)k, (unsigned long long)at, (unsigned long long)ep->t);
        return refuse(c, "back", text);
    }
    return isfinite(r->reward_bar[k]) && ds_all_finite(r->obs_bar + k * n_obs, n_obs)
               ? DS_OK
               : refuse(c, "back", "an adjoint is not finite");
}

/* The structs of a call of back(), in our own size. */
typedef struct back_call {
    ds_back_rows rows;
    ds_back_results results;
} back_call;

/* The arguments of the optimizer. */
typedef struct back_passed {
    const ds_back_rows *rows;
    const ds_back_results *results;
    uint64_t *done;
} back_passed;

static ds_status read_back_rows(const ds_client *c, const back_passed *p, back_call *into)
{
    ds_error why = {0, "rows, results or done is NULL"};
    const ds_back_rows *r = &into->rows;
    if (p->rows == NULL || p->results == NULL || p->done == NULL ||
        DS_SIZED_READ(&into->rows, p->rows, DS_BACK_ROWS_SIZE_1_0, "", "the rows", &why) != 0 ||
        DS_SIZED_READ(&into->results, p->results, DS_BACK_RESULTS_SIZE_1_0, "", "the results", &why) != 0) {
        return refuse(c, "back", why.text);
    }
    if (r->count < 1 || r->count > c->episodes->lanes || r->lane == NULL || r->step == NULL ||
        r->reward_bar == NULL || r->obs_bar == NULL || into->results.action_bar == NULL ||
        into->results.outcome == NULL) {
        return refuse(c, "back", "no rows, more rows than lanes, or a buffer is NULL");
    }
    ds_status st = check_lanes(c, "back", r->lane, r->count);
    for (uint64_t k = 0; st == DS_OK && k < r->count; k++) {
        st = check_row(c, r, k);
    }
    return st;
}

/* ---- repeating an episode that no worker holds ---- */

static int is_near(double now, double then)
{
    return now == then || fabs(now - then) <= 1e-9 * fmax(fabs(now), fabs(then));
}

/* Does a recorded episode still give the recorded results? */
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
                : ds_fail(&c->journal->error, DS_EXIT_PLUGIN,
                          "%s: evaluation %llu, step %llu: the environment now gives other results for the "
                          "recorded actions (%s): it is not the version that made this run, or not "
                          "deterministic; nothing was changed",
                          ds_store_path(c->journal->store), (unsigned long long)ep->id,
                          (unsigned long long)ep->t,
                          out->answer.outcome == DS_EVAL_OK ? "reward, loss or observation"
                                                            : ds_outcome_name(out->answer.outcome));
}

/* Repeats an episode up to its present step in a worker. */
static int bring(ds_client *c, episode *ep)
{
    ds_run_episodes *s = c->episodes;
    ds_lane_step step;
    int rc = 0, tries = 0;
    do { /* one more try: the worker may have been killed for lack of memory */
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

/* Repeats a sweep from its beginning to its present step. */
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
        ds_answer_fail(&b->answer, DS_EVAL_CRASHED, "the process of this lane ended several times");
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

/* Goes back in the rows row[0 .. count - 1], whose requests are in s->back. */
static int ask_workers(ds_client *c, const back_call *r, const uint64_t *row, uint64_t count)
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

static int go_back(ds_client *c, const back_call *of)
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
    const back_passed *p = argument;
    back_call own;
    if (p->done != NULL) {
        *p->done = 0;
    }
    if (ds_client_over(c)) {
        return DS_STOPPED;
    }
    ds_status st = read_back_rows(c, p, &own);
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
    back_passed p = {rows, results, done};
    return ds_client_guard(objective, back_rows, &p);
}

static const ds_objective_steps_gradient *gradients_of(ds_client *c)
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

/* ---- the extension ---- */

static ds_run_episodes *open_episodes(ds_client *c)
{
    ds_run_episodes *s = calloc(1, sizeof(*s));
    const uint64_t lanes = ds_pool_lanes(c->journal->pool);
    if (s == NULL) {
        return NULL;
    }
    s->lanes = lanes;
    s->info = c->journal->env->steps;
    s->lane = calloc(lanes, sizeof(episode *));
    s->kept = calloc(lanes, sizeof(episode *));
    s->named = calloc(lanes, 1);
    s->step = calloc(lanes, sizeof *s->step);
    s->row = calloc(lanes, sizeof *s->row);
    s->table = (ds_objective_steps){sizeof(ds_objective_steps), 0, &s->info, lanes, begin, step};
    c->episodes = s;
    if (s->lane == NULL || s->kept == NULL || s->named == NULL || s->step == NULL || s->row == NULL) {
        ds_episodes_close(c);
    }
    return c->episodes;
}

static const void *episodes_of(ds_client *c, int gradients)
{
    if (c->journal->env->steps.horizon == 0 || (gradients && !c->journal->env->steps_gradient) ||
        (c->episodes == NULL && open_episodes(c) == NULL)) {
        return NULL;
    }
    return gradients ? (const void *)gradients_of(c) : (const void *)&c->episodes->table;
}

void ds_episodes_offer(ds_client *c)
{
    c->offer = episodes_of;
}

uint64_t ds_episodes_repeated(const ds_client *c)
{
    uint64_t count = 0;
    for (const episode *ep = c->episodes != NULL ? c->episodes->first : NULL; ep != NULL; ep = ep->next) {
        count += ep->stored != 0;
    }
    return count;
}

void ds_episodes_close(ds_client *c)
{
    ds_run_episodes *s = c->episodes;
    if (s != NULL) {
        if (s->kept != NULL) {
            forget(s);
        }
        for (episode *ep = s->first, *next; ep != NULL; ep = next) {
            next = ep->next;
            discard(ep);
        }
        free(s->lane);
        free(s->kept);
        free(s->named);
        free(s->row);
        free(s->step);
        free(s->back);
        free(s->seen);
        free(s);
        c->episodes = NULL;
    }
}
