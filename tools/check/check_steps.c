/* SPDX-License-Identifier: Apache-2.0 */
/* check_steps.c - conformance of stepwise control: an episode is what evaluate() simulates, it is repeatable,
 * it does not depend on its lane or on other lanes, and wrong calls do no harm. */
#include "config.h"

#include "check/check_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plugin_memory.h"
#include "harness/check_process.h"
#include "harness/check_host.h"
#include "check/check_tests.h"

int ds_check_steps_open(ds_check *c, ds_check_steps *b)
{
    const char *const *listed = c->module->plugin->desc->extensions;
    memset(b, 0, sizeof *b);
    b->c = c;
    while (listed != NULL && *listed != NULL && strcmp(*listed, DS_EXT_STEPS) != 0) {
        listed++;
    }
    if (listed == NULL || *listed == NULL) {
        ds_check_skip(c, "this environment offers no stepwise control");
        return 0;
    }
    if (!ds_check_env_open(c, 1, &b->env)) {
        return 0;
    }
    const ds_env_steps *theirs = ds_check_extension(&b->env, DS_EXT_STEPS);
    ds_error e;
    b->info = (ds_steps_info){.struct_size = sizeof b->info};
    b->rl = &b->table;
    if (theirs == NULL) {
        ds_check_skip(c, "this environment offers no stepwise control");
        b->rl = NULL;
    } else if (DS_SIZED_READ(&b->table, theirs, DS_ENV_STEPS_SIZE_1_0, "", "the table of " DS_EXT_STEPS,
                             &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        ds_check_hint(c, "static const ds_env_steps table = {.struct_size = sizeof table, ...};");
        b->rl = NULL;
    } else if (b->rl->info(b->env.self, &b->info) != DS_OK) {
        ds_check_fail(c, "info() of " DS_EXT_STEPS " fails: fill the struct and return DS_OK");
        b->rl = NULL;
    } else if (b->info.horizon < 1 || b->info.n_act < 1 || b->info.n_obs < 1 ||
               b->info.horizon * b->info.n_act != b->env.n) {
        ds_check_fail(c, "horizon %llu x n_act %llu is not n = %llu, or there are no observations",
                      (unsigned long long)b->info.horizon, (unsigned long long)b->info.n_act,
                      (unsigned long long)b->env.n);
        ds_check_hint(c, "x holds the actions of all steps in order");
        b->rl = NULL;
    } else {
        b->x = calloc(b->env.n + b->info.n_act, sizeof *b->x);
        b->action = b->x + b->env.n;
        b->obs = calloc(b->info.n_obs, sizeof *b->obs);
    }
    if (b->x == NULL || b->obs == NULL) {
        free(b->x);
        free(b->obs);
        ds_check_env_close(&b->env);
        return 0;
    }
    return 1;
}

void ds_check_steps_close(ds_check_steps *b)
{
    free(b->x);
    free(b->obs);
    ds_check_env_close(&b->env);
}

static uint64_t mix(uint64_t hash, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return ds_random_mix(hash ^ bits);
}

/* Is every observed number written and finite? */
static int check_observation(ds_check_steps *b, uint64_t step, uint64_t *hash)
{
    for (uint64_t i = 0; i < b->info.n_obs; i++) {
        *hash = mix(*hash, b->obs[i]);
        if (!isfinite(b->obs[i])) {
            ds_check_fail(b->c, "step %llu: number %llu of the observation is %s: write n_obs finite numbers",
                          (unsigned long long)step, (unsigned long long)i,
                          ds_check_is_poison(b->obs[i]) ? "not written" : "not finite");
            return 0;
        }
    }
    return 1;
}

static void poison(ds_check_steps *b)
{
    for (uint64_t i = 0; i < b->info.n_obs; i++) {
        b->obs[i] = ds_check_poison();
    }
}

int ds_check_steps_play(ds_check_steps *b, uint64_t key, uint64_t most, ds_check_episode *ep)
{
    ds_check *c = b->c;
    memset(ep, 0, sizeof *ep);
    poison(b);
    ds_status st = ds_step_begin_call(b->rl, b->env.self, 0, key, b->obs, NULL);
    if (st != DS_OK) {
        ds_check_fail(c, "begin() returned %s: %.200s", ds_status_name(st), b->env.h.error_text);
        return 0;
    }
    if (!check_observation(b, 0, &ep->hash)) {
        return 0;
    }
    for (uint64_t t = 0; t < b->info.horizon && t < most; t++) {
        memcpy(b->action, b->x + t * b->info.n_act, b->info.n_act * sizeof *b->action);
        ds_step io = {
            .action = b->action, .obs = b->obs, .reward = ds_check_poison(), .loss = ds_check_poison()};
        poison(b);
        st = ds_step_call(b->rl, b->env.self, 0, &io);
        for (uint64_t i = 0; i < b->info.n_act; i++) {
            b->action[i] = ds_check_poison(); /* invalid for the plugin from now on */
        }
        ep->steps = t + 1;
        ep->outcome = io.outcome;
        ep->ended = io.ended;
        if (st != DS_OK || io.outcome == DS_EVAL_BAD_GRAD || io.outcome > DS_EVAL_INFEASIBLE) {
            ds_check_fail(c, "step %llu returned %s with outcome %u: %.200s", (unsigned long long)t,
                          ds_status_name(st), io.outcome, b->env.h.error_text);
            return 0;
        }
        if (io.outcome != DS_EVAL_OK) {
            ep->loss = INFINITY;
            return 1;
        }
        if (!isfinite(io.reward) || !check_observation(b, t + 1, &ep->hash)) {
            ds_check_fail(c, "step %llu: the reward is %g, and must be finite", (unsigned long long)t,
                          io.reward);
            return 0;
        }
        if (b->observed != NULL) {
            b->rewards[t] = io.reward;
            memcpy(b->observed + t * b->info.n_obs, b->obs, b->info.n_obs * sizeof *b->obs);
        }
        ep->sum += io.reward;
        ep->hash = mix(ep->hash, io.reward);
        if (io.ended != DS_STEPS_CONTINUES) {
            ep->loss = io.loss;
            return 1;
        }
    }
    if (most < b->info.horizon) {
        return 1;
    }
    ds_check_fail(c, "the episode continues after its last step");
    ds_check_hint(c, "set `ended` and the loss in step `horizon`: DS_STEPS_TERMINATED, or DS_STEPS_TRUNCATED "
                     "if info() sets DS_STEPS_TIME_LIMIT");
    return 0;
}

static int play(ds_check_steps *b, uint64_t key, ds_check_episode *ep)
{
    return ds_check_steps_play(b, key, b->info.horizon, ep);
}

/* The loss of an episode must equal that of evaluate() at its actions. */
static void compare_with_evaluate(ds_check_steps *b, uint64_t key, const ds_check_episode *ep,
                                  const char *where)
{
    ds_check_result a;
    uint64_t taken = ep->steps * b->info.n_act;
    for (int round = 0; round < 2; round++) { /* actions after an early end have no effect */
        ds_check_evaluate(&b->env, b->x, 0, key, NULL, &a);
        int same = ep->outcome == DS_EVAL_OK
                       ? a.io.outcome == DS_EVAL_OK &&
                             ds_check_near(b->c, ds_check_loss_distance(a.io.loss, ep->loss))
                       : a.io.outcome == ep->outcome;
        if (a.status != DS_OK || !same) {
            ds_check_fail(
                b->c, "%s: the episode has the loss %.17g (%s), evaluate() at its actions %.17g (%s)", where,
                ep->loss, ds_outcome_name(ep->outcome), a.io.loss, ds_outcome_name(a.io.outcome));
            ds_check_hint(b->c, "let evaluate() and step() use the same code for a step, in the same order");
            return;
        }
        for (uint64_t i = taken; i < b->env.n; i++) {
            b->x[i] = b->env.x0[i];
        }
        if (taken == b->env.n) {
            return;
        }
    }
}

static void steps_loss(ds_check *c)
{
    ds_check_steps b;
    double constant = 0, scale = 0;
    uint64_t failed = 0;
    if (!ds_check_steps_open(c, &b)) {
        return;
    }
    uint64_t count = ds_check_plan(c, "episodes", 8, 2, 2 * c->options->cost);
    for (uint64_t k = 0; k < count && c->failed == 0; k++) {
        ds_check_episode ep;
        uint64_t key = k < count / 2 ? 0 : 0x123456789abu + k;
        if (k == 0) {
            memcpy(b.x, b.env.x0, b.env.n * sizeof *b.x);
        } else {
            ds_check_random_point(c, &b.env, b.x);
        }
        if (!play(&b, key, &ep)) {
            break;
        }
        compare_with_evaluate(&b, key, &ep, k == 0 ? "at the start point" : "at a random point");
        failed += ep.outcome != DS_EVAL_OK;
        if (key == 0 && ep.outcome == DS_EVAL_OK) {
            double sum = ep.sum + ep.loss;
            scale = fmax(scale, fabs(ep.sum) + fabs(ep.loss));
            if (k > 0 && fabs(sum - constant) > 1e-8 * (scale + 1)) {
                ds_check_fail(c, "the rewards and the loss add up to %.12g, at the start point to %.12g", sum,
                              constant);
                ds_check_hint(c, "a reward is the decrease of the loss, unscaled: the sum is minus the loss, "
                                 "up to a constant");
            }
            constant = k == 0 ? sum : constant;
        }
    }
    ds_check_note(c, "%llu steps of %llu numbers, %llu observed; %llu of %llu episodes failed",
                  (unsigned long long)b.info.horizon, (unsigned long long)b.info.n_act,
                  (unsigned long long)b.info.n_obs, (unsigned long long)failed, (unsigned long long)count);
    ds_check_steps_close(&b);
}

/* Checks the end of one episode; 0 = wrong (recorded). */
static int sound_end(const ds_check_steps *b, const ds_check_episode *ep)
{
    int limit = (b->info.flags & DS_STEPS_TIME_LIMIT) != 0, reached = ep->steps == b->info.horizon;
    if (ep->outcome != DS_EVAL_OK) { /* over and terminated, whatever `ended` is */
        return 1;
    }
    if (ep->ended > DS_STEPS_TRUNCATED) {
        ds_check_fail(b->c, "step %llu: `ended` is %u", (unsigned long long)ep->steps - 1, ep->ended);
        ds_check_hint(b->c, "use DS_STEPS_CONTINUES, DS_STEPS_TERMINATED or DS_STEPS_TRUNCATED");
        return 0;
    }
    if (reached && ep->ended == DS_STEPS_TRUNCATED && !limit) {
        ds_check_fail(b->c,
                      "an episode is truncated at the horizon, but info() does not set DS_STEPS_TIME_LIMIT");
        ds_check_hint(b->c,
                      "if the loss is that of the final state, the horizon is part of the task: terminate "
                      "there; if the task would continue after it, set DS_STEPS_TIME_LIMIT in info()");
        return 0;
    }
    return 1;
}

/* Whether episodes are truncated at the time limit shows only over many: one may end by the rules in its last
 * step. */
static void judge_limit(const ds_check_steps *b, uint64_t reached, uint64_t truncated)
{
    if ((b->info.flags & DS_STEPS_TIME_LIMIT) != 0 && reached > 0 && truncated == 0) {
        ds_check_fail(b->c,
                      "info() sets DS_STEPS_TIME_LIMIT, but all %llu episodes that reached the horizon are "
                      "terminated there",
                      (unsigned long long)reached);
        ds_check_hint(
            b->c, "set `ended` = DS_STEPS_TRUNCATED in step `horizon` unless the rules end the episode in "
                  "that very step: optimizers that learn values take the value of a terminated state as 0");
    }
}

static void steps_ended(ds_check *c)
{
    ds_check_steps b;
    uint64_t reached = 0, truncated = 0, early = 0, count;
    if (!ds_check_steps_open(c, &b)) {
        return;
    }
    count = ds_check_plan(c, "episodes", 6, 2, c->options->cost);
    for (uint64_t k = 0; k < count && c->failed == 0; k++) {
        ds_check_episode ep;
        if (k == 0) {
            memcpy(b.x, b.env.x0, b.env.n * sizeof *b.x);
        } else {
            ds_check_random_point(c, &b.env, b.x);
        }
        if (!play(&b, k, &ep) || !sound_end(&b, &ep)) {
            break;
        }
        int whole = ep.outcome == DS_EVAL_OK && ep.steps == b.info.horizon;
        reached += whole;
        truncated += whole && ep.ended == DS_STEPS_TRUNCATED;
        early += ep.outcome == DS_EVAL_OK && !whole;
    }
    if (c->failed == 0) {
        judge_limit(&b, reached, truncated);
        ds_check_note(
            c, "%llu of %llu episodes reached the horizon, %s; %llu were truncated there, %llu ended before",
            (unsigned long long)reached, (unsigned long long)count,
            b.info.flags & DS_STEPS_TIME_LIMIT ? "a time limit" : "a part of the task",
            (unsigned long long)truncated, (unsigned long long)early);
    }
    ds_check_steps_close(&b);
}

static void same(ds_check_steps *b, const ds_check_episode *a, const ds_check_episode *other,
                 const char *what)
{
    int observed = a->hash == other->hash || b->c->tolerance > 0;
    if (!observed || a->steps != other->steps || a->outcome != other->outcome || a->ended != other->ended ||
        !ds_check_near(b->c, ds_check_loss_distance(a->loss, other->loss))) {
        ds_check_fail(b->c, "the same actions give other results %s", what);
        ds_check_hint(b->c, "reset() initialises the whole state; nothing may be carried over");
    }
}

static void steps_repeat(ds_check *c)
{
    ds_check_steps b, other;
    ds_check_episode first, again;
    ds_check_result a;
    if (!ds_check_steps_open(c, &b)) {
        return;
    }
    ds_check_random_point(c, &b.env, b.x);
    if (play(&b, 7, &first)) {
        ds_check_evaluate(&b.env, b.env.x0, 0, 3, NULL, &a);
        if (play(&b, 7, &again)) {
            same(&b, &first, &again, "after an evaluate() in between");
        }
        ds_step_begin_call(b.rl, b.env.self, 0, 9, b.obs, NULL); /* an abandoned episode */
        if (play(&b, 7, &again)) {
            same(&b, &first, &again, "after an abandoned episode");
        }
        if (!ds_check_needs_process(c) && ds_check_steps_open(c, &other)) {
            memcpy(other.x, b.x, b.env.n * sizeof *b.x);
            if (play(&other, 7, &again)) {
                same(&b, &first, &again, "in another instance");
            }
            ds_check_steps_close(&other);
        }
    }
    ds_check_steps_close(&b);
}

/* A step without an open episode. */
static void expect_state(ds_check_steps *b, const char *when)
{
    ds_step io = {.action = b->x, .obs = b->obs};
    ds_status st = ds_step_call(b->rl, b->env.self, 0, &io);
    if (st != DS_E_STATE) {
        ds_check_fail(b->c, "step() %s returned %s, not DS_E_STATE", when, ds_status_name(st));
        ds_check_hint(b->c, "remember in the instance whether an episode is open: begin() opens it; its end, "
                            "evaluate() and create() close it");
    }
}

static void steps_strange(ds_check *c)
{
    static const double strange[] = {1e300, -1e300, 1e6, NAN, INFINITY};
    ds_check_steps b;
    ds_check_episode before, after;
    ds_check_result a;
    if (!ds_check_steps_open(c, &b)) {
        return;
    }
    memcpy(b.x, b.env.x0, b.env.n * sizeof *b.x);
    expect_state(&b, "before the first begin()");
    if (play(&b, 0, &before)) {
        expect_state(&b, "after the end");
        ds_step_begin_call(b.rl, b.env.self, 0, 0, b.obs, NULL);
        ds_check_evaluate(&b.env, b.env.x0, 0, 0, NULL, &a);
        expect_state(&b, "after an evaluate()");
        double *action = calloc(b.info.n_act, sizeof *action);
        for (size_t k = 0; action != NULL && k < sizeof strange / sizeof strange[0]; k++) {
            ds_step_begin_call(b.rl, b.env.self, 0, 0, b.obs, NULL);
            for (uint64_t i = 0; i < b.info.n_act; i++) {
                action[i] = strange[k];
            }
            for (uint64_t t = 0; t < b.info.horizon && t < 3; t++) {
                ds_step io = {.action = action, .obs = b.obs};
                ds_step_call(b.rl, b.env.self, 0, &io); /* any result is allowed, only a crash is not */
            }
        }
        free(action);
        if (play(&b, 0, &after)) {
            same(&b, &before, &after, "after actions far outside of the box");
        }
    }
    ds_check_steps_close(&b);
}

/* ---- several lanes in an instance ---- */

enum { LANES = 4, KEY = 7 };

/* What an episode has returned so far. */
typedef struct lane {
    ds_check_episode ep;
    int over;
} lane;

/* Episode k has the actions x + k n and the noise key KEY + k. It runs in lane `lanes` - 1 - k, unlike alone,
 * in lane 0. */
typedef struct group {
    ds_check_steps *b;
    uint64_t lanes;
    double *x, *obs, *action;
    lane lane[LANES], alone[LANES];
} group;

static void mix_all(uint64_t *hash, const double *v, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        *hash = mix(*hash, v[i]);
    }
}

static void take_step(lane *l, const double *obs, uint64_t n_obs, double reward, double loss, uint32_t ended,
                      uint32_t outcome)
{
    l->ep.steps++;
    l->ep.outcome = outcome;
    l->ep.ended = ended;
    l->over = outcome != DS_EVAL_OK || ended != DS_STEPS_CONTINUES;
    if (outcome == DS_EVAL_OK) {
        mix_all(&l->ep.hash, obs, n_obs);
        mix_all(&l->ep.hash, &reward, 1);
    }
    l->ep.loss = outcome != DS_EVAL_OK ? (double)INFINITY : loss;
}

/* Begins the marked episodes, or takes their next step, in one call; 0 = it failed (recorded). */
static int call(group *g, const int *marked, int begins)
{
    const ds_check_steps *b = g->b;
    const uint64_t m = b->info.n_act, o = b->info.n_obs;
    uint64_t count = 0, of[LANES], at[LANES], key[LANES], cost[LANES] = {0};
    double reward[LANES] = {0}, loss[LANES] = {0};
    uint32_t ended[LANES] = {0}, outcome[LANES] = {0};
    for (uint64_t k = 0; k < g->lanes; k++) {
        if (marked[k] && (begins || !g->lane[k].over)) {
            memcpy(g->action + count * m, g->x + k * b->env.n + g->lane[k].ep.steps % b->info.horizon * m,
                   m * sizeof(double));
            at[count] = g->lanes - 1 - k;
            key[count] = KEY + k;
            of[count++] = k;
        }
    }
    const ds_step_rows rows = {.struct_size = sizeof rows,
                               .count = count,
                               .lane = at,
                               .noise_key = begins ? key : NULL,
                               .action = begins ? NULL : g->action};
    const ds_step_results results = {.struct_size = sizeof results,
                                     .obs = g->obs,
                                     .reward = reward,
                                     .ended = ended,
                                     .loss = loss,
                                     .outcome = outcome,
                                     .cost_steps = cost};
    const ds_status st =
        count == 0 ? DS_OK : (begins ? b->rl->begin : b->rl->step)(b->env.self, &rows, &results);
    if (st != DS_OK) {
        ds_check_fail(b->c, "%s of %llu lanes returned %s: %.200s", begins ? "begin()" : "step()",
                      (unsigned long long)count, ds_status_name(st), b->env.h.error_text);
        return 0;
    }
    for (uint64_t r = 0; r < count; r++) {
        lane *l = &g->lane[of[r]];
        if (begins) {
            *l = (lane){.over = outcome[r] != DS_EVAL_OK};
            mix_all(&l->ep.hash, g->obs + r * o, o);
        } else {
            take_step(l, g->obs + r * o, o, reward[r], loss[r], ended[r], outcome[r]);
        }
    }
    return 1;
}

static int all_over(const group *g)
{
    uint64_t k = 0;
    while (k < g->lanes && g->lane[k].over) {
        k++;
    }
    return k == g->lanes;
}

static void compare(const group *g, const char *when)
{
    ds_check *c = g->b->c;
    for (uint64_t k = 0; k < g->lanes && c->failed == 0; k++) {
        const ds_check_episode *a = &g->alone[k].ep, *e = &g->lane[k].ep;
        if ((a->hash != e->hash && c->tolerance == 0) || a->steps != e->steps || a->outcome != e->outcome ||
            a->ended != e->ended ||
            (a->outcome == DS_EVAL_OK && !ds_check_near(c, ds_check_loss_distance(a->loss, e->loss)))) {
            ds_check_fail(c, "lane %llu, %s: other results than for the same actions alone in lane 0",
                          (unsigned long long)(g->lanes - 1 - k), when);
            ds_check_hint(
                c,
                "keep the whole state of an episode per lane; begin() and step() may change only the lanes "
                "in their rows");
        }
    }
}

/* Plays all episodes at once; with `again`, episodes of odd number begin again after the first step. */
static void play_together(group *g, int again, const char *when)
{
    static const int all[LANES] = {1, 1, 1, 1}, odd[LANES] = {0, 1, 0, 1};
    int good = call(g, all, 1) && (!again || (call(g, all, 0) && call(g, odd, 1)));
    for (uint64_t t = 0; good && t <= g->b->info.horizon && !all_over(g); t++) {
        good = call(g, all, 0);
    }
    if (good) {
        compare(g, when);
    }
}

/* Plays each episode by itself in lane 0. */
static int play_alone(group *g)
{
    ds_check_steps *b = g->b;
    for (uint64_t k = 0; k < g->lanes; k++) {
        memcpy(b->x, g->x + k * b->env.n, b->env.n * sizeof(double));
        if (!ds_check_steps_play(b, KEY + k, b->info.horizon, &g->alone[k].ep)) {
            return 0;
        }
    }
    return 1;
}

static void steps_lanes(ds_check *c)
{
    ds_check_steps b;
    if (!ds_check_steps_open(c, &b)) {
        return;
    }
    group g = {.b = &b, .lanes = b.info.max_lanes < LANES ? b.info.max_lanes : LANES};
    if (g.lanes < 2) {
        ds_check_skip(c, "an instance holds one lane");
        ds_check_steps_close(&b);
        return;
    }
    g.x = ds_check_room(c, g.lanes * (b.env.n + b.info.n_obs + b.info.n_act), sizeof(double));
    if (g.x != NULL) {
        g.obs = g.x + g.lanes * b.env.n;
        g.action = g.obs + g.lanes * b.info.n_obs;
        for (uint64_t k = 0; k < g.lanes; k++) {
            ds_check_random_point(c, &b.env, g.x + k * b.env.n);
        }
        if (play_alone(&g)) {
            play_together(&g, 0, "with other lanes in the same calls");
            play_together(&g, 1, "after some lanes were begun again");
            ds_check_note(c, "%llu of %llu lanes at once", (unsigned long long)g.lanes,
                          (unsigned long long)b.info.max_lanes);
        }
    }
    free(g.x);
    ds_check_steps_close(&b);
}

const ds_check_test ds_check_steps_tests[] = {
    {"steps.loss",
     "an episode of steps has the loss of evaluate() at its actions, and rewards that add up to it", 0, 0, 0,
     steps_loss},
    {"steps.ended", "an episode is terminated or truncated as info() announces", 0, 0, 0, steps_ended},
    {"steps.repeat", "the same actions give the same results", 0, 0, 0, steps_repeat},
    {"steps.lanes", "an episode does not depend on its lane and on what happens in other lanes", 0, 0, 0,
     steps_lanes},
    {"steps.strange", "steps without an episode and actions outside of the box do no harm", 0, 0, 0,
     steps_strange},
    {NULL, NULL, 0, 0, 0, NULL}};
