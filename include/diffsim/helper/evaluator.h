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
#include <diffsim/ext/draft/progress.h>
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/steps.h>
#include <diffsim/ext/variables.h>
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
    int evaluated;    /* 1 where the start was evaluated before the search */
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
 *     DS_QUERY_VALUE   NULL          NULL          the elements, of the channel's type
 *     DS_QUERY_JV      n             NULL          elements doubles
 *     DS_QUERY_JTV     elements      NULL          n doubles
 *     DS_QUERY_HV      n             elements      n doubles; w NULL = all 1
 *
 * one row after the other. Products are those with derivatives by x, in the units of the environment, also
 * where the request has points in [-1, 1]^n: multiply by ds_box_half() for each variable. */
typedef struct ds_evaluator_query {
    uint32_t op;      /* in: DS_QUERY_* */
    uint32_t channel; /* in: its number, see ds_evaluator_find() */
    const double *v;  /* in */
    const double *w;  /* in */
    void *out;        /* out: zeros in rows that failed */
    uint32_t kind;    /* out: DS_GRAD_*, how the environment made the first product that did not fail */
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
    size_t queries;        /* in: at most DS_MAX_QUERIES, at most one of them a product (JV, JTV, HV) */
    ds_evaluator_query *query; /* in and out: `queries` of them */
    size_t done;               /* out: rows answered, from the first on; fewer than count with DS_STOPPED, 0
                                * after an error */
} ds_evaluator_request;

/* Opens an evaluator for a problem. Cannot fail; allocates nothing yet. */
static inline void ds_evaluator_open(ds_evaluator *e, const ds_host *host, const ds_problem *problem);

/* Takes the objective of run(). Call it at the beginning of run(), before any request. */
static inline void ds_evaluator_begin(ds_evaluator *e, const ds_objective *objective);

/* Releases what the evaluator has allocated. */
static inline void ds_evaluator_close(ds_evaluator *e);

/* Makes room for requests of `rows` points. Requests make room themselves; call this in create() so that a
 * run does not fail later. Returns 0 without memory. */
static inline int ds_evaluator_reserve(ds_evaluator *e, size_t rows);

/* Maps a point v to the units of the environment; the start of the run exactly as given. */
static inline void ds_evaluator_x(const ds_evaluator *e, const double *v, double *x);

/* An optional service of the objective by its id, such as DS_EXT_FILES; NULL where it is missing. */
static inline const void *ds_evaluator_extension(const ds_evaluator *e, const char *id);

/* The channels of the environment; NULL where it has none. Valid during run(). */
static inline const ds_objective_channels *ds_evaluator_channels(const ds_evaluator *e);

/* Names, units, groups and flags of the variables, n of them; NULL where they have no names. Valid during
 * run(). */
static inline const ds_objective_variables *ds_evaluator_variables(const ds_evaluator *e);

/* Reports `count` named numbers about the search, such as its step size, and recommends the point v (n values
 * in [-1, 1]; NULL = none, or still the last one): diffsim/ext/draft/progress.h. Returns DS_OK, also where
 * the objective keeps no reports; call it about once per iteration. */
static inline ds_status ds_evaluator_report(ds_evaluator *e, size_t count, const char *const *name,
                                            const double *value, const double *v);

/* Finds the first channel of a role DS_CHANNEL_* and a type DS_TYPE_* that has all operations `ops`
 * (DS_CAN(DS_QUERY_VALUE) | ...), and writes its number. Returns NULL where there is none. */
static inline const ds_channel *ds_evaluator_find(const ds_evaluator *e, uint32_t role, uint32_t type,
                                                  uint32_t ops, uint32_t *number);

/* Evaluates the rows of a request, each of which costs one evaluation of the budget, with or without gradient
 * and queries, failed or not. Sets r->done. */
static inline ds_status ds_evaluator_send(ds_evaluator *e, ds_evaluator_label label, ds_evaluator_request *r);

/* Evaluates `count` points v (count x n in [-1, 1]). gradient (count x n, d loss / d v) and outcome may be
 * NULL. Sets *done to the rows answered, from the first on, also with DS_STOPPED. */
static inline ds_status ds_evaluator_run(ds_evaluator *e, ds_evaluator_label label, size_t count,
                                         const double *v, double *loss, double *gradient, uint32_t *outcome,
                                         size_t *done);

/* ---- episodes of stepwise control ---- */

/* The lanes of a run: each holds at most one open episode (diffsim/ext/steps.h). Several users may share
 * them, each with its own range of lane numbers. There is nothing to release. */
typedef struct ds_evaluator_lanes {
    const ds_host *host;
    const ds_objective *objective;
    const ds_steps_info *info;          /* horizon, n_act, n_obs, ... of an episode; valid during run() */
    size_t count;                       /* lanes: episodes that may be open at once */
    const ds_objective_steps *episodes; /* private */
    const ds_objective_steps_gradient
        *gradients; /* private: NULL before ds_evaluator_lanes_differentiate() */
} ds_evaluator_lanes;

/* One step of several lanes: buffers of `count` rows, row-major. */
typedef struct ds_evaluator_steps {
    size_t count;         /* in: rows, at least 1 */
    const uint64_t *lane; /* in: different numbers below ds_evaluator_lanes.count */
    const double *action; /* in, step: n_act values each, in the units of the environment and its bounds */
    double *obs;          /* out: n_obs values each: the first observation, or the one after the step */
    double *reward;       /* out, step: of the step, in the unit of the loss; 0 where the episode failed */
    uint32_t *ended;      /* out, step: DS_STEPS_*; all but DS_STEPS_CONTINUES free the lane */
    double *loss;         /* out, step: of an episode that is over, +INFINITY where it failed; else 0 */
    uint32_t *outcome;    /* out, step: DS_EVAL_*; may be NULL */
    size_t done;          /* out: rows answered, from the first on; 0 after an error */
} ds_evaluator_steps;

/* One step backwards of several lanes, see diffsim/ext/draft/steps_gradient.h. */
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
static inline ds_status ds_evaluator_lanes_open(const ds_evaluator *e, ds_evaluator_lanes *l);

/* Asks the host to keep what ds_evaluator_lanes_back() needs. Call it before the first episode begins.
 * DS_E_UNSUPPORTED, with a message, where the environment has no derivatives of its steps. */
static inline ds_status ds_evaluator_lanes_differentiate(ds_evaluator_lanes *l);

/* Begins an episode in each lane of the rows; the lanes must be free. Only lane and obs are used. Each
 * episode costs one evaluation of the budget; near its end only the first s->done episodes begin, which is
 * DS_OK while an episode is open. DS_STOPPED: nothing is left to begin and to step. */
static inline ds_status ds_evaluator_lanes_begin(const ds_evaluator_lanes *l, ds_evaluator_label label,
                                                 ds_evaluator_steps *s);

/* Takes one step in each lane of the rows; the lanes must hold open episodes. */
static inline ds_status ds_evaluator_lanes_step(const ds_evaluator_lanes *l, ds_evaluator_steps *s);

/* Goes back over one step in each lane of the rows, after ds_evaluator_lanes_differentiate(). Costs no
 * evaluation. A row whose outcome is not DS_EVAL_OK gets no derivatives for the rest of its sweep. */
static inline ds_status ds_evaluator_lanes_back(const ds_evaluator_lanes *l, ds_evaluator_back *b);

#include <diffsim/helper/evaluator.inl>

#endif
