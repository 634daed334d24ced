/* SPDX-License-Identifier: Apache-2.0 */
/* check_lanes.c - conformance of an instance with several lanes: an episode depends on its own actions and noise key
 * only, not on its lane, on steps of other lanes, or on which of them are begun again. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_rl.h"
#include "check/check_tests.h"
#include "harness/check_apart.h"

enum { LANES = 4, KEY = 7 };

/* What an episode has returned so far. */
typedef struct lane {
    ds_check_episode ep;
    int over;
} lane;

/* Episode k has the actions x + k n and the noise key KEY + k. It is in lane `lanes` - 1 - k, so that none but the middle
 * one is where it was alone. */
typedef struct group {
    ds_check_steps *b;
    uint64_t lanes;
    double *x, *obs, *action;
    lane lane[LANES], alone[LANES];
} group;

static void mix(uint64_t *hash, const double *v, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        *hash = ds_random_mix(*hash ^ bits);
    }
}

static void take(lane *l, const double *obs, uint64_t n_obs, double reward, double loss, uint32_t ended,
                 uint32_t outcome)
{
    l->ep.steps++;
    l->ep.outcome = outcome;
    l->ep.ended = ended;
    l->over = outcome != DS_EVAL_OK || ended != DS_STEPS_CONTINUES;
    if (outcome == DS_EVAL_OK) {
        mix(&l->ep.hash, obs, n_obs);
        mix(&l->ep.hash, &reward, 1);
    }
    l->ep.loss = outcome != DS_EVAL_OK ? (double)INFINITY : loss;
}

/* Begins the marked episodes, or takes their next step, in one call. 0 = it failed. */
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
            mix(&l->ep.hash, g->obs + r * o, o);
        } else {
            take(l, g->obs + r * o, o, reward[r], loss[r], ended[r], outcome[r]);
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

void ds_check_rl_lanes(ds_check *c)
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
    g.x = calloc(g.lanes * (b.env.n + b.info.n_obs + b.info.n_act), sizeof(double));
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
