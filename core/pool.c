/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - feeds rows to the workers through the ring of slots, and hands out the answers in order. */
#include "config.h"

#include "pool.h"

#include <diffsim/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crew.h"
#include "episode_pool.h"
#include "share.h"

enum {
    SPIN_NS = 40000,      /* longest busy wait for an answer, where a processor is free */
    WAIT_NS = 50000000,   /* longest sleep between two looks at the stop flag */
    STOP_NS = 1000000000, /* evaluations in hand get this long to notice that they should stop */
    PUBLISH_ROWS = 16     /* rows handed over at once */
};
#define SLOW_SECONDS 200e-6 /* from here on every single answer is worth waking up for */

struct ds_pool {
    ds_pool_config config;
    ds_pool_env env;
    ds_params *params;
    ds_crew *crew;       /* process isolation */
    ds_crew *scene_crew; /* made when first needed */
    ds_env *local;       /* no isolation */
    ds_lanes *lanes;     /* made when first needed */
    double *grad;        /* local: gradient of one row */
    uint64_t tickets;    /* posted so far */
    uint32_t collected;  /* answers taken so far, modulo 2^32 */
    uint32_t processors;
    double typical; /* running mean of the seconds of one evaluation */
    ds_spin spin;
    int dead; /* stopped for good */
};

/* ---- open and close ---- */

static ds_crew_config crew_config(const ds_pool *p, uint32_t jobs)
{
    const ds_pool_config *c = &p->config;
    return (ds_crew_config){.module = c->module,
                            .params = p->params,
                            .seed = c->seed,
                            .threads = c->threads,
                            .jobs = jobs,
                            .timeout = c->timeout,
                            .memory = c->memory,
                            .program = c->program,
                            .stop = c->stop};
}

static int open_local(ds_pool *p, ds_error *e)
{
    const ds_pool_config *c = &p->config;
    int rc = ds_env_open(c->module, c->settings, c->seed, c->threads, c->stop, &p->local, e);
    if (rc != 0) {
        return rc;
    }
    p->grad = malloc(p->local->info.n * sizeof(double));
    if (p->grad == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    p->env.info = p->local->info;
    p->env.lower = p->local->lower;
    p->env.upper = p->local->upper;
    p->env.x0 = p->local->x0;
    p->env.has_gradient = p->local->has_gradient;
    p->env.rl = p->local->rl_info;
    return 0;
}

static int open_crew(ds_pool *p, ds_error *e)
{
    ds_crew_config cc = crew_config(p, p->config.jobs > 0 ? p->config.jobs : 1);
    int rc = ds_crew_open(&cc, &p->crew, e);
    if (rc != 0) {
        return rc;
    }
    const ds_crew_env *env = ds_crew_env_of(p->crew);
    p->env.info = env->info;
    p->env.lower = env->lower;
    p->env.upper = env->upper;
    p->env.x0 = env->x0;
    p->env.has_gradient = env->has_gradient;
    p->env.rl = env->rl;
    return 0;
}

int ds_pool_open(const ds_pool_config *config, ds_pool **out, ds_error *e)
{
    ds_pool *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    const ds_desc *desc = config->module->plugin->desc;
    p->config = *config;
    p->processors = ds_processors();
    p->spin = (ds_spin){SPIN_NS, SPIN_NS};
    int rc =
        ds_params_make(desc->params, config->module->id, config->settings, DS_SECTION_ENV, &p->params, e);
    p->env.params = p->params;
    p->env.stochastic = (desc->flags & DS_ENV_STOCHASTIC) != 0;
    if (rc == 0) {
        rc = config->isolation == DS_ISOLATION_NONE ? open_local(p, e) : open_crew(p, e);
    }
    if (rc != 0) {
        ds_pool_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void ds_pool_close(ds_pool *p)
{
    if (p != NULL) {
        ds_lanes_close(p->lanes);
        ds_crew_close(p->scene_crew);
        ds_crew_close(p->crew);
        ds_env_close(p->local);
        ds_params_free(p->params);
        free(p->grad);
        free(p);
    }
}

ds_lanes *ds_pool_lanes(ds_pool *p, ds_error *e)
{
    if (p->lanes == NULL && ds_lanes_open(&p->config, &p->env, &p->lanes, e) != 0) {
        return NULL;
    }
    return p->lanes;
}

const ds_pool_env *ds_pool_env_of(const ds_pool *p)
{
    return &p->env;
}

uint64_t ds_pool_noise_key(const ds_pool *p, uint64_t id)
{
    if (!p->env.stochastic || p->config.exact) {
        return p->env.stochastic ? p->config.noise_key : 0;
    }
    /* 52 bits and never 0: it survives being written as a number anywhere. */
    return (ds_random_mix(ds_random_mix(p->config.seed) ^ id) >> 12) | 1u;
}

static int stop_asked(const ds_pool *p)
{
    return p->config.stop != NULL && atomic_load_explicit(p->config.stop, memory_order_relaxed) != 0;
}

/* ---- without isolation ---- */

static int evaluate_local(ds_pool *p, uint64_t count, const double *x, uint32_t want, uint64_t first,
                          ds_pool_sink *sink, void *ctx)
{
    uint64_t n = p->env.info.n;
    double *grad = (want & DS_WANT_GRAD) != 0 ? p->grad : NULL;
    ds_answer a;
    for (uint64_t i = 0; i < count; i++) {
        if (stop_asked(p)) {
            return DS_POOL_STOPPED;
        }
        if (grad != NULL) {
            memset(grad, 0xff, n * sizeof(double)); /* NaN: a gradient that is not filled is noticed */
        }
        ds_status st = ds_env_evaluate(p->local, x + i * n, ds_pool_noise_key(p, first + i), want, grad, &a);
        if (st == DS_STOPPED) {
            if (stop_asked(p)) {
                return DS_POOL_STOPPED;
            }
            a.outcome = DS_EVAL_INVALID;
            strcpy(a.message, "evaluate() returned DS_STOPPED though nobody asked to stop");
        }
        if (sink(ctx, i, &a, grad) != 0) {
            return DS_POOL_STOPPED;
        }
    }
    return 0;
}

/* ---- with workers ---- */

/* One batch on its way through the ring. */
typedef struct passage {
    ds_pool *pool;
    ds_share *share;
    uint64_t base;    /* ticket of row 0 */
    uint64_t sent;    /* rows posted */
    uint64_t head;    /* rows answered */
    uint64_t stop_at; /* ds_clock_ns() at which workers are killed; 0 = not stopping */
} passage;

static void publish(passage *b)
{
    ds_share *s = b->share;
    uint64_t ticket = b->base + b->sent;
    uint64_t fresh = ticket - atomic_load_explicit(&s->posted, memory_order_relaxed);
    if (fresh == 0) {
        return;
    }
    atomic_store(&s->posted, ticket);
    atomic_fetch_add(&s->work, 1);
    uint32_t sleepers = atomic_load(&s->sleepers);
    if (sleepers > 0) {
        ds_futex_wake(&s->work, (int)(fresh < sleepers ? fresh : sleepers));
    }
}

static void post_row(passage *b, const double *x, uint32_t want, uint64_t noise_key, uint32_t keep)
{
    ds_slot *slot = ds_share_slot(b->share, b->base + b->sent);
    slot->want = want;
    slot->keep = keep;
    slot->noise_key = noise_key;
    memcpy(ds_slot_x(slot), x, b->share->n * sizeof(double));
    atomic_store_explicit(&slot->state, DS_SLOT_POSTED, memory_order_release);
    b->sent++;
}

static int head_done(const void *ctx)
{
    const passage *b = ctx;
    ds_slot *slot = ds_share_slot(b->share, b->base + b->head);
    return atomic_load_explicit(&slot->state, memory_order_acquire) == DS_SLOT_DONE;
}

/* What a worker, or a plugin gone wild in it, may have left in an answer is made harmless. */
static void tidy(ds_answer *a)
{
    a->message[sizeof(a->message) - 1] = '\0';
    if (a->outcome > DS_EVAL_ERROR || (a->outcome <= DS_EVAL_BAD_GRAD && !isfinite(a->loss))) {
        a->outcome = DS_EVAL_INVALID;
    }
    if (a->outcome > DS_EVAL_BAD_GRAD) {
        a->loss = INFINITY;
    }
}

/* Sleeps until answers may have arrived. 0 = look again, else the pool has stopped or failed. */
static int await(passage *b, ds_error *e)
{
    ds_pool *p = b->pool;
    ds_share *s = b->share;
    p->spin.max_ns = b->sent - b->head < p->processors ? SPIN_NS : 0;
    if (ds_spin_until(&p->spin, head_done, b)) {
        return 0;
    }
    if (stop_asked(p) && b->stop_at == 0) {
        atomic_store(&s->stop, 1);
        b->stop_at = ds_clock_ns() + STOP_NS;
    }
    if (b->stop_at != 0 && ds_clock_ns() > b->stop_at) {
        ds_crew_kill(p->crew);
        return DS_POOL_STOPPED;
    }
    int rc = ds_crew_failed(p->crew, e);
    if (rc != 0) {
        return rc;
    }
    /* Quick answers are taken in bulk: wake up when half of what is missing is there. */
    uint32_t seen = atomic_load(&s->done);
    uint64_t there = (uint32_t)(seen - p->collected);
    uint64_t open = b->sent - b->head > there ? b->sent - b->head - there : 1;
    uint32_t few = p->typical > SLOW_SECONDS || open < 2 ? 1 : (uint32_t)(open / 2);
    atomic_store(&s->wake_at, seen + few);
    atomic_store(&s->waiting, 1);
    uint32_t now = atomic_load(&s->done);
    if (!head_done(b) && (int32_t)(now - (seen + few)) < 0) {
        ds_futex_wait(&s->done, now, b->stop_at != 0 ? WAIT_NS / 10 : WAIT_NS);
    }
    atomic_store(&s->waiting, 0);
    return 0;
}

/* Takes the answers that are there, in order. */
static int collect(passage *b, ds_pool_sink *sink, void *ctx, uint32_t want)
{
    ds_pool *p = b->pool;
    while (b->head < b->sent && head_done(b)) {
        ds_slot *slot = ds_share_slot(b->share, b->base + b->head);
        ds_answer *a = &slot->answer;
        tidy(a);
        if (a->outcome == DS_EVAL_STOPPED) {
            return DS_POOL_STOPPED;
        }
        p->typical += 0.1 * (a->wall - p->typical);
        int enough = sink(ctx, b->head, a, (want & DS_WANT_GRAD) != 0 ? ds_slot_grad(b->share, slot) : NULL);
        atomic_store_explicit(&slot->state, DS_SLOT_FREE, memory_order_relaxed);
        p->collected++;
        b->head++;
        if (enough) {
            return DS_POOL_STOPPED;
        }
    }
    return 0;
}

static int evaluate_crew(ds_pool *p, uint64_t count, const double *x, uint32_t want, uint64_t first,
                         ds_pool_sink *sink, void *ctx, ds_error *e)
{
    ds_share *s = ds_crew_share(p->crew);
    passage b = {.pool = p, .share = s, .base = p->tickets};
    int rc = 0;
    ds_crew_want(p->crew, count < p->config.jobs ? (uint32_t)count : p->config.jobs);
    while (b.head < count && rc == 0) {
        if (stop_asked(p) && b.sent == b.head) {
            rc = DS_POOL_STOPPED;
            break;
        }
        while (b.sent < count && b.sent - b.head < s->capacity && b.stop_at == 0) {
            post_row(&b, x + b.sent * s->n, want, ds_pool_noise_key(p, first + b.sent), 0);
            if (b.sent == 1 || b.sent % PUBLISH_ROWS == 0) {
                publish(&b);
            }
        }
        publish(&b);
        uint64_t before = b.head;
        rc = collect(&b, sink, ctx, want);
        if (rc == 0 && b.head == before && b.head < count) {
            rc = await(&b, e);
        }
    }
    p->tickets = b.base + b.sent;
    if (b.head == count) {
        p->collected = atomic_load(&s->done); /* a worker that died may have missed counting */
    }
    if (rc != 0) {
        atomic_store(&s->stop, 1);
        p->dead = 1;
    }
    return rc;
}

int ds_pool_evaluate(ds_pool *p, uint64_t count, const double *x, uint32_t want, uint64_t first,
                     ds_pool_sink *sink, void *ctx, ds_error *e)
{
    if (p->dead) {
        return DS_POOL_STOPPED;
    }
    return p->local != NULL ? evaluate_local(p, count, x, want, first, sink, ctx)
                            : evaluate_crew(p, count, x, want, first, sink, ctx, e);
}

/* ---- scenes ---- */

static int scene_local(ds_pool *p, const double *x, uint64_t noise_key, uint32_t keep, ds_answer *a,
                       ds_scenedata **out, ds_error *e)
{
    static const uint64_t few[] = {0, DS_SCENE_MIDDLE, DS_SCENE_LAST};
    const ds_scene *ext = ds_env_scene(p->local);
    const atomic_int *stop = p->local->services.stop;
    p->local->services.stop = NULL; /* the picture of a stopped run is still wanted */
    ds_env_evaluate(p->local, x, noise_key, DS_WANT_SCENE, NULL, a);
    p->local->services.stop = stop;
    if (ext == NULL || a->outcome > DS_EVAL_INFEASIBLE) {
        return 0;
    }
    return ds_scenedata_collect(ext, p->local->self, keep == DS_KEEP_ALL ? NULL : few,
                                keep == DS_KEEP_FEW ? 3 : 0, out, e);
}

static int scene_crew(ds_pool *p, const double *x, uint64_t noise_key, uint32_t keep, ds_answer *a,
                      ds_scenedata **out, ds_error *e)
{
    if (p->scene_crew == NULL) {
        ds_crew_config cc = crew_config(p, 1);
        cc.capacity = 2;
        cc.stop = NULL;
        int rc = ds_crew_open(&cc, &p->scene_crew, e);
        if (rc != 0) {
            return rc;
        }
    }
    ds_share *s = ds_crew_share(p->scene_crew);
    passage b = {.pool = p, .share = s, .base = atomic_load(&s->posted)};
    post_row(&b, x, DS_WANT_SCENE, noise_key, keep);
    publish(&b);
    while (!head_done(&b)) {
        int rc = ds_crew_failed(p->scene_crew, e);
        if (rc != 0) {
            return rc;
        }
        uint32_t seen = atomic_load(&s->done);
        atomic_store(&s->wake_at, seen + 1);
        atomic_store(&s->waiting, 1);
        if (!head_done(&b)) {
            ds_futex_wait(&s->done, seen, WAIT_NS);
        }
    }
    ds_slot *slot = ds_share_slot(s, b.base);
    *a = slot->answer;
    tidy(a);
    atomic_store(&slot->state, DS_SLOT_FREE);
    int fd = ds_crew_scene_fd(p->scene_crew);
    if (a->outcome > DS_EVAL_INFEASIBLE || lseek(fd, 0, SEEK_END) <= 0) {
        return 0;
    }
    return ds_scenedata_read_fd(fd, out, e);
}

int ds_pool_scene(ds_pool *p, const double *x, uint64_t noise_key, uint32_t keep, ds_answer *answer,
                  ds_scenedata **out, ds_error *e)
{
    *out = NULL;
    return p->local != NULL ? scene_local(p, x, noise_key, keep, answer, out, e)
                            : scene_crew(p, x, noise_key, keep, answer, out, e);
}
