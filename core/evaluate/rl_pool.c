/* SPDX-License-Identifier: Apache-2.0 */
/* rl_pool.c - steps of episodes on their way to the workers and back, see rl_pool.h. Every worker
 * is a supervisor of its own, so that it gets the steps of its lanes and no others. */
#include "config.h"

#include "evaluate/rl_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "guest/surroundings.h"
#include "base/clock.h"
#include "base/program.h"

enum {
    SPIN_NS = 40000 /* longest busy wait for an answer */
};

struct ds_lanes {
    const ds_pool *pool;
    const ds_pool_config *config;
    const ds_pool_env *env;
    ds_episode local[DS_MAX_LANES]; /* no isolation */
    uint32_t jobs;                  /* that work at once */
    uint32_t workers; /* as many, or one for each lane where an instance wants a process to itself */
    ds_supervisor **supervisor; /* process isolation: `workers`, NULL until needed */
    ds_spin spin;
    int dead;
};

int ds_lanes_open(const ds_pool *pool, ds_lanes **out, ds_error *e)
{
    const ds_pool_config *config = ds_pool_config_in(pool);
    ds_lanes *l = calloc(1, sizeof(*l));
    if (l == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    l->pool = pool;
    l->config = config;
    l->env = ds_pool_env_of(pool);
    l->jobs = config->jobs > 0 ? config->jobs : 1;
    l->jobs = l->jobs > DS_MAX_LANES ? DS_MAX_LANES : l->jobs;
    l->workers = (config->module->plugin->desc->flags & DS_ENV_OWN_PROCESS) != 0 ? DS_MAX_LANES : l->jobs;
    /* What each supervisor asks for says whether that was enough. */
    enum { FILES_OF_ALL = 3 /* of a supervisor */ };
    ds_files_reserve((uint64_t)(FILES_OF_ALL + DS_FILES_PER_WORKER) * l->workers + DS_FILES_SPARE, NULL,
                     NULL);
    uint32_t spin = l->jobs < ds_processors() ? SPIN_NS : 0;
    l->spin = (ds_spin){spin, spin};
    l->supervisor = calloc(l->workers, sizeof(*l->supervisor));
    if (l->supervisor == NULL) {
        free(l);
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    *out = l;
    return 0;
}

void ds_lanes_close(ds_lanes *l)
{
    if (l != NULL) {
        for (uint32_t w = 0; w < l->workers; w++) {
            ds_supervisor_close(l->supervisor[w]);
        }
        for (size_t i = 0; i < DS_MAX_LANES; i++) {
            ds_env_close(l->local[i].env);
        }
        free(l->supervisor);
        free(l);
    }
}

static int stop_asked(const ds_lanes *l)
{
    return l->config->stop != NULL && atomic_load_explicit(l->config->stop, memory_order_relaxed) != 0;
}

/* ---- in this process ---- */

/* The episode of a lane, with an instance. */
static int open_local(ds_lanes *l, uint64_t lane, ds_episode **out, ds_error *e)
{
    const ds_pool_config *c = l->config;
    ds_episode *ep = *out = &l->local[lane];
    return ep->env != NULL ? 0
                           : ds_env_open(c->module, c->settings, c->seed, c->threads, c->stop, &ep->env, e);
}

static int step_local(ds_lanes *l, uint64_t count, ds_lane_step *step, ds_error *e)
{
    for (uint64_t k = 0; k < count; k++) {
        ds_lane_step *s = &step[k];
        ds_episode *ep;
        int rc = stop_asked(l) ? DS_POOL_STOPPED : open_local(l, s->lane, &ep, e);
        if (rc != 0) {
            return rc;
        }
        const ds_surroundings ours = ds_surroundings_note();
        ds_status st = ds_episode_advance(ep, s->key, s->step, s->x, s->obs, &s->out);
        ds_surroundings_put_back(&ours);
        if (st == DS_STOPPED) {
            return DS_POOL_STOPPED;
        }
    }
    return 0;
}

/* ---- in workers ---- */

static int open_worker(ds_lanes *l, uint32_t w, ds_error *e)
{
    ds_supervisor_config config = ds_pool_crew(l->pool, 1);
    config.capacity = DS_MAX_LANES;
    config.extra = DS_SLOT_STEP_HEAD + l->env->rl.n_obs;
    return ds_supervisor_open(&config, &l->supervisor[w], e);
}

static ds_slot_ask ask_of(const ds_lane_step *s)
{
    return (ds_slot_ask){.noise_key = s->key, .episode = 1 + (uint32_t)s->lane, .alone = 1};
}

/* Returns the ticket. */
static uint64_t post(const ds_lanes *l, const ds_lane_step *s, ds_ring *share)
{
    uint64_t ticket = ds_ring_posted(share);
    const ds_slot_ask ask = ask_of(s);
    ds_slot *slot = ds_ring_fill(share, ticket, &ask, s->x, s->step * l->env->rl.n_act);
    double *head = ds_slot_extra(share, slot);
    head[DS_SLOT_STEP] = (double)s->step;
    head[DS_SLOT_REWARD] = head[DS_SLOT_ENDED] = 0.0;
    ds_slot_post(slot);
    ds_ring_publish(share, ticket + 1);
    return ticket;
}

/* How the episode has ended according to a slot. Returns 0 where that cannot be. */
static int read_end(const ds_lanes *l, const ds_lane_step *s, double ended, uint32_t *out)
{
    *out = ended == DS_RL_TRUNCATED ? DS_RL_TRUNCATED : ended == DS_RL_TERMINATED;
    return ended == (double)*out && (*out != DS_RL_GOES_ON || s->step < l->env->rl.horizon);
}

/* Takes the answer. What a plugin gone wild may have left there is made harmless. */
static void take(const ds_lanes *l, const ds_ring *share, ds_slot *slot, ds_lane_step *s)
{
    const double *head = ds_slot_extra(share, slot);
    const ds_slot_ask ask = ask_of(s);
    ds_answer *answer = &s->out.answer;
    ds_slot_answer(slot, &ask, s->x, s->step * l->env->rl.n_act, answer);
    s->out.reward = head[DS_SLOT_REWARD];
    int possible = read_end(l, s, head[DS_SLOT_ENDED], &s->out.ended) && isfinite(s->out.reward);
    if (answer->outcome == DS_EVAL_OK) {
        memcpy(s->obs, head + DS_SLOT_STEP_HEAD, l->env->rl.n_obs * sizeof(double));
        possible = possible && ds_all_finite(s->obs, l->env->rl.n_obs);
    }
    if (answer->outcome == DS_EVAL_BAD_GRAD || (answer->outcome == DS_EVAL_OK && !possible)) {
        ds_answer_fail(answer, DS_EVAL_INVALID, "its answer was overwritten in the memory of the workers");
    }
    if (answer->outcome != DS_EVAL_OK) {
        answer->loss = INFINITY;
        s->out.reward = 0.0;
        s->out.ended = DS_RL_TERMINATED;
    }
    atomic_store_explicit(&slot->state, DS_SLOT_FREE, memory_order_relaxed);
}

/* One lane's part of a call: its `k`th. */
typedef struct lane_call {
    uint64_t (*lane)(const void *rows, uint64_t k);
    uint64_t (*post)(const ds_lanes *l, void *rows, uint64_t k, ds_ring *share); /* the ticket */
    uint32_t (*take)(const ds_lanes *l, void *rows, uint64_t k, const ds_ring *share,
                     ds_slot *slot); /* outcome */
} lane_call;

static int call_workers(ds_lanes *l, const lane_call *c, uint64_t first, uint64_t count, void *rows,
                        ds_error *e)
{
    ds_supervisor *to[DS_MAX_LANES];
    uint64_t ticket[DS_MAX_LANES], stop_at = 0;
    int rc = 0;
    for (uint64_t k = 0; k < count && rc == 0; k++) {
        uint32_t w = (uint32_t)(c->lane(rows, first + k) % l->workers);
        rc = l->supervisor[w] == NULL ? open_worker(l, w, e) : 0;
        to[k] = l->supervisor[w];
    }
    for (uint64_t k = 0; k < count && rc == 0; k++) {
        ticket[k] = c->post(l, rows, first + k, ds_supervisor_share(to[k]));
    }
    for (uint64_t k = 0; k < count && rc == 0; k++) {
        ds_ring *share = ds_supervisor_share(to[k]);
        ds_slot *slot = ds_ring_slot(share, ticket[k]);
        while (rc == 0 && !ds_spin_until(&l->spin, ds_slot_done, slot)) {
            rc = ds_supervisor_sleep(to[k], ticket[k], atomic_load(&share->head->done) + 1, &stop_at, e);
        }
        if (rc == 0 && c->take(l, rows, first + k, share, slot) == DS_EVAL_STOPPED) {
            rc = atomic_load(&share->stopped) != 0 ? DS_POOL_STOPPED : ds_supervisor_spoilt(to[k], e);
        }
    }
    return rc;
}

/* A lane with a process to itself has no worker beside it to wait for: no more than `jobs` get a call at
 * once. */
static int call_in_turn(ds_lanes *l, const lane_call *c, uint64_t count, void *rows, ds_error *e)
{
    uint64_t most = l->workers > l->jobs ? l->jobs : count;
    int rc = 0;
    for (uint64_t k = 0; k < count && rc == 0; k += most) {
        rc = call_workers(l, c, k, count - k < most ? count - k : most, rows, e);
    }
    return rc;
}

static uint64_t lane_of_step(const void *rows, uint64_t k)
{
    return ((const ds_lane_step *)rows)[k].lane;
}

static uint64_t post_step(const ds_lanes *l, void *rows, uint64_t k, ds_ring *share)
{
    return post(l, (const ds_lane_step *)rows + k, share);
}

static uint32_t take_step(const ds_lanes *l, void *rows, uint64_t k, const ds_ring *share, ds_slot *slot)
{
    ds_lane_step *s = (ds_lane_step *)rows + k;
    take(l, share, slot, s);
    return s->out.answer.outcome;
}

static const lane_call forwards = {lane_of_step, post_step, take_step};

int ds_lanes_step(ds_lanes *l, uint64_t count, ds_lane_step *step, ds_error *e)
{
    if (l->dead || stop_asked(l)) {
        return DS_POOL_STOPPED;
    }
    int rc = l->config->isolation == DS_ISOLATION_NONE ? step_local(l, count, step, e)
                                                       : call_in_turn(l, &forwards, count, step, e);
    l->dead = rc != 0;
    return rc;
}

/* ---- backwards ---- */

static ds_slot_ask ask_back(const ds_lane_back *b)
{
    return (ds_slot_ask){
        .want = DS_WANT_GRAD, .noise_key = b->ask.key, .episode = 1 + (uint32_t)b->lane, .alone = 1};
}

static uint64_t lane_of_back(const void *rows, uint64_t k)
{
    return ((const ds_lane_back *)rows)[k].lane;
}

static uint64_t post_back(const ds_lanes *l, void *rows, uint64_t k, ds_ring *share)
{
    const ds_lane_back *b = (const ds_lane_back *)rows + k;
    uint64_t ticket = ds_ring_posted(share);
    const ds_slot_ask ask = ask_back(b);
    ds_slot *slot = ds_ring_fill(share, ticket, &ask, b->ask.obs_bar, 0);
    double *head = ds_slot_extra(share, slot);
    head[DS_SLOT_STEP] = (double)b->ask.step;
    head[DS_SLOT_REWARD] = b->ask.reward_bar;
    head[DS_SLOT_ENDED] = (double)b->ask.taken;
    memcpy(head + DS_SLOT_STEP_HEAD, b->ask.obs_bar, l->env->rl.n_obs * sizeof(double));
    ds_slot_post(slot);
    ds_ring_publish(share, ticket + 1);
    return ticket;
}

/* Takes the answer. What a plugin gone wild may have left there is made harmless. */
static uint32_t take_back(const ds_lanes *l, void *rows, uint64_t k, const ds_ring *share, ds_slot *slot)
{
    ds_lane_back *b = (ds_lane_back *)rows + k;
    const double said = ds_slot_extra(share, slot)[DS_SLOT_ENDED];
    const ds_slot_ask ask = ask_back(b);
    size_t bytes = l->env->rl.n_act * sizeof(double);
    ds_slot_answer(slot, &ask, b->ask.obs_bar, 0, &b->out);
    b->lost = b->out.outcome == DS_EVAL_OK && said == DS_SLOT_LOST;
    memcpy(b->ask.action_bar, ds_slot_grad(share, slot), bytes);
    if (b->out.outcome == DS_EVAL_OK &&
        ((said != DS_SLOT_BACK && !b->lost) || !ds_all_finite(b->ask.action_bar, l->env->rl.n_act))) {
        ds_answer_fail(&b->out, DS_EVAL_INVALID, "its answer was overwritten in the memory of the workers");
    }
    if (b->out.outcome != DS_EVAL_OK || b->lost) {
        memset(b->ask.action_bar, 0, bytes);
    }
    atomic_store_explicit(&slot->state, DS_SLOT_FREE, memory_order_relaxed);
    return b->out.outcome;
}

static const lane_call backwards = {lane_of_back, post_back, take_back};

static int back_local(ds_lanes *l, uint64_t count, ds_lane_back *back, ds_error *e)
{
    for (uint64_t k = 0; k < count; k++) {
        ds_lane_back *b = &back[k];
        ds_episode *ep;
        int rc = stop_asked(l) ? DS_POOL_STOPPED : open_local(l, b->lane, &ep, e);
        if (rc != 0) {
            return rc;
        }
        const ds_surroundings ours = ds_surroundings_note();
        ds_status st = ds_episode_go_back(ep, &b->ask, &b->lost, &b->out);
        ds_surroundings_put_back(&ours);
        if (st == DS_STOPPED) {
            return DS_POOL_STOPPED;
        }
    }
    return 0;
}

int ds_lanes_back(ds_lanes *l, uint64_t count, ds_lane_back *back, ds_error *e)
{
    if (l->dead || stop_asked(l)) {
        return DS_POOL_STOPPED;
    }
    int rc = l->config->isolation == DS_ISOLATION_NONE ? back_local(l, count, back, e)
                                                       : call_in_turn(l, &backwards, count, back, e);
    l->dead = rc != 0;
    return rc;
}
