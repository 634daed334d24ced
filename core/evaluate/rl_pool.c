/* SPDX-License-Identifier: Apache-2.0 */
/* rl_pool.c - steps of episodes on their way to the workers and back, see rl_pool.h. Every worker
 * is a supervisor of its own, so that it gets the steps of its lanes and no others. */
#include "config.h"

#include "evaluate/rl_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "worker/supervisor.h"

enum {
    SPIN_NS = 40000,     /* longest busy wait for an answer */
    WAIT_NS = 50000000,  /* longest sleep between two looks at the stop flag */
    STOP_NS = 1000000000 /* steps in hand get this long to notice that they should stop */
};

struct ds_lanes {
    const ds_pool_config *config;
    const ds_pool_env *env;
    ds_episode local[DS_EPISODE_LANES]; /* no isolation */
    uint32_t workers;
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
    l->config = config;
    l->env = ds_pool_env_of(pool);
    l->workers = config->jobs > 0 ? config->jobs : 1;
    l->workers = l->workers > DS_EPISODE_LANES ? DS_EPISODE_LANES : l->workers;
    uint32_t spin = l->workers < ds_processors() ? SPIN_NS : 0;
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
        for (size_t i = 0; i < DS_EPISODE_LANES; i++) {
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

static int step_local(ds_lanes *l, uint64_t count, ds_lane_step *step, ds_error *e)
{
    const ds_pool_config *c = l->config;
    for (uint64_t k = 0; k < count; k++) {
        ds_lane_step *s = &step[k];
        ds_episode *ep = &l->local[s->lane];
        if (stop_asked(l)) {
            return DS_POOL_STOPPED;
        }
        if (ep->env == NULL) {
            int rc = ds_env_open(c->module, c->settings, c->seed, c->threads, c->stop, &ep->env, e);
            if (rc != 0) {
                return rc;
            }
        }
        if (ds_episode_advance(ep, s->key, s->step, s->x, s->obs, &s->out) == DS_STOPPED) {
            return DS_POOL_STOPPED;
        }
    }
    return 0;
}

/* ---- in workers ---- */

static int open_worker(ds_lanes *l, uint32_t w, ds_error *e)
{
    const ds_pool_config *c = l->config;
    ds_supervisor_config config = {.module = c->module,
                                   .params = l->env->params,
                                   .seed = c->seed,
                                   .threads = c->threads,
                                   .jobs = 1,
                                   .timeout = c->timeout,
                                   .memory = c->memory,
                                   .program = c->program,
                                   .stop = c->stop,
                                   .capacity = DS_EPISODE_LANES,
                                   .extra = DS_SLOT_STEP_HEAD + l->env->rl.n_obs};
    return ds_supervisor_open(&config, &l->supervisor[w], e);
}

/* The slot of a step that was posted. */
typedef struct errand {
    ds_supervisor *supervisor;
    ds_ring *share;
    ds_slot *slot;
} errand;

static void post(const ds_lanes *l, const ds_lane_step *s, errand *to)
{
    ds_ring *share = to->share;
    uint64_t ticket = atomic_load(&share->posted);
    ds_slot *slot = to->slot = ds_ring_slot(share, ticket);
    double *head = ds_slot_extra(share, slot);
    slot->want = 0;
    slot->keep = 0;
    slot->residuals = 0;
    slot->alone = 1;
    slot->noise_key = s->key;
    slot->episode = 1 + (uint32_t)s->lane;
    memcpy(ds_slot_x(slot), s->x, s->step * l->env->rl.n_act * sizeof(double));
    head[DS_SLOT_STEP] = (double)s->step;
    head[DS_SLOT_REWARD] = head[DS_SLOT_ENDED] = 0.0;
    atomic_store_explicit(&slot->state, DS_SLOT_POSTED, memory_order_release);
    atomic_store(&share->posted, ticket + 1);
    atomic_fetch_add(&share->work, 1);
    if (atomic_load(&share->sleepers) > 0) {
        ds_futex_wake(&share->work, 1);
    }
}

static int is_done(const void *ctx)
{
    const errand *a = ctx;
    return atomic_load_explicit(&a->slot->state, memory_order_acquire) == DS_SLOT_DONE;
}

/* Waits for an answer; nonzero as ds_lanes_step(). */
static int await(ds_lanes *l, const errand *a, uint64_t *stop_at, ds_error *e)
{
    while (!ds_spin_until(&l->spin, is_done, a)) {
        if (stop_asked(l)) {
            atomic_store(&a->share->stop, 1);
            *stop_at = *stop_at == 0 ? ds_clock_ns() + STOP_NS : *stop_at;
        }
        if (*stop_at != 0 && ds_clock_ns() > *stop_at) {
            ds_supervisor_kill(a->supervisor);
            return DS_POOL_STOPPED;
        }
        int rc = ds_supervisor_failed(a->supervisor, e);
        if (rc != 0) {
            return rc;
        }
        uint32_t seen = atomic_load(&a->share->done);
        atomic_store(&a->share->wake_at, seen + 1);
        atomic_store(&a->share->waiting, 1);
        if (!is_done(a)) {
            ds_futex_wait(&a->share->done, seen, *stop_at != 0 ? WAIT_NS / 10 : WAIT_NS);
        }
        atomic_store(&a->share->waiting, 0);
    }
    return 0;
}

/* Takes the answer. What a plugin gone wild may have left there is made harmless. */
static void take(const ds_lanes *l, const errand *a, ds_lane_step *s)
{
    const double *head = ds_slot_extra(a->share, a->slot);
    ds_answer *answer = &s->out.answer;
    *answer = a->slot->answer;
    answer->message[sizeof(answer->message) - 1] = '\0';
    s->out.reward = head[DS_SLOT_REWARD];
    s->out.ended = head[DS_SLOT_ENDED] != 0.0;
    if (answer->outcome > DS_EVAL_ERROR || answer->outcome == DS_EVAL_BAD_GRAD ||
        (answer->outcome == DS_EVAL_OK && !(isfinite(answer->loss) && isfinite(s->out.reward)))) {
        answer->outcome = DS_EVAL_INVALID;
    }
    if (answer->outcome == DS_EVAL_OK) {
        memcpy(s->obs, head + DS_SLOT_STEP_HEAD, l->env->rl.n_obs * sizeof(double));
    } else {
        answer->loss = INFINITY;
        s->out.reward = 0.0;
        s->out.ended = 1;
    }
    atomic_store_explicit(&a->slot->state, DS_SLOT_FREE, memory_order_relaxed);
}

static int step_workers(ds_lanes *l, uint64_t count, ds_lane_step *step, ds_error *e)
{
    errand to[DS_EPISODE_LANES];
    uint64_t stop_at = 0;
    for (uint64_t k = 0; k < count; k++) {
        uint32_t w = (uint32_t)(step[k].lane % l->workers);
        int rc = l->supervisor[w] == NULL ? open_worker(l, w, e) : 0;
        if (rc != 0) {
            return rc;
        }
        to[k] = (errand){l->supervisor[w], ds_supervisor_share(l->supervisor[w]), NULL};
    }
    for (uint64_t k = 0; k < count; k++) {
        post(l, &step[k], &to[k]);
    }
    for (uint64_t k = 0; k < count; k++) {
        int rc = await(l, &to[k], &stop_at, e);
        if (rc != 0) {
            return rc;
        }
        take(l, &to[k], &step[k]);
        if (step[k].out.answer.outcome == DS_EVAL_STOPPED) {
            return DS_POOL_STOPPED;
        }
    }
    return 0;
}

int ds_lanes_step(ds_lanes *l, uint64_t count, ds_lane_step *step, ds_error *e)
{
    if (l->dead || stop_asked(l)) {
        return DS_POOL_STOPPED;
    }
    int rc = l->config->isolation == DS_ISOLATION_NONE ? step_local(l, count, step, e)
                                                       : step_workers(l, count, step, e);
    l->dead = rc != 0;
    return rc;
}
