/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - feeds rows to the workers through the ring of slots, and hands out the answers in order. */
#include "config.h"

#include "evaluate/pool.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "evaluate/fix.h"
#include "guest/crash.h"
#include "guest/surroundings.h"
#include "plugin/needs.h"
#include "evaluate/trust.h"
#include "worker/probe.h"

enum {
    SPIN_NS = 40000,  /* longest busy wait for an answer, where a processor is free */
    PUBLISH_ROWS = 16 /* rows handed over at once */
};
#define GROUPS 0x70756f7267ull /* "group": keeps noise groups apart from evaluations */
#define SLOW_SECONDS 200e-6    /* from here on every single answer is worth waking up for */

struct ds_pool {
    ds_pool_config config;
    ds_pool_env env;
    ds_params *params;         /* process isolation */
    ds_supervisor *supervisor; /* process isolation */
    ds_env *local;             /* no isolation */
    double *box;               /* bounds and start where variables are fixed, or NULL */
    double *grad, *out;        /* local: gradients of DS_MAX_ROWS rows; answers about channels of one */
    uint64_t many;             /* local: rows of one call */
    uint64_t tickets;          /* posted so far */
    uint32_t collected;        /* answers taken so far, modulo 2^32 */
    uint32_t processors;
    double typical; /* running mean of the seconds of one evaluation */
    ds_spin spin;
    int dead;    /* stopped for good */
    int watches; /* local: crashes, with this text */
    char crash_text[140];
};

/* ---- open and close ---- */

ds_supervisor_config ds_pool_crew(const ds_pool *p, uint32_t jobs)
{
    const ds_pool_config *c = &p->config;
    return (ds_supervisor_config){.module = c->module,
                                  .params = p->params,
                                  .seed = c->seed,
                                  .threads = c->threads,
                                  .jobs = jobs,
                                  .timeout = c->timeout,
                                  .start_timeout = c->start_timeout,
                                  .memory = c->memory,
                                  .program = c->program,
                                  .stop = c->stop,
                                  .waiting = c->waiting,
                                  .ctx = c->ctx};
}

/* A module that another process has described is loaded after all. */
static int load_here(ds_pool_config *c, ds_error *e)
{
    ds_plugin_file f;
    snprintf(f.path, sizeof(f.path), "%s", c->module->path);
    snprintf(f.id, sizeof(f.id), "%s", c->module->id);
    return c->module->env.create != NULL ? 0 : ds_loader_load(&f, &c->module, e);
}

static int open_local(ds_pool *p, ds_error *e)
{
    ds_pool_config *c = &p->config;
    int rc = ds_need_process(c->module->plugin->desc, "isolation = none", "take isolation = process", e);
    rc = rc != 0 ? rc : load_here(c, e);
    if (rc == 0 && !ds_crash_watched()) {
        snprintf(p->crash_text, sizeof(p->crash_text), "%s, which runs in this process (isolation = none)",
                 c->module->id);
        ds_crash_watch(p->crash_text, NULL, NULL);
        p->watches = 1;
    }
    rc = rc != 0 ? rc : ds_env_open(c->module, c->settings, c->seed, c->threads, c->stop, &p->local, e);
    rc = rc != 0 ? rc : ds_env_ask_variables(p->local, e);
    if (rc != 0) {
        return rc;
    }
    uint64_t n = p->local->info.n, in, out;
    ds_asks_room(&p->local->channels, n, &in, &out);
    ds_score_room(&p->local->score, n, &in, &out);
    p->many = ds_env_rows(p->local);
    p->grad = malloc((p->many * n + out) * sizeof(double));
    if (p->grad == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    p->out = p->grad + p->many * n;
    p->env = ds_env_facts_of(p->local);
    return 0;
}

static int open_crew(ds_pool *p, ds_error *e)
{
    const ds_pool_config *c = &p->config;
    int rc = ds_params_make(c->module->plugin->desc->params, c->module->id, c->settings, DS_SECTION_ENV,
                            &p->params, e);
    ds_supervisor_config cc = ds_pool_crew(p, c->jobs);
    rc = rc != 0 ? rc : ds_supervisor_open(&cc, &p->supervisor, e);
    if (rc != 0) {
        return rc;
    }
    p->env = *ds_supervisor_env_of(p->supervisor);
    p->env.params = p->params;
    return 0;
}

int ds_pool_find_env(ds_pool_config *config, const char *name, ds_error *e)
{
    const ds_probe_config probe = {.program = config->program,
                                   .start_timeout = config->start_timeout,
                                   .stop = config->stop,
                                   .waiting = config->waiting,
                                   .ctx = config->ctx};
    if (ds_trust_check(config->settings, "env", name, e) != 0) {
        return e->status;
    }
    return config->isolation == DS_ISOLATION_NONE
               ? ds_probe_load(name, DS_KIND_ENV, &probe, &config->module, e)
               : ds_probe_open(name, DS_KIND_ENV, &probe, &config->module, e);
}

int ds_pool_open(const ds_pool_config *config, ds_pool **out, ds_error *e)
{
    if (ds_trust_check_parameters(config->settings, config->module, e) != 0) {
        return e->status;
    }
    ds_pool *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    p->config = *config;
    p->processors = ds_processors();
    p->spin = (ds_spin){SPIN_NS, SPIN_NS};
    int rc = config->isolation == DS_ISOLATION_NONE ? open_local(p, e) : open_crew(p, e);
    rc = rc != 0 ? rc : ds_fix_apply(config->settings, config->module->id, &p->env, &p->box, e);
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
        ds_supervisor_close(p->supervisor);
        ds_env_close(p->local);
        if (p->watches) {
            ds_crash_unwatch();
        }
        ds_params_free(p->params);
        free(p->grad);
        free(p->box);
        free(p);
    }
}

const ds_pool_config *ds_pool_config_in(const ds_pool *p)
{
    return &p->config;
}

ds_env *ds_pool_local(const ds_pool *p)
{
    return p->local;
}

const ds_pool_env *ds_pool_env_of(const ds_pool *p)
{
    return &p->env;
}

/* 52 bits and never 0: it survives being written as a number anywhere. */
static uint64_t key_from(uint64_t bits)
{
    return (bits >> 12) | 1u;
}

uint64_t ds_noise_key_of(uint64_t seed, uint64_t id)
{
    return key_from(ds_random_mix(ds_random_mix(seed) ^ id));
}

uint64_t ds_pool_noise_key(const ds_pool *p, uint64_t id, uint64_t group)
{
    if (!p->env.stochastic || p->config.exact) {
        return p->env.stochastic ? p->config.noise_key : 0;
    }
    uint64_t seed = ds_random_mix(p->config.seed);
    return group != 0 ? key_from(ds_random_mix(ds_random_mix(seed ^ GROUPS) ^ group))
                      : ds_noise_key_of(p->config.seed, id);
}

static int stop_asked(const ds_pool *p)
{
    return p->config.stop != NULL && atomic_load_explicit(p->config.stop, memory_order_relaxed) != 0;
}

/* What is asked, and who gets the answers. */
typedef struct question {
    const ds_pool_question *q;
    ds_pool_sink *sink;
    void *ctx;
} question;

static uint64_t key_of(const ds_pool *p, const ds_pool_question *q, uint64_t row)
{
    return q->key != NULL ? q->key[row]
                          : ds_pool_noise_key(p, q->first + row, q->noise != NULL ? q->noise[row] : 0);
}

/* ---- without isolation ---- */

/* Evaluates rows from i on, as many as go into one call; returns their number. */
static uint64_t ask_local(ds_pool *p, const ds_pool_question *q, uint64_t i, ds_answer *a)
{
    uint64_t n = p->env.info.n, rows = q->count - i < p->many ? q->count - i : p->many, key[DS_MAX_ROWS];
    ds_answer *answer[DS_MAX_ROWS];
    const double *x = q->x + i * n;
    rows = q->asks != NULL ? 1 : rows;
    for (uint64_t k = 0; k < rows; k++) {
        key[k] = key_of(p, q, i + k);
        answer[k] = &a[k];
    }
    if ((q->want & DS_WANT_GRAD) != 0) {
        memset(p->grad, 0xff, rows * n * sizeof(double)); /* NaN: a gradient that is not filled is noticed */
    }
    if (rows > 1) {
        ds_env_evaluate_many(p->local, rows, x, n, key, q->want, p->grad, answer);
        return rows;
    }
    const ds_inquiry inquiry = {q->asks, q->in != NULL ? q->in + i * q->asks->in : NULL, p->out};
    ds_env_inquire(p->local, x, key[0], q->want, p->grad, q->asks != NULL ? &inquiry : NULL, a);
    return 1;
}

static int evaluate_local(ds_pool *p, const question *asked)
{
    const ds_pool_question *q = asked->q;
    uint64_t n = p->env.info.n;
    int graded = (q->want & DS_WANT_GRAD) != 0, foreign = !p->config.module->own;
    const void *out = q->asks != NULL ? p->out : NULL;
    ds_answer a[DS_MAX_ROWS];
    for (uint64_t i = 0, rows; i < q->count; i += rows) {
        if (stop_asked(p)) {
            return DS_POOL_STOPPED;
        }
        const ds_surroundings ours = foreign ? ds_surroundings_note() : (ds_surroundings){0};
        rows = ask_local(p, q, i, a);
        if (foreign) {
            ds_surroundings_put_back(&ours);
        }
        for (uint64_t k = 0; k < rows; k++) {
            if (a[k].outcome == DS_EVAL_STOPPED) {
                if (stop_asked(p)) {
                    return DS_POOL_STOPPED;
                }
                a[k].outcome = DS_EVAL_INVALID;
                strcpy(a[k].message, "evaluate() returned DS_STOPPED though nobody asked to stop");
            }
            if (asked->sink(asked->ctx, i + k, &a[k], graded ? p->grad + k * n : NULL, out) != 0) {
                return DS_POOL_STOPPED;
            }
        }
    }
    return 0;
}

/* ---- with workers ---- */

/* One batch on its way through the ring. */
typedef struct passage {
    ds_pool *pool;
    ds_ring *share;
    uint64_t base;    /* ticket of row 0 */
    uint64_t sent;    /* rows posted */
    uint64_t head;    /* rows answered */
    uint64_t rows;    /* of a call, but for the last one */
    uint64_t stop_at; /* ds_clock_ns() at which workers are killed; 0 = not stopping */
} passage;

/* Divides a table evenly among the workers: rows of a call, at most as many as the environment takes. */
static uint64_t rows_of_call(const ds_pool *p, const ds_pool_question *q, uint64_t capacity)
{
    const uint64_t jobs = p->config.jobs, part = (q->count + jobs - 1) / jobs;
    const uint64_t most = p->env.rows < capacity ? p->env.rows : capacity;
    const uint64_t calls = (part + most - 1) / most; /* of each worker */
    return q->asks != NULL || (q->want & DS_WANT_SCENE) != 0 ? 1
           : calls == 1                                      ? part
           : jobs == 1                                       ? most
                                                             : (part + calls - 1) / calls;
}

/* Rows of the call that row `row` is part of, from it on. */
static uint64_t rows_from(const passage *b, const ds_pool_question *q, uint64_t row)
{
    const uint64_t rest = b->rows - row % b->rows;
    return rest < q->count - row ? rest : q->count - row;
}

/* What is asked in a row. */
static ds_slot_ask ask_of(const ds_pool *p, const ds_pool_question *q, uint64_t row)
{
    return (ds_slot_ask){.want = q->want,
                         .asks = q->asks != NULL ? q->asks->count : 0,
                         .alone = q->asks != NULL,
                         .noise_key = key_of(p, q, row)};
}

/* The next row of a question. */
static void post_next(passage *b, const ds_pool_question *q)
{
    ds_ring *s = b->share;
    uint64_t row = b->sent++;
    ds_slot_ask ask = ask_of(b->pool, q, row);
    ask.rows = rows_from(b, q, row);
    ds_slot *slot = ds_ring_fill(s, b->base + row, &ask, q->x + row * s->at.n, s->at.n);
    if (q->asks != NULL) {
        *ds_slot_asks(s, slot) = *q->asks;
    }
    if (q->in != NULL) {
        memcpy(ds_slot_in(s, slot), q->in + row * q->asks->in, q->asks->in * sizeof(double));
    }
    ds_slot_post(slot);
}

/* Sleeps until answers may have arrived. 0 = look again, else the pool has stopped or failed. */
static int await(passage *b, ds_error *e)
{
    ds_pool *p = b->pool;
    ds_slot *head = ds_ring_slot(b->share, b->base + b->head);
    p->spin.max_ns = b->sent - b->head < p->processors ? SPIN_NS : 0;
    if (ds_spin_until(&p->spin, ds_slot_done, head)) {
        return 0;
    }
    /* Quick answers are taken in bulk: wake up when half of what is missing is there. */
    uint32_t seen = atomic_load(&b->share->head->done);
    uint64_t there = (uint32_t)(seen - p->collected);
    uint64_t open = b->sent - b->head > there ? b->sent - b->head - there : 1;
    uint32_t few = p->typical > SLOW_SECONDS || open < 2 ? 1 : (uint32_t)(open / 2);
    return ds_supervisor_sleep(p->supervisor, b->base + b->head, seen + few, &b->stop_at, e);
}

/* Takes the answer of the row at the head; *grad points into the shared memory. */
static void take_answer(const passage *b, const ds_pool_question *q, const ds_slot *slot, const double *grad,
                        ds_answer *a)
{
    const ds_pool *p = b->pool;
    const ds_slot_ask ask = ask_of(p, q, b->head);
    ds_slot_answer(slot, &ask, q->x + b->head * b->share->at.n, b->share->at.n, a);
    if (grad != NULL && a->outcome == DS_EVAL_OK && !ds_all_finite(grad, b->share->at.n)) {
        ds_answer_fail(a, DS_EVAL_INVALID, "its gradient was overwritten in the memory of the workers");
    }
}

/* Takes the answers that are there, in order. */
static int collect(passage *b, const question *asked, ds_error *e)
{
    ds_pool *p = b->pool;
    const ds_pool_question *q = asked->q;
    ds_answer answer, *a = &answer;
    while (b->head < b->sent) {
        ds_slot *slot = ds_ring_slot(b->share, b->base + b->head);
        if (!ds_slot_done(slot)) {
            break;
        }
        const double *grad = (q->want & DS_WANT_GRAD) != 0 ? ds_slot_grad(b->share, slot) : NULL;
        take_answer(b, q, slot, grad, a);
        if (a->outcome == DS_EVAL_STOPPED) {
            return atomic_load(&b->share->stopped) != 0 ? DS_POOL_STOPPED
                                                        : ds_supervisor_spoilt(p->supervisor, e);
        }
        p->typical += 0.1 * (a->wall_s - p->typical);
        const void *out = q->asks != NULL ? ds_slot_out(b->share, slot) : NULL;
        int enough = asked->sink(asked->ctx, b->head, a, grad, out);
        atomic_store_explicit(&slot->state, DS_SLOT_FREE, memory_order_relaxed);
        p->collected++;
        b->head++;
        if (enough) {
            return DS_POOL_STOPPED;
        }
    }
    return 0;
}

/* Posts the rows of the next call, where they all fit. 0 = they do not. */
static int post_call(passage *b, const ds_pool_question *q)
{
    if (b->sent == q->count || b->stop_at != 0) {
        return 0;
    }
    uint64_t rows = rows_from(b, q, b->sent);
    if (b->sent - b->head + rows > b->share->at.capacity) {
        return 0;
    }
    const int single = b->rows == 1;
    while (rows-- > 0) {
        post_next(b, q);
    }
    if (!single || b->sent == 1 || b->sent % PUBLISH_ROWS == 0) {
        ds_ring_publish(b->share, b->base + b->sent);
    }
    return 1;
}

static int evaluate_crew(ds_pool *p, const question *asked, ds_error *e)
{
    const ds_pool_question *q = asked->q;
    uint64_t count = q->count;
    ds_ring *s = ds_supervisor_share(p->supervisor);
    passage b = {.pool = p, .share = s, .base = p->tickets, .rows = rows_of_call(p, q, s->at.capacity)};
    int rc = 0;
    ds_supervisor_want(p->supervisor, count < p->config.jobs ? (uint32_t)count : p->config.jobs);
    while (b.head < count && rc == 0) {
        if (stop_asked(p) && b.sent == b.head) {
            rc = DS_POOL_STOPPED;
            break;
        }
        while (post_call(&b, q)) {
        }
        ds_ring_publish(s, b.base + b.sent);
        uint64_t before = b.head;
        rc = collect(&b, asked, e);
        if (rc == 0 && b.head == before && b.head < count) {
            rc = await(&b, e);
        }
    }
    p->tickets = b.base + b.sent;
    if (b.head == count) {
        p->collected = atomic_load(&s->head->done); /* a worker that died may have missed counting */
    }
    if (rc != 0) {
        ds_ring_stop(s);
        p->dead = 1;
    }
    return rc;
}

int ds_pool_ask(ds_pool *p, const ds_pool_question *q, ds_pool_sink *sink, void *ctx, ds_error *e)
{
    const question asked = {q, sink, ctx};
    if (p->dead) {
        return DS_POOL_STOPPED;
    }
    return p->local != NULL ? evaluate_local(p, &asked) : evaluate_crew(p, &asked, e);
}

int ds_pool_evaluate(ds_pool *p, uint64_t count, const double *x, uint32_t want, uint64_t first,
                     ds_pool_sink *sink, void *ctx, ds_error *e)
{
    const ds_pool_question q = {.count = count, .x = x, .want = want, .first = first};
    return ds_pool_ask(p, &q, sink, ctx, e);
}

/* ---- the contract of a batch ---- */

static int refuse(char text[DS_BATCH_TEXT], const char *why)
{
    snprintf(text, DS_BATCH_TEXT, "%s", why);
    return 0;
}

static int rows_allowed(const ds_batch *b, const ds_problem *problem, char text[DS_BATCH_TEXT])
{
    uint64_t n = problem->n;
    for (uint64_t row = 0; row < b->count; row++) {
        const double *x = b->x + row * n;
        for (uint64_t i = 0; i < n; i++) {
            if (!(x[i] >= problem->lower[i] && x[i] <= problem->upper[i])) { /* also catches NaN */
                snprintf(text, DS_BATCH_TEXT,
                         "row %llu of %llu, variable %llu is %s, outside of its bounds %s..%s",
                         (unsigned long long)row, (unsigned long long)b->count, (unsigned long long)i,
                         DS_TEXT_OF(x[i]), DS_TEXT_OF(problem->lower[i]), DS_TEXT_OF(problem->upper[i]));
                return 0;
            }
        }
    }
    return 1;
}

int ds_batch_allowed(const ds_batch *b, const ds_problem *problem, char text[DS_BATCH_TEXT])
{
    if (b->count == 0 || b->x == NULL || b->loss == NULL) {
        return refuse(text, "count is 0, or x or loss is NULL");
    }
    if ((b->want & ~(uint32_t)DS_WANT_GRAD) != 0) {
        return refuse(text, "want holds more than DS_WANT_GRAD");
    }
    if ((b->want & DS_WANT_GRAD) != 0 && (!problem->has_gradient || b->grad == NULL)) {
        return refuse(text, problem->has_gradient
                                ? "a gradient is wanted but grad is NULL"
                                : "a gradient is wanted, which the environment does not have");
    }
    return rows_allowed(b, problem, text);
}
