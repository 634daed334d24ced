/* SPDX-License-Identifier: Apache-2.0 */
/* episodes.c - stepwise control by the optimizer of a run. Episodes (diffsim/ext/steps.h) are numbered as
 * they begin and recorded in that order, one row each: one that is over waits for those that began before it.
 * On resume, the first ones are answered from the store as long as the optimizer takes the same actions. */
#include "config.h"

#include "run/objective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/text.h"
#include "run/episodes_internal.h"

/* ---- the contract ---- */

/* The structs of a call, in our own size. */
typedef struct call {
    ds_step_rows rows;
    ds_label label;
    ds_step_results results;
} call;

/* What the optimizer has passed. */
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
            return ds_episodes_refuse(c, function,
                                      held ? "a lane holds no episode" : "a lane holds an open episode");
        }
    }
    return DS_OK;
}

/* Reads and tests the rows of a call. */
static ds_status read_rows(ds_client *c, const char *function, const passed *p, int stepping, call *r)
{
    ds_error why = {0, "rows, results or done is NULL"};
    r->label = (ds_label){.struct_size = sizeof r->label};
    if (p->rows == NULL || p->results == NULL || p->done == NULL ||
        DS_SIZED_READ(&r->rows, p->rows, DS_STEP_ROWS_SIZE_1_0, "", "the rows", &why) != 0 ||
        DS_SIZED_READ(&r->results, p->results, DS_STEP_RESULTS_SIZE_1_0, "", "the results", &why) != 0 ||
        (p->label != NULL &&
         DS_SIZED_READ(&r->label, p->label, DS_LABEL_SIZE_1_0, "", "the label", &why) != 0)) {
        return ds_episodes_refuse(c, function, why.text);
    }
    const ds_step_results *out = &r->results;
    if (r->rows.count < 1 || r->rows.count > c->episodes->lanes || r->rows.lane == NULL || out->obs == NULL ||
        (stepping &&
         (r->rows.action == NULL || out->reward == NULL || out->ended == NULL || out->loss == NULL))) {
        return ds_episodes_refuse(c, function, "no rows, more rows than lanes, or a buffer is NULL");
    }
    ds_status st = ds_episodes_check_lanes(c, function, r->rows.lane, r->rows.count);
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
                return ds_episodes_refuse(c, "step", text);
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
    ds_episodes_keep(s, ep);
    c->open++;
    return ep;
}

/* How a stored episode ended. Before 0.2 that was not recorded: an end before the horizon was one by the
 * rules. */
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

/* The row's part of an episode, in one block that the recorder frees. */
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

/* Enters the episodes that are over, as far as no older one is open. Nonzero = the run ends. */
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
            ds_episode_discard(ep);
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

/* What a step adds to its episode; an episode that cannot begin fails with its first step. */
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

/* Answers row k from its episode, whose numbers of step t are filled; `ended` says whether it is over. */
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

/* Takes the actions of all rows; the live ones go to the workers. */
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
    /* The answer to the last step is DS_OK: an extended run must get the same. */
    if (c->journal->statistics.count >= c->journal->budget) {
        c->journal->end = DS_END_BUDGET;
    } else if (c->journal->recorder != NULL && c->journal->statistics.wall_s > wall) {
        ds_journal_tell(c->journal, DS_RUN_STEP);
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
    return gradients ? (const void *)ds_episodes_gradients(c) : (const void *)&c->episodes->table;
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
            ds_episodes_forget(s);
        }
        for (episode *ep = s->first, *next; ep != NULL; ep = next) {
            next = ep->next;
            ds_episode_discard(ep);
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
