/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - evaluates rows in this process, or feeds them to workers through the ring of slots; hands out
 * results in order.
 *
 * With workers, a pool_call (evaluations, steps, or steps backwards) travels through one ring as a transfer,
 * or, for lanes, through one ring per lane worker. Rows are posted call by call while the ring has room,
 * results are taken in the order of the rows, and the thread spins for a moment before it sleeps in the
 * supervisor. Evaluations are divided evenly among the workers; a call never holds more rows than the
 * environment takes. */
#include "config.h"

#include "evaluate/pool.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/program.h"
#include "base/text.h"
#include "config/expect.h"
#include "evaluate/fix.h"
#include "protect/crash.h"
#include "protect/call_state.h"
#include "plugin/instance.h"
#include "evaluate/trust.h"
#include "worker/process.h"

enum {
    SPIN_NS = 40000, /* longest busy wait for a result while a processor is idle */
    AHEAD = 4,       /* slots that are fetched before they are used */
    LANES = 64       /* lanes to use of an environment that holds fewer in one instance */
};
#define GROUPS 0x70756f7267ull /* "group": separates noise groups from evaluations */
#define SLOW_SECONDS 200e-6    /* from here on, wake up for every single result */
/* A sleep and a wake-up cost as much as some microseconds of evaluations, so work worth less than this is not
 * worth one: of a worker when rows are published, of the host when results arrive. */
#define WAKE_SECONDS 100e-6
#define ROW_SECONDS 0.1e-6 /* what a worker needs for a row beside the evaluation */

struct ds_pool {
    ds_pool_config config;
    ds_pool_env env;
    ds_params *params;         /* process isolation */
    ds_supervisor *supervisor; /* process isolation */
    ds_env *local;             /* no isolation */
    double *box;               /* bounds and x0 where variables are fixed, or NULL */
    double *grad;              /* local: gradients of max_rows rows */
    uint64_t *out;             /* local: results of queries of max_rows rows */
    uint64_t *key;             /* local: of max_rows rows */
    ds_answer *answer, **list; /* local: of max_rows rows */
    /* Stepwise control: lane l belongs to lane worker l % lane_workers, as its lane l / lane_workers. Each
     * lane worker is a supervisor of one process. Without isolation all lanes are in `lanes`. */
    ds_lane_set lanes;
    ds_supervisor **lane_worker; /* NULL until needed */
    uint32_t lane_workers;
    uint32_t processors;
    double typical;      /* running mean of the seconds of one evaluation; 0 = unknown */
    uint64_t mixed_seed; /* of the run, for noise keys */
    ds_spin spin;
    int dead;    /* stopped for good */
    int watches; /* local: the crash handler is set, with this text */
    char crash_text[140];
};

/* ---- open and close ---- */

ds_supervisor_config ds_pool_supervisor_config(const ds_pool *p, uint32_t jobs)
{
    const ds_pool_config *c = &p->config;
    return (ds_supervisor_config){.module = c->module,
                                  .params = p->params,
                                  .seed = c->seed,
                                  .threads = c->threads,
                                  .jobs = jobs,
                                  .workers = c->jobs,
                                  .timeout = c->timeout,
                                  .start_timeout = c->start_timeout,
                                  .memory = c->memory,
                                  .program = c->program,
                                  .stop = c->stop,
                                  .waiting = c->waiting,
                                  .ctx = c->ctx};
}

ds_supervisor *ds_pool_supervisor(const ds_pool *p)
{
    return p->supervisor;
}

/* Loads a module that another process described. */
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
    int rc = ds_need_process(c->module->plugin->desc, "isolation = none", "use isolation = process", e);
    rc = rc != 0 ? rc : load_here(c, e);
    if (rc == 0 && !ds_crash_watched()) {
        snprintf(p->crash_text, sizeof(p->crash_text), "%s, which runs in this process (isolation = none)",
                 c->module->id);
        ds_crash_watch(p->crash_text, NULL, NULL);
        p->watches = 1;
    }
    rc = rc != 0 ? rc : ds_env_open(c->module, c->settings, c->seed, c->threads, c->stop, &p->local, e);
    rc = rc != 0 ? rc : ds_env_read_variables(p->local, e);
    if (rc != 0) {
        return rc;
    }
    uint64_t n = p->local->info.n, in, out;
    ds_query_layout_room(&p->local->channels, n, &in, &out);
    ds_score_room(&p->local->score, n, &in, &out);
    p->env = ds_env_facts_of(p->local);
    const uint64_t rows = p->env.max_rows;
    p->grad = malloc(rows * n * sizeof *p->grad);
    p->out = malloc((rows * out + 1) * sizeof *p->out);
    p->key = malloc(rows * sizeof *p->key);
    p->answer = malloc(rows * sizeof *p->answer);
    p->list = malloc(rows * sizeof(ds_answer *));
    if (p->grad == NULL || p->out == NULL || p->key == NULL || p->answer == NULL || p->list == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t k = 0; k < rows; k++) {
        p->list[k] = &p->answer[k];
    }
    return 0;
}

static int open_workers(ds_pool *p, ds_error *e)
{
    const ds_pool_config *c = &p->config;
    int rc = ds_params_make(c->module->plugin->desc->params, c->module->id, c->settings, DS_SECTION_ENV,
                            &p->params, e);
    ds_expect expect = {0}; /* tested here, where messages know the origin of a setting */
    rc = rc != 0 ? rc : ds_expect_make(c->settings, p->params, c->module->id, &expect, e);
    ds_expect_clear(&expect);
    ds_supervisor_config cc = ds_pool_supervisor_config(p, c->jobs);
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
    const ds_describe_config probe = {.program = config->program,
                                      .start_timeout = config->start_timeout,
                                      .stop = config->stop,
                                      .waiting = config->waiting,
                                      .ctx = config->ctx};
    if (ds_trust_check(config->settings, "env", name, e) != 0) {
        return e->status;
    }
    return config->isolation == DS_ISOLATION_NONE
               ? ds_describe_and_load(name, DS_KIND_ENV, &probe, &config->module, e)
               : ds_describe_open(name, DS_KIND_ENV, &probe, &config->module, e);
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
    p->mixed_seed = ds_random_mix(config->seed);
    int rc = config->isolation == DS_ISOLATION_NONE ? open_local(p, e) : open_workers(p, e);
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
        for (uint32_t w = 0; p->lane_worker != NULL && w < p->lane_workers; w++) {
            ds_supervisor_close(p->lane_worker[w]);
        }
        free(p->lane_worker);
        ds_lane_set_close(&p->lanes, NULL);
        ds_supervisor_close(p->supervisor);
        ds_env_close(p->local);
        if (p->watches) {
            ds_crash_unwatch();
        }
        ds_params_free(p->params);
        free(p->grad);
        free(p->out);
        free(p->key);
        free(p->answer);
        free(p->list);
        free(p->box);
        free(p);
    }
}

ds_env *ds_pool_local(const ds_pool *p)
{
    return p->local;
}

const ds_pool_env *ds_pool_env_of(const ds_pool *p)
{
    return &p->env;
}

/* 52 bits and never 0, so that it can be written as a number anywhere. */
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
    return key_from(group != 0 ? ds_random_mix(ds_random_mix(p->mixed_seed ^ GROUPS) ^ group)
                               : ds_random_mix(p->mixed_seed ^ id));
}

static int stop_requested(const ds_pool *p)
{
    return p->config.stop != NULL && atomic_load_explicit(p->config.stop, memory_order_relaxed) != 0;
}

static uint64_t key_of(const ds_pool *p, const ds_pool_request *q, uint64_t row)
{
    return q->key != NULL ? q->key[row]
                          : ds_pool_noise_key(p, q->first + row, q->noise != NULL ? q->noise[row] : 0);
}

/* ---- a call ---- */

/* Rows to process: evaluations, steps of lanes, or steps backwards. */
typedef struct pool_call {
    uint32_t what; /* DS_DO_* */
    uint64_t count;
    /* Evaluations: results go to a sink, in order. */
    const ds_pool_request *q;
    ds_pool_sink *sink;
    void *ctx;
    /* Steps: writes each result to the lane that its row names. */
    ds_lane_step *step;
    ds_lane_back *back;
} pool_call;

/* ---- without isolation ---- */

/* Evaluates rows from i on, as many as fit one call of the plugin; returns their number. */
static uint64_t evaluate_call(ds_pool *p, const ds_pool_request *q, uint64_t i)
{
    const uint64_t n = p->env.info.n, most = (q->want & DS_WANT_SCENE) != 0 ? 1 : p->env.max_rows;
    const uint64_t rows = q->count - i < most ? q->count - i : most;
    for (uint64_t k = 0; k < rows; k++) {
        p->key[k] = key_of(p, q, i + k);
    }
    if ((q->want & DS_WANT_GRAD) != 0) {
        /* NaN shows a gradient that the plugin did not fill */
        memset(p->grad, 0xff, rows * n * sizeof(double));
    }
    const ds_env_rows t = {.count = rows,
                           .want = q->want,
                           .x = q->x + i * n,
                           .x_stride = n,
                           .noise_key = p->key,
                           .queries = q->queries,
                           .in = q->in != NULL ? q->in + i * q->queries->in : NULL,
                           .in_stride = q->queries != NULL ? q->queries->in : 0,
                           .grad = p->grad,
                           .grad_stride = n,
                           .out = p->out,
                           .out_stride = q->queries != NULL ? q->queries->out : 0,
                           .answer = p->list};
    ds_env_evaluate_table(p->local, &t);
    return rows;
}

/* Rejects a stop that was not requested. */
static void reject_stop(ds_answer *a, const char *function)
{
    char text[100];
    snprintf(text, sizeof text, "%s returned DS_STOPPED without a request to stop", function);
    ds_answer_fail(a, DS_EVAL_INVALID, text);
}

static int evaluate_local(ds_pool *p, const pool_call *r)
{
    const ds_pool_request *q = r->q;
    const int graded = (q->want & DS_WANT_GRAD) != 0, third_party = !p->config.module->own;
    for (uint64_t i = 0, rows; i < q->count; i += rows) {
        if (stop_requested(p)) {
            return DS_POOL_STOPPED;
        }
        const ds_call_state ours = third_party ? ds_call_state_save() : (ds_call_state){0};
        rows = evaluate_call(p, q, i);
        if (third_party) {
            ds_call_state_restore(&ours);
        }
        for (uint64_t k = 0; k < rows; k++) {
            ds_answer *a = &p->answer[k];
            if (a->outcome == DS_EVAL_STOPPED) {
                if (stop_requested(p)) {
                    return DS_POOL_STOPPED;
                }
                reject_stop(a, "evaluate()");
            }
            if (r->sink(r->ctx, i + k, a, graded ? p->grad + k * p->env.info.n : NULL,
                        q->queries != NULL ? p->out + k * q->queries->out : NULL) != 0) {
                return DS_POOL_STOPPED;
            }
        }
    }
    return 0;
}

static int make_lane_env(void *ctx, ds_env **out, ds_error *e)
{
    const ds_pool_config *c = &((ds_pool *)ctx)->config;
    return ds_env_open(c->module, c->settings, c->seed, c->threads, c->stop, out, e);
}

static ds_episode_step step_of(ds_lane_step *s, ds_episode *ep)
{
    return (ds_episode_step){
        .episode = ep, .key = s->key, .step = s->step, .x = s->x, .obs = s->obs, .answer = &s->answer};
}

static ds_episode_back back_of(ds_lane_back *b, ds_episode *ep)
{
    return (ds_episode_back){.episode = ep,
                             .key = b->key,
                             .taken = b->taken,
                             .step = b->step,
                             .reward_bar = b->reward_bar,
                             .obs_bar = b->obs_bar,
                             .action_bar = b->action_bar,
                             .answer = &b->answer};
}

/* The rows of a call, in the lanes of this process. */
typedef struct local_lanes {
    ds_episode_step *step, **steps;
    ds_episode_back *back, **backs;
} local_lanes;

static void local_lanes_close(local_lanes *h)
{
    free(h->step);
    free(h->steps);
    free(h->back);
    free(h->backs);
}

static int local_lanes_open(ds_pool *p, const pool_call *r, local_lanes *h, ds_error *e)
{
    const int back = r->what == DS_DO_BACK;
    h->step = back ? NULL : calloc(r->count, sizeof *h->step);
    h->steps = back ? NULL : calloc(r->count, sizeof(ds_episode_step *));
    h->back = back ? calloc(r->count, sizeof *h->back) : NULL;
    h->backs = back ? calloc(r->count, sizeof(ds_episode_back *)) : NULL;
    if (back ? h->back == NULL || h->backs == NULL : h->step == NULL || h->steps == NULL) {
        return ds_no_memory(e);
    }
    p->lanes.make = make_lane_env;
    p->lanes.ctx = p;
    for (uint64_t k = 0; k < r->count; k++) {
        ds_episode *ep = NULL;
        const uint64_t lane = back ? r->back[k].lane : r->step[k].lane;
        int rc = ds_lane_set_find(&p->lanes, lane, p->env.steps.max_lanes, &ep, e);
        if (rc != 0) {
            return rc;
        }
        if (back) {
            h->back[k] = back_of(&r->back[k], ep);
            h->backs[k] = &h->back[k];
        } else {
            h->step[k] = step_of(&r->step[k], ep);
            h->steps[k] = &h->step[k];
        }
    }
    return 0;
}

static int lanes_local(ds_pool *p, const pool_call *r, ds_error *e)
{
    local_lanes h = {0};
    int rc = local_lanes_open(p, r, &h, e);
    ds_status st = DS_OK;
    if (rc == 0) {
        const ds_call_state ours = ds_call_state_save();
        st = r->what == DS_DO_BACK ? ds_episodes_go_back(r->count, h.backs)
                                   : ds_episodes_advance(r->count, h.steps);
        ds_call_state_restore(&ours);
    }
    for (uint64_t k = 0; k < r->count && rc == 0; k++) {
        ds_answer *a = r->what == DS_DO_BACK ? &r->back[k].answer : &r->step[k].answer;
        if (a->outcome == DS_EVAL_STOPPED && !stop_requested(p)) {
            reject_stop(a, r->what == DS_DO_BACK ? "back()" : "step()");
        }
        if (r->what == DS_DO_BACK) {
            r->back[k].lost = h.back[k].lost;
        } else {
            r->step[k].reward = h.step[k].reward;
            r->step[k].ended = h.step[k].ended;
        }
    }
    local_lanes_close(&h);
    return rc != 0 ? rc : st == DS_STOPPED && stop_requested(p) ? DS_POOL_STOPPED : 0;
}

/* ---- with workers ---- */

/* The rows of a call on their way through one ring: all of them, or those of some lanes. */
typedef struct transfer {
    ds_pool *pool;
    const pool_call *r;
    ds_supervisor *supervisor;
    ds_ring *ring;
    const uint64_t *row; /* which rows of the call; NULL = all, in order */
    uint64_t count;      /* how many */
    uint64_t base;       /* ticket of the first */
    uint64_t sent;       /* rows posted */
    uint64_t published;  /* rows that workers were woken for */
    uint64_t head;       /* rows whose results were taken */
    uint64_t rows;       /* of each call of the plugin but the last */
    uint64_t quick;      /* rows that a worker evaluates while another wakes up, at least 1 */
    uint32_t collected;  /* `done` of the ring, modulo 2^32, once all results so far are taken */
    uint64_t stop_at;    /* ds_clock_ns() at which workers are killed; 0 = not stopping */
} transfer;

static uint64_t row_at(const transfer *b, uint64_t i)
{
    return b->row != NULL ? b->row[i] : i;
}

/* Divides a table evenly among the workers. Returns the rows of a call, at most as many as the environment
 * takes. */
static uint64_t rows_of_call(const ds_pool *p, const ds_pool_request *q, uint64_t capacity)
{
    const uint64_t jobs = p->config.jobs, part = (q->count + jobs - 1) / jobs;
    const uint64_t most = p->env.max_rows < capacity ? p->env.max_rows : capacity;
    const uint64_t calls = (part + most - 1) / most; /* of each worker */
    return (q->want & DS_WANT_SCENE) != 0 ? 1
           : calls == 1                   ? part
           : jobs == 1                    ? most
                                          : (part + calls - 1) / calls;
}

static transfer transfer_open(ds_pool *p, const pool_call *r, ds_supervisor *supervisor, const uint64_t *row,
                              uint64_t count)
{
    ds_ring *s = ds_supervisor_share(supervisor);
    /* Lanes that share an instance go into one call. Otherwise each step is a call of its own, so that a
     * crash costs no other lane its time. */
    const uint64_t lanes = p->env.steps.max_lanes > 1 ? (s->at.capacity < count ? s->at.capacity : count) : 1;
    const double quick =
        r->what == DS_DO_EVALUATE && p->typical > 0 ? WAKE_SECONDS / (p->typical + ROW_SECONDS) : 1;
    return (transfer){.pool = p,
                      .r = r,
                      .supervisor = supervisor,
                      .ring = s,
                      .row = row,
                      .count = count,
                      .base = ds_ring_posted(s),
                      .rows = r->what == DS_DO_EVALUATE ? rows_of_call(p, r->q, s->at.capacity) : lanes,
                      .quick = quick > 1 ? (uint64_t)quick : 1,
                      .collected = atomic_load(&s->head->done)};
}

/* Rows of the same call, from row `i` of a transfer on. */
static uint64_t rows_from(const transfer *b, uint64_t i)
{
    const uint64_t rest = b->rows - i % b->rows;
    return rest < b->count - i ? rest : b->count - i;
}

/* What the slot of a row asks for, and the numbers that go with it. */
typedef struct slot_question {
    ds_slot_request request;
    ds_slot_steps steps;
    const ds_slot_steps *taking; /* NULL = no step */
    const double *x;
    uint64_t numbers;
} slot_question;

/* Writes what is the same for all rows of a call. */
static slot_question question_of(const transfer *b)
{
    const pool_call *r = b->r;
    slot_question ask = {.request = {.what = r->what}};
    if (r->what == DS_DO_EVALUATE) {
        ask.request.want = r->q->want;
        ask.request.queries = r->q->queries != NULL ? r->q->queries->count : 0;
        ask.numbers = b->pool->env.info.n;
    } else if (r->what == DS_DO_BACK) {
        ask.request.want = DS_WANT_GRAD;
    }
    return ask;
}

/* Writes the rest for a row. */
static void ask_for(const transfer *b, uint64_t row, slot_question *ask)
{
    const pool_call *r = b->r;
    const ds_pool *p = b->pool;
    if (r->what == DS_DO_EVALUATE) {
        ask->x = r->q->x + row * ask->numbers;
        ask->request.noise_key = key_of(p, r->q, row);
        return;
    }
    ask->taking = &ask->steps;
    if (r->what == DS_DO_STEP) {
        const ds_lane_step *s = &r->step[row];
        ask->x = s->x;
        ask->numbers = s->step * p->env.steps.n_act;
        ask->request.noise_key = s->key;
        ask->steps = (ds_slot_steps){.lane = s->lane / p->lane_workers, .step = s->step};
    } else {
        const ds_lane_back *k = &r->back[row];
        ask->x = k->obs_bar;
        ask->request.noise_key = k->key;
        ask->steps = (ds_slot_steps){.lane = k->lane / p->lane_workers, .step = k->step, .taken = k->taken};
    }
}

/* Posts the next row. */
static void post_next(transfer *b, slot_question *ask)
{
    ds_ring *s = b->ring;
    const pool_call *r = b->r;
    const uint64_t row = row_at(b, b->sent);
    ask_for(b, row, ask);
    ds_slot *slot = ds_ring_fill(s, b->base + b->sent, &ask->request, ask->taking, ask->x, ask->numbers);
    double *extra = ds_slot_extra(s, slot);
    b->sent++;
    if (r->what == DS_DO_BACK) {
        extra[DS_SLOT_REWARD] = r->back[row].reward_bar;
        extra[DS_SLOT_ENDED] = DS_SLOT_UNKNOWN;
        memcpy(extra + DS_SLOT_STEP_HEAD, r->back[row].obs_bar, b->pool->env.steps.n_obs * sizeof(double));
    } else if (r->what == DS_DO_STEP) {
        extra[DS_SLOT_REWARD] = extra[DS_SLOT_ENDED] = 0.0;
    } else if (r->q->queries != NULL) {
        *ds_slot_queries(s, slot) = *r->q->queries;
        if (r->q->queries->in > 0) {
            memcpy(ds_slot_in(s, slot), r->q->in + row * r->q->queries->in,
                   r->q->queries->in * sizeof(double));
        }
    }
    ds_slot_post(slot);
}

static void publish(transfer *b)
{
    ds_ring_publish(b->ring, b->base + b->sent);
    b->published = b->sent;
}

/* Posts the rows of the next call if all fit; 0 = they do not, or none are left. */
static int post_call(transfer *b, slot_question *ask)
{
    if (b->sent == b->count || b->stop_at != 0) {
        return 0;
    }
    const uint64_t rows = rows_from(b, b->sent);
    if (b->sent - b->head + rows > b->ring->at.capacity) {
        return 0;
    }
    for (uint64_t k = 0; k < rows; k++) {
        ask->request.rows = (uint32_t)(rows - k);
        if (b->count - b->sent > AHEAD) {
            ds_ring_fetch(b->ring, b->base + b->sent + AHEAD);
        }
        post_next(b, ask);
    }
    if (b->sent - b->published >= b->quick) {
        publish(b);
    }
    return 1;
}

static void post(transfer *b)
{
    slot_question ask = question_of(b);
    while (post_call(b, &ask)) {
    }
    publish(b);
}

/* Sleeps until results may have arrived. 0 = check again, else the pool has stopped or failed. */
static int await(transfer *b, ds_error *e)
{
    ds_pool *p = b->pool;
    ds_slot *head = ds_ring_slot(b->ring, b->base + b->head);
    p->spin.max_ns = b->sent - b->head < p->processors ? SPIN_NS : 0;
    if (ds_spin_until(&p->spin, ds_slot_done, head)) {
        return 0;
    }
    /* Take quick results in bulk: wake up when half of the missing ones are there, or as many as arrive
     * within the time of a wake-up. */
    uint32_t seen = atomic_load(&b->ring->head->done);
    uint64_t there = (uint32_t)(seen - b->collected);
    uint64_t open = b->sent - b->head > there ? b->sent - b->head - there : 1;
    uint64_t few = open / 2 > b->quick ? open / 2 : open < b->quick ? open : b->quick;
    few = p->typical > SLOW_SECONDS ? 1 : few;
    return ds_supervisor_sleep(b->supervisor, b->base + b->head, seen + (uint32_t)few, &b->stop_at, e);
}

static void mark_corrupt(ds_answer *a)
{
    ds_answer_fail(a, DS_EVAL_INVALID, "its result was overwritten in the memory of the workers");
}

/* Takes the result of a step. Makes harmless what a stray write may have left there. */
static void take_step(const transfer *b, const ds_slot *slot, const double *extra, ds_lane_step *s)
{
    const ds_steps_info *info = &b->pool->env.steps;
    ds_answer *a = &s->answer;
    const double ended = extra[DS_SLOT_ENDED];
    (void)slot;
    s->reward = extra[DS_SLOT_REWARD];
    s->ended = ended == DS_STEPS_TRUNCATED ? DS_STEPS_TRUNCATED : ended == DS_STEPS_TERMINATED;
    int possible = ended == (double)s->ended && (s->ended != DS_STEPS_CONTINUES || s->step < info->horizon) &&
                   isfinite(s->reward);
    if (a->outcome == DS_EVAL_OK) {
        memcpy(s->obs, extra + DS_SLOT_STEP_HEAD, info->n_obs * sizeof(double));
        possible = possible && ds_all_finite(s->obs, info->n_obs);
    }
    if (a->outcome == DS_EVAL_BAD_GRAD || (a->outcome == DS_EVAL_OK && !possible)) {
        mark_corrupt(a);
    }
    if (a->outcome != DS_EVAL_OK) {
        a->loss = INFINITY;
        s->reward = 0.0;
        s->ended = DS_STEPS_TERMINATED;
    }
}

/* The same for a step backwards. */
static void take_back(const transfer *b, const double *grad, const double *extra, ds_lane_back *k)
{
    const uint64_t m = b->pool->env.steps.n_act;
    const double said = extra[DS_SLOT_ENDED];
    ds_answer *a = &k->answer;
    k->lost = a->outcome == DS_EVAL_OK && said == DS_SLOT_LOST;
    memcpy(k->action_bar, grad, m * sizeof(double));
    if (a->outcome == DS_EVAL_OK &&
        ((said != DS_SLOT_BACK && !k->lost) || !ds_all_finite(k->action_bar, m))) {
        mark_corrupt(a);
    }
    if (a->outcome != DS_EVAL_OK || k->lost) {
        memset(k->action_bar, 0, m * sizeof(double));
    }
}

/* Takes the result of a row. Nonzero = enough. */
static int take_row(transfer *b, uint64_t row, ds_slot *slot, ds_answer *a)
{
    const pool_call *r = b->r;
    const ds_ring *s = b->ring;
    const double *grad = ds_slot_grad(s, slot), *extra = ds_slot_extra(s, slot);
    if (r->what == DS_DO_STEP) {
        r->step[row].answer = *a;
        take_step(b, slot, extra, &r->step[row]);
        return 0;
    }
    if (r->what == DS_DO_BACK) {
        r->back[row].answer = *a;
        take_back(b, grad, extra, &r->back[row]);
        return 0;
    }
    const int graded = (r->q->want & DS_WANT_GRAD) != 0;
    if (graded && a->outcome == DS_EVAL_OK && !ds_all_finite(grad, s->at.n)) {
        ds_answer_fail(a, DS_EVAL_INVALID, "its gradient was overwritten in the memory of the workers");
    }
    return r->sink(r->ctx, row, a, graded ? grad : NULL, r->q->queries != NULL ? ds_slot_out(s, slot) : NULL);
}

/* Notes how long some evaluations took together. */
static void note_time(ds_pool *p, uint64_t count, double seconds)
{
    const double mean = seconds / (double)count, weight = count < 10 ? 0.1 * (double)count : 1.0;
    p->typical += (p->typical > 0 ? weight : 1.0) * (mean - p->typical);
}

/* Takes the results that are there, in order. */
static int collect(transfer *b, ds_error *e)
{
    const uint64_t before = b->head;
    slot_question ask = question_of(b);
    ds_answer a = {.loss = 0};
    double seconds = 0;
    int enough = 0;
    while (b->head < b->sent && !enough) {
        ds_slot *slot = ds_ring_slot(b->ring, b->base + b->head);
        if (!ds_slot_done(slot)) {
            break;
        }
        if (b->sent - b->head > AHEAD) {
            ds_ring_fetch(b->ring, b->base + b->head + AHEAD);
        }
        const uint64_t row = row_at(b, b->head);
        ask_for(b, row, &ask);
        ds_slot_answer(b->ring, slot, &ask.request, ask.taking, ask.x, ask.numbers, &a);
        if (a.outcome == DS_EVAL_STOPPED) {
            return atomic_load(&b->ring->stopped) != 0 ? DS_POOL_STOPPED
                                                       : ds_supervisor_corrupt(b->supervisor, e);
        }
        seconds += a.wall_s;
        enough = take_row(b, row, slot, &a);
        atomic_store_explicit(&slot->state, DS_SLOT_FREE, memory_order_relaxed);
        b->collected++;
        b->head++;
    }
    if (b->r->what == DS_DO_EVALUATE && b->head > before) {
        note_time(b->pool, b->head - before, seconds);
    }
    return enough ? DS_POOL_STOPPED : 0;
}

/* Runs a transfer to its end. */
static int finish(transfer *b, ds_error *e)
{
    int rc = 0;
    while (b->head < b->count && rc == 0) {
        if (stop_requested(b->pool) && b->sent == b->head) {
            return DS_POOL_STOPPED;
        }
        post(b);
        uint64_t before = b->head;
        rc = collect(b, e);
        if (rc == 0 && b->head == before && b->head < b->count) {
            rc = await(b, e);
        }
    }
    return rc;
}

static int evaluate_workers(ds_pool *p, const pool_call *r, ds_error *e)
{
    transfer b = transfer_open(p, r, p->supervisor, NULL, r->count);
    ds_supervisor_want(p->supervisor, r->count < p->config.jobs ? (uint32_t)r->count : p->config.jobs);
    return finish(&b, e);
}

/* ---- lanes in workers: each lane worker keeps the instances of its lanes ---- */

uint64_t ds_pool_lanes(const ds_pool *p)
{
    return p->env.steps.max_lanes > LANES ? p->env.steps.max_lanes : LANES;
}

static int open_lane_workers(ds_pool *p, ds_error *e)
{
    const uint64_t lanes = ds_pool_lanes(p), each = p->env.steps.max_lanes;
    const uint64_t jobs = p->config.jobs < lanes ? p->config.jobs : lanes;
    const int own_process = (p->config.module->plugin->desc->flags & DS_ENV_OWN_PROCESS) != 0;
    p->lane_workers =
        (uint32_t)(own_process && (lanes + each - 1) / each > jobs ? (lanes + each - 1) / each : jobs);
    /* A failure here is not final: each supervisor reserves again, and reports it. */
    enum { FILES_OF_ALL = 3 /* of a supervisor */ };
    ds_files_reserve((uint64_t)(FILES_OF_ALL + DS_FILES_PER_WORKER) * p->lane_workers + DS_FILES_SPARE, NULL,
                     NULL);
    p->lane_worker = calloc(p->lane_workers, sizeof(ds_supervisor *));
    return p->lane_worker != NULL ? 0 : ds_no_memory(e);
}

static int open_lane_worker(ds_pool *p, uint32_t w, ds_error *e)
{
    ds_supervisor_config config = ds_pool_supervisor_config(p, 1);
    config.first = w < p->config.jobs ? w : p->config.jobs - 1;
    config.capacity = (ds_pool_lanes(p) + p->lane_workers - 1) / p->lane_workers;
    config.extra = DS_SLOT_STEP_HEAD + p->env.steps.n_obs;
    return ds_supervisor_open(&config, &p->lane_worker[w], e);
}

static uint32_t lane_worker_of(const ds_pool *p, const pool_call *r, uint64_t row)
{
    return (uint32_t)((r->what == DS_DO_BACK ? r->back[row].lane : r->step[row].lane) % p->lane_workers);
}

/* Sends rows `first` .. `end` - 1 to the workers of their lanes, and waits for all of them. `row` has room
 * for as many, `b` for one transfer per lane worker. */
static int call_lane_workers(ds_pool *p, const pool_call *r, uint64_t first, uint64_t end, uint64_t *row,
                             transfer *b, ds_error *e)
{
    uint64_t at = 0;
    uint32_t used = 0;
    int rc = 0;
    for (uint32_t w = 0; w < p->lane_workers && rc == 0; w++) {
        const uint64_t begin = at;
        for (uint64_t k = first; k < end; k++) {
            if (lane_worker_of(p, r, k) == w) {
                row[at++] = k;
            }
        }
        if (at > begin && p->lane_worker[w] == NULL) {
            rc = open_lane_worker(p, w, e);
        }
        if (at > begin && rc == 0) {
            b[used++] = transfer_open(p, r, p->lane_worker[w], row + begin, at - begin);
        }
    }
    for (uint32_t i = 0; i < used && rc == 0; i++) {
        post(&b[i]);
    }
    for (uint32_t i = 0; i < used && rc == 0; i++) {
        rc = finish(&b[i], e);
    }
    return rc;
}

/* If every lane has a process of its own, at most `jobs` of them get a call at once. */
static int lanes_in_workers(ds_pool *p, const pool_call *r, ds_error *e)
{
    int rc = p->lane_worker == NULL ? open_lane_workers(p, e) : 0;
    uint64_t *row = rc == 0 ? malloc(r->count * sizeof *row) : NULL;
    transfer *b = rc == 0 ? malloc(p->lane_workers * sizeof *b) : NULL;
    if (rc == 0 && (row == NULL || b == NULL)) {
        rc = ds_no_memory(e);
    }
    const uint64_t most = p->lane_workers > p->config.jobs ? p->config.jobs : r->count;
    for (uint64_t k = 0; k < r->count && rc == 0; k += most) {
        rc = call_lane_workers(p, r, k, r->count - k < most ? r->count : k + most, row, b, e);
    }
    free(row);
    free(b);
    return rc;
}

/* ---- entry points ---- */

static int run_call(ds_pool *p, const pool_call *r, ds_error *e)
{
    const int lanes = r->what != DS_DO_EVALUATE;
    if (p->dead || (lanes && stop_requested(p))) {
        return DS_POOL_STOPPED;
    }
    if (r->count == 0) {
        return 0;
    }
    if (p->local != NULL) {
        return lanes ? lanes_local(p, r, e) : evaluate_local(p, r);
    }
    const int rc = lanes ? lanes_in_workers(p, r, e) : evaluate_workers(p, r, e);
    if (rc != 0) {
        ds_ring_stop(ds_supervisor_share(p->supervisor));
        p->dead = 1;
    }
    return rc;
}

int ds_pool_step(ds_pool *p, uint64_t count, ds_lane_step *step, ds_error *e)
{
    const pool_call r = {.what = DS_DO_STEP, .count = count, .step = step};
    return run_call(p, &r, e);
}

int ds_pool_back(ds_pool *p, uint64_t count, ds_lane_back *back, ds_error *e)
{
    const pool_call r = {.what = DS_DO_BACK, .count = count, .back = back};
    return run_call(p, &r, e);
}

int ds_pool_execute(ds_pool *p, const ds_pool_request *q, ds_pool_sink *sink, void *ctx, ds_error *e)
{
    const pool_call r = {.what = DS_DO_EVALUATE, .count = q->count, .q = q, .sink = sink, .ctx = ctx};
    return run_call(p, &r, e);
}

int ds_pool_evaluate(ds_pool *p, uint64_t count, const double *x, uint32_t want, uint64_t first,
                     ds_pool_sink *sink, void *ctx, ds_error *e)
{
    const ds_pool_request q = {.count = count, .x = x, .want = want, .first = first};
    return ds_pool_execute(p, &q, sink, ctx, e);
}
