/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/optimizer.h - the optimizer interface: a search over a box, written as a plain loop.
 *
 * run() calls objective->evaluate() with batches of points until that returns something else than DS_OK, or
 * until it has nothing more to ask, and returns. The host does the rest: it counts the budget, evaluates in
 * parallel, isolates crashes, records every answer and remembers the best point. An optimizer has no
 * checkpoint code: to resume a run the host starts it again and answers from the record. Therefore an
 * optimizer must be deterministic: what it asks may depend on its parameters, host->seed, the problem and
 * the answers alone; never on time, on addresses or on a global random state. Instances are independent of
 * each other and may run at the same time, in the host's process or in one of their own, so a plugin keeps
 * no mutable global state; what env.h says about threads and about what is global holds here, too.
 */
#ifndef DIFFSIM_OPTIMIZER_H
#define DIFFSIM_OPTIMIZER_H

#include <diffsim/base.h>
#include <diffsim/host.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The search problem. Owned by the host, constant, valid until destroy() has returned. */
typedef struct ds_problem {
    uint32_t struct_size;
    uint32_t has_gradient; /* 1 where the environment returns d loss / d x */
    uint64_t n;            /* number of decision variables */
    const double *lower;   /* n values each, finite; lower < upper: what the user fixes is left out */
    const double *upper;
    const double *x0;    /* n values: a start point that the environment suggests */
    uint64_t budget;     /* evaluations planned at the first start of the run; 0 = no limit */
    double target;       /* the run ends at the first loss <= target; -INFINITY = none */
    double loss_floor;   /* proven lower bound of the loss, or -INFINITY */
    uint32_t stochastic; /* 1 where a point evaluated again may have another loss, see ds_batch.noise */
    uint32_t reserved;
    DS_GROWN
} ds_problem;
#define DS_PROBLEM_SIZE_1_0 DS_SIZE_WITH(ds_problem, reserved)

/* One request for evaluations, in and out. Buffers belong to the optimizer. */
typedef struct ds_batch {
    uint32_t struct_size;
    uint32_t want;   /* in: DS_WANT_GRAD or 0, for every row; other bits are refused */
    uint64_t count;  /* in: rows, at least 1 */
    const double *x; /* in: count x n, row-major; every value finite and inside the bounds */
    double *loss;    /* out: count values; +INFINITY where the outcome is not OK or BAD_GRAD; never NaN */
    double *grad;    /* out: count x n where DS_WANT_GRAD, zero rows where there is none; else may be NULL */
    uint32_t *outcome; /* out: count values DS_EVAL_*; may be NULL */
    const char
        *tag; /* in: what the rows are for ("init", "sample", "descent"), <= DS_MAX_TAG bytes; may be NULL */
    uint64_t group; /* in: number of the restart, leap or generation they belong to, for plots; else 0 */
    uint64_t done;  /* out: rows answered, from the first on; less than count only with DS_STOPPED */
    /* in: what else is asked about every row (diffsim/ext/channel.h); 0 and NULL where nothing
     * is. Any number of values, and at most one product (JV, JTV, HV): another product at the
     * same point is another row. */
    uint64_t asks;
    ds_ask *const *ask;
    /* in: count numbers, NULL = all 0. Rows of one run with the same number, which is not 0, see
     * the same noise (common random numbers); 0 = noise of its own. Without effect where the
     * environment is not stochastic. */
    const uint64_t *noise;
    uint64_t *cost_steps; /* out: count values: simulation steps that each row took; may be NULL */
    DS_GROWN
} ds_batch;
#define DS_BATCH_SIZE_1_0 DS_SIZE_WITH(ds_batch, cost_steps)

/* How an optimizer evaluates. Made by the host, valid during run(). */
typedef struct ds_objective ds_objective;
struct ds_objective {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx; /* private to the host */

    /* Evaluates the rows of a batch, each of which costs one evaluation of the budget, with or without
     * gradient and asks, failed or not. Rows may be evaluated in any order and in parallel; answers do not
     * depend on that. Call it from the thread of run() only. Returns
     *   DS_OK       all rows are answered
     *   DS_STOPPED  budget, time, target or the user ended the run, and the first `done` rows are answered:
     *               return from run() with DS_STOPPED; further calls return DS_STOPPED at once
     *   DS_E_ARG    the batch breaks the contract (a point outside the bounds or not finite, a gradient
     *               wanted where there is none); the host has said which row and why */
    ds_status(DS_CALL *evaluate)(const ds_objective *objective, ds_batch *batch);

    /* Optional other ways to evaluate, by id; NULL where the environment or the host does not offer it. */
    const void *(DS_CALL *get_extension)(const ds_objective *objective, const char *id);
    DS_GROWN
};
#define DS_OBJECTIVE_SIZE_1_0 DS_SIZE_WITH(ds_objective, get_extension)

/* The functions of an optimizer plugin. create, destroy and run are required. */
typedef struct ds_optimizer_vtable {
    uint32_t struct_size;
    uint32_t reserved;

    /* [any] Makes an instance for a problem. On an error, host->error() has said why and *out is
     * left as it was. */
    ds_status(DS_CALL *create)(const ds_host *host, const ds_problem *problem, void **out);

    /* [instance] Releases an instance; accepts NULL. */
    void(DS_CALL *destroy)(void *self);

    /* [instance] Searches. Called once. DS_OK = finished by itself, DS_STOPPED = the objective said so,
     * negative = failed (host->error() has said why). Poll host->should_stop() during long computations of
     * its own. */
    ds_status(DS_CALL *run)(void *self, const ds_objective *objective);

    /* [instance] As in ds_env_vtable; may be NULL. */
    const void *(DS_CALL *get_extension)(void *self, const char *id);
    DS_GROWN
} ds_optimizer_vtable;
#define DS_OPTIMIZER_VTABLE_SIZE_1_0 DS_SIZE_WITH(ds_optimizer_vtable, get_extension)

#ifdef __cplusplus
}
#endif
#endif
