/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/evaluator.h - how an optimizer evaluates: losses, gradients and queries about channels of
 * many points at once, and episodes of stepwise control. The evaluator fills in the structs of the binary
 * interface, so that the search does not have to.
 *
 * A search in [-1, 1]^n, all points of a generation in one call:
 *
 *     ds_evaluator e;
 *     ds_evaluator_open(&e, host, problem);                               create()
 *     ds_evaluator_begin(&e, objective);                                  run()
 *     size_t done;
 *     ds_evaluator_label label = {"sample", generation};
 *     ds_status status = ds_evaluator_run(&e, label, count, v, loss, NULL, NULL, &done);
 *     if (status != DS_OK) {
 *         return status;                                                  DS_STOPPED: the run is over
 *     }
 *     ds_evaluator_close(&e);                                             destroy()
 *
 * diffsim/helper/opt_kit.h opens, begins and closes the evaluator of its optimizers.
 *
 * Rows of one call are evaluated in parallel, in any order; results do not depend on that. Call all functions
 * from the thread of run(). They return
 *
 *   DS_OK       the host answered all rows
 *   DS_STOPPED  the run is over (budget, time, target or user): return it from run()
 *   negative    failed, and the host has a message: return it from run(). DS_E_ARG: the request breaks the
 *               contract of diffsim/optimizer.h; DS_E_NOMEM; DS_E_UNSUPPORTED
 *
 * All buffers belong to the caller. Header only, in C11 and C++17; not part of the binary interface.
 * [instance]
 */
#ifndef DIFFSIM_HELPER_EVALUATOR_H
#define DIFFSIM_HELPER_EVALUATOR_H

#include <diffsim/ext/channel.h>
#include <diffsim/ext/rl.h>
#include <diffsim/ext/rl_gradient.h>
#include <diffsim/helper/box.h>
#include <diffsim/helper/fail.h>
#include <diffsim/optimizer.h>

#include <stdlib.h>
#include <string.h>

/* ---- points ---- */

/* The start point of a run, which the user or the environment gives. The mapping to [-1, 1]^n and back
 * rounds; the evaluator therefore evaluates the start at `x`, exactly as given, wherever a request has a row
 * equal to `v`. */
typedef struct ds_evaluator_start {
    double *x;        /* n values in the units of the environment; NULL = the run has no start */
    double *v;        /* n values in [-1, 1]; NULL with x */
    double *gradient; /* n values d loss / d v, where `evaluated`; NULL = not wanted, see opt_kit.h */
    double loss;      /* where `evaluated` */
    int evaluated;    /* 1 after somebody has evaluated it before the search */
} ds_evaluator_start;

/* The evaluator of one instance. Open it with ds_evaluator_open(). */
typedef struct ds_evaluator {
    const ds_host *host;
    const ds_problem *problem;
    const ds_objective *objective;   /* NULL before ds_evaluator_begin() */
    const ds_evaluator_start *start; /* borrowed; NULL = none */
    size_t n;                        /* variables */
    double *x;                       /* private: points of a request in the units of the environment */
    size_t rows;                     /* private: points that x has room for */
} ds_evaluator;

/* What the rows of a request are for; recorded with them and shown in plots. */
typedef struct ds_evaluator_label {
    const char *tag; /* "init", "sample", "descent", ...: at most DS_MAX_TAG bytes; may be NULL */
    uint64_t group;  /* number of the restart, leap or generation, or 0 */
} ds_evaluator_label;

/* A query about one channel of the environment (diffsim/ext/channel.h), for every row of a request. With
 * `elements` of the channel, each row has
 *
 *     op             v, doubles    w, doubles    out
 *     DS_ASK_VALUE   NULL          NULL          the elements, of the channel's type
 *     DS_ASK_JV      n             NULL          elements doubles
 *     DS_ASK_JTV     elements      NULL          n doubles
 *     DS_ASK_HV      n             elements      n doubles; w NULL = all 1
 *
 * one row after the other. Products are those with derivatives by x, in the units of the environment, also
 * where the request has points in [-1, 1]^n: multiply by ds_box_half() for each variable. */
typedef struct ds_evaluator_query {
    uint32_t op;      /* in: DS_ASK_* */
    uint32_t channel; /* in: its number, see ds_evaluator_find() */
    const double *v;  /* in */
    const double *w;  /* in */
    void *out;        /* out: zeros in rows that failed */
    uint32_t kind;    /* out: DS_GRAD_*, how the environment made a product */
} ds_evaluator_query;

/* One request. Leave at 0 what is not wanted. `count` x n arrays are row-major. */
typedef struct ds_evaluator_request {
    size_t count;          /* in: rows, at least 1 */
    const double *v;       /* in: count x n, the points in [-1, 1]^n; or NULL, and */
    const double *x;       /* in: count x n, the points in the units of the environment */
    const uint64_t *noise; /* in: count numbers; equal ones, not 0, see the same noise. NULL = own noise */
    double *loss;          /* out: count values; +INFINITY where the evaluation failed; required */
    double *gradient;      /* out: count x n, d loss / d v where the points are v, else d loss / d x;
                                * zeros where there is none. Only where problem->has_gradient */
    uint32_t *outcome;     /* out: count values DS_EVAL_* */
    uint64_t *cost_steps;  /* out: count values: simulation steps that the row took */
    size_t queries;        /* in: at most DS_MAX_ASKS, of which one is a product (JV, JTV, HV) */
    ds_evaluator_query *query; /* in and out: `queries` of them */
    size_t done;               /* out: rows answered, from the first on; fewer than count with DS_STOPPED, 0
                                * after an error */
} ds_evaluator_request;

/* Opens an evaluator for a problem. Cannot fail; allocates nothing yet. */
static inline void ds_evaluator_open(ds_evaluator *e, const ds_host *host, const ds_problem *problem)
{
    memset(e, 0, sizeof *e);
    e->host = host;
    e->problem = problem;
    e->n = (size_t)problem->n;
}

/* Takes the objective of run(). Call it at the beginning of run(), before any request. */
static inline void ds_evaluator_begin(ds_evaluator *e, const ds_objective *objective)
{
    e->objective = objective;
}

/* Releases what the evaluator has allocated. */
static inline void ds_evaluator_close(ds_evaluator *e)
{
    free(e->x);
    e->x = NULL;
    e->rows = 0;
}

/* Makes room for requests of `rows` points. Requests make room themselves; call this in create() so that a
 * run does not fail later. Returns 0 without memory. */
static inline int ds_evaluator_reserve(ds_evaluator *e, size_t rows)
{
    if (rows <= e->rows) {
        return 1;
    }
    double *x = rows <= SIZE_MAX / sizeof *x / e->n ? (double *)malloc(rows * e->n * sizeof *x) : NULL;
    if (x == NULL) {
        return 0;
    }
    free(e->x); /* its points belong to a finished request */
    e->x = x;
    e->rows = rows;
    return 1;
}

/* Maps a point v to the units of the environment; the start of the run exactly as given. */
static inline void ds_evaluator_x(const ds_evaluator *e, const double *v, double *x)
{
    const ds_evaluator_start *s = e->start;
    if (s != NULL && s->v != NULL && v[0] == s->v[0] && memcmp(v, s->v, e->n * sizeof *v) == 0) {
        memcpy(x, s->x, e->n * sizeof *x);
    } else {
        ds_box_x_from_v(e->n, e->problem->lower, e->problem->upper, v, x);
    }
}

/* An optional service of the objective by its id, such as DS_EXT_FILES; NULL where it is missing. */
static inline const void *ds_evaluator_extension(const ds_evaluator *e, const char *id)
{
    const ds_objective *o = e->objective;
    return o->get_extension != NULL ? o->get_extension(o, id) : NULL;
}

/* The channels of the environment; NULL where it has none. Valid during run(). */
static inline const ds_objective_channels *ds_evaluator_channels(const ds_evaluator *e)
{
    return (const ds_objective_channels *)ds_evaluator_extension(e, DS_EXT_OBJECTIVE_CHANNELS);
}

/* Finds the first channel of a role DS_CHANNEL_* and a type DS_TYPE_* that has all operations `ops`
 * (DS_CAN(DS_ASK_VALUE) | ...), and writes its number. Returns NULL where there is none. */
static inline const ds_channel *ds_evaluator_find(const ds_evaluator *e, uint32_t role, uint32_t type,
                                                  uint32_t ops, uint32_t *number)
{
    const ds_objective_channels *all = ds_evaluator_channels(e);
    for (uint32_t i = 0; all != NULL && i < all->count; i++) {
        const ds_channel *c = all->channel[i];
        if (c->role == role && c->type == type && (c->ops & ops) == ops) {
            *number = i;
            return c;
        }
    }
    return NULL;
}

/* Writes the query k of a request in the form of the binary interface. A channel that does not exist gets 0
 * bytes: the host refuses it and says why. Private to this header. */
static inline ds_ask ds_evaluator_fill_(const ds_evaluator *e, const ds_objective_channels *all,
                                        const ds_evaluator_request *r, size_t k)
{
    const ds_evaluator_query *q = &r->query[k];
    ds_ask a;
    memset(&a, 0, sizeof a);
    a.struct_size = sizeof a;
    a.op = q->op;
    a.channel = q->channel;
    a.v = q->v;
    a.w = q->w;
    a.out = q->out;
    if (all != NULL && q->channel < all->count) {
        a.out_bytes = r->count * ds_channel_bytes(all->channel[q->channel], q->op, e->n);
    }
    return a;
}

/* Sends a batch with the queries of a request. Private to this header. */
static inline ds_status ds_evaluator_batch_(ds_evaluator *e, ds_batch *batch, ds_evaluator_request *r)
{
    ds_ask ask[DS_MAX_ASKS], *asks[DS_MAX_ASKS];
    const ds_objective_channels *all = r->queries > 0 ? ds_evaluator_channels(e) : NULL;
    if (r->queries > DS_MAX_ASKS) {
        return ds_host_fail(e->host, DS_E_ARG, "a request has %llu queries; send at most %u",
                            (unsigned long long)r->queries, DS_MAX_ASKS);
    }
    for (size_t k = 0; k < r->queries; k++) {
        ask[k] = ds_evaluator_fill_(e, all, r, k);
        asks[k] = &ask[k];
    }
    batch->asks = r->queries;
    batch->ask = r->queries > 0 ? asks : NULL;
    ds_status status = e->objective->evaluate(e->objective, batch);
    for (size_t k = 0; k < r->queries; k++) {
        r->query[k].kind = ask[k].kind;
    }
    return status;
}

/* Evaluates the rows of a request, each of which costs one evaluation of the budget, with or without gradient
 * and queries, failed or not. Sets r->done. */
static inline ds_status ds_evaluator_send(ds_evaluator *e, ds_evaluator_label label, ds_evaluator_request *r)
{
    const ds_problem *p = e->problem;
    ds_batch batch;
    r->done = 0;
    if (r->v != NULL && !ds_evaluator_reserve(e, r->count)) {
        return ds_host_fail(e->host, DS_E_NOMEM, "out of memory for a request of %llu points",
                            (unsigned long long)r->count);
    }
    for (size_t i = 0; r->v != NULL && i < r->count; i++) {
        ds_evaluator_x(e, r->v + i * e->n, e->x + i * e->n);
    }
    memset(&batch, 0, sizeof batch);
    batch.struct_size = sizeof batch;
    batch.want = r->gradient != NULL ? DS_WANT_GRAD : 0;
    batch.count = r->count;
    batch.x = r->v != NULL ? e->x : r->x;
    batch.loss = r->loss;
    batch.grad = r->gradient;
    batch.outcome = r->outcome;
    batch.cost_steps = r->cost_steps;
    batch.noise = r->noise;
    batch.tag = label.tag;
    batch.group = label.group;
    ds_status status = ds_evaluator_batch_(e, &batch, r);
    r->done = status == DS_OK ? r->count : (status > 0 ? (size_t)batch.done : 0);
    for (size_t i = 0; r->v != NULL && r->gradient != NULL && i < r->done; i++) {
        ds_box_gradient_to_v(e->n, p->lower, p->upper, r->gradient + i * e->n);
    }
    return status;
}

/* Evaluates `count` points v (count x n in [-1, 1]). gradient (count x n, d loss / d v) and outcome may be
 * NULL. Sets *done to the rows answered, from the first on, also with DS_STOPPED. */
static inline ds_status ds_evaluator_run(ds_evaluator *e, ds_evaluator_label label, size_t count,
                                         const double *v, double *loss, double *gradient, uint32_t *outcome,
                                         size_t *done)
{
    ds_evaluator_request r;
    memset(&r, 0, sizeof r);
    r.count = count;
    r.v = v;
    r.loss = loss;
    r.gradient = gradient;
    r.outcome = outcome;
    ds_status status = ds_evaluator_send(e, label, &r);
    *done = r.done;
    return status;
}

/* ---- episodes of stepwise control ---- */

/* The lanes of a run: each holds at most one open episode (diffsim/ext/rl.h). Several users may share them,
 * each with a range of lane numbers of its own. There is nothing to release. */
typedef struct ds_evaluator_lanes {
    const ds_host *host;
    const ds_objective *objective;
    const ds_rl_info *info;                /* horizon, n_act, n_obs, ... of an episode; valid during run() */
    size_t count;                          /* lanes: episodes that may be open at once */
    const ds_episodes *episodes;           /* private */
    const ds_episode_gradients *gradients; /* private: NULL before ds_evaluator_lanes_differentiate() */
} ds_evaluator_lanes;

/* One step of several lanes: buffers of `count` rows, row-major. */
typedef struct ds_evaluator_steps {
    size_t count;         /* in: rows, at least 1 */
    const uint64_t *lane; /* in: different numbers below ds_evaluator_lanes.count */
    const double *action; /* in, step: n_act values each, in the units of the environment and its bounds */
    double *obs;          /* out: n_obs values each: the first observation, or the one after the step */
    double *reward;       /* out, step: of the step, in the unit of the loss; 0 where the episode failed */
    uint32_t *ended;      /* out, step: DS_RL_*; all but DS_RL_GOES_ON free the lane */
    double *loss;         /* out, step: of an episode that is over, +INFINITY where it failed; else 0 */
    uint32_t *outcome;    /* out, step: DS_EVAL_*; may be NULL */
    size_t done;          /* out: rows answered, from the first on; 0 after an error */
} ds_evaluator_steps;

/* One step backwards of several lanes, see diffsim/ext/rl_gradient.h. */
typedef struct ds_evaluator_back {
    size_t count;         /* in: rows, at least 1 */
    const uint64_t *lane; /* in: different numbers */
    const uint64_t *step; /* in: the last step taken begins a sweep; else the one before the last call's */
    const double *reward_bar; /* in: d J / d reward of the step, one value each */
    const double *obs_bar;    /* in: d J / d observation after the step, n_obs values each */
    double *action_bar;       /* out: d J / d action, n_act values each; 0 where there is none */
    uint32_t *outcome;        /* out: DS_EVAL_OK, or why there is none */
} ds_evaluator_back;

/* Looks for stepwise control. DS_E_UNSUPPORTED, with a message, where the environment has none. */
static inline ds_status ds_evaluator_lanes_open(const ds_evaluator *e, ds_evaluator_lanes *l)
{
    memset(l, 0, sizeof *l);
    l->host = e->host;
    l->objective = e->objective;
    l->episodes = (const ds_episodes *)ds_evaluator_extension(e, DS_EXT_EPISODES);
    if (l->episodes == NULL) {
        return ds_host_fail(e->host, DS_E_UNSUPPORTED,
                            "this environment has no stepwise control (" DS_EXT_RL
                            "): take another optimizer");
    }
    l->info = l->episodes->info;
    l->count = (size_t)l->episodes->lanes;
    return DS_OK;
}

/* Asks the host to keep what ds_evaluator_lanes_back() needs. Call it before the first episode begins.
 * DS_E_UNSUPPORTED, with a message, where the environment has no derivatives of its steps. */
static inline ds_status ds_evaluator_lanes_differentiate(ds_evaluator_lanes *l)
{
    l->gradients =
        (const ds_episode_gradients *)l->objective->get_extension(l->objective, DS_EXT_EPISODE_GRADIENTS);
    return l->gradients != NULL
               ? DS_OK
               : ds_host_fail(l->host, DS_E_UNSUPPORTED,
                              "this environment has no gradients of stepwise control (" DS_EXT_RL_GRADIENT
                              "): take another optimizer, for example ppo");
}

/* Fills in the rows of the binary interface. Private to this header. */
static inline ds_episode_rows ds_evaluator_rows_(const ds_evaluator_steps *s)
{
    ds_episode_rows rows;
    memset(&rows, 0, sizeof rows);
    rows.struct_size = sizeof rows;
    rows.count = s->count;
    rows.lane = s->lane;
    rows.action = s->action;
    rows.obs = s->obs;
    rows.reward = s->reward;
    rows.ended = s->ended;
    rows.loss = s->loss;
    rows.outcome = s->outcome;
    return rows;
}

/* Begins an episode in each lane of the rows; the lanes must be free. Only lane and obs are used. Each
 * episode costs one evaluation of the budget; near its end only the first s->done episodes begin, which is
 * DS_OK while an episode is open. DS_STOPPED: nothing is left to begin and to step. */
static inline ds_status ds_evaluator_lanes_begin(const ds_evaluator_lanes *l, ds_evaluator_label label,
                                                 ds_evaluator_steps *s)
{
    ds_episode_rows rows = ds_evaluator_rows_(s);
    rows.tag = label.tag;
    rows.group = label.group;
    ds_status status = l->episodes->begin(l->objective, &rows);
    s->done = status >= 0 ? (size_t)rows.done : 0;
    return status;
}

/* Takes one step in each lane of the rows; the lanes must hold open episodes. */
static inline ds_status ds_evaluator_lanes_step(const ds_evaluator_lanes *l, ds_evaluator_steps *s)
{
    ds_episode_rows rows = ds_evaluator_rows_(s);
    ds_status status = l->episodes->step(l->objective, &rows);
    s->done = status >= 0 ? (size_t)rows.done : 0;
    return status;
}

/* Goes back over one step in each lane of the rows, after ds_evaluator_lanes_differentiate(). Costs no
 * evaluation. A row whose outcome is not DS_EVAL_OK gets no derivatives for the rest of its sweep. */
static inline ds_status ds_evaluator_lanes_back(const ds_evaluator_lanes *l, ds_evaluator_back *b)
{
    ds_back_rows rows;
    memset(&rows, 0, sizeof rows);
    rows.struct_size = sizeof rows;
    rows.count = b->count;
    rows.lane = b->lane;
    rows.step = b->step;
    rows.reward_bar = b->reward_bar;
    rows.obs_bar = b->obs_bar;
    rows.action_bar = b->action_bar;
    rows.outcome = b->outcome;
    return l->gradients->back(l->objective, &rows);
}

#endif
