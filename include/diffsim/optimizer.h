/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/optimizer.h - the optimizer interface: a search over a box, written as a plain loop.
 *
 * run() calls objective->evaluate() with tables of points until the search is complete or the call returns
 * another value than DS_OK. The host does the rest: it counts the budget, evaluates in parallel, isolates
 * crashes, records every result and remembers the best point.
 *
 * An optimizer has no checkpoint code: to resume a run, the host starts it again and answers its requests
 * from the record. Therefore an optimizer is deterministic: its requests depend on its parameters,
 * host->seed, the problem and the results alone; never on time, on addresses or on a global random state.
 * Instances are independent and may run at the same time, in the process of the host or in another one, so a
 * plugin keeps no mutable global state. The rules of env.h for threads and global state hold here, too.
 *
 * A request of `count` points with their losses:
 *
 *     const ds_rows rows = {.struct_size = sizeof rows, .count = count, .n = n, .stride = n, .x = x};
 *     const ds_results results = {.struct_size = sizeof results, .loss = loss};
 *     const ds_label label = {.struct_size = sizeof label, .tag = "sample", .group = generation};
 *     ds_status status = objective->evaluate(objective, &rows, &label, &results, &done);
 *     if (status != DS_OK) {
 *         return status;
 *     }
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
    const double *lower;   /* n values each, finite; lower < upper: fixed variables are left out */
    const double *upper;
    const double *x0;    /* n values: a start point that the environment suggests */
    uint64_t budget;     /* evaluations planned at the first start of the run; 0 = no limit */
    double target;       /* the run ends at the first loss <= target; -INFINITY = none */
    double loss_floor;   /* proven lower bound of the loss, or -INFINITY */
    uint32_t stochastic; /* 1 where the loss of a point depends on noise, see ds_label.noise */
    uint32_t reserved;
} ds_problem;
#define DS_PROBLEM_SIZE_1_0 DS_SIZE_WITH(ds_problem, reserved)

/* Purpose of a request; recorded with its rows and shown in plots. */
typedef struct ds_label {
    uint32_t struct_size; /* sizeof(ds_label) of the optimizer */
    uint32_t reserved;
    const char *tag; /* "init", "sample", "descent", ...: at most DS_MAX_TAG bytes; may be NULL */
    uint64_t group;  /* number of the restart, leap or generation that the rows belong to, or 0 */
    /* One number for each row; NULL = all 0. Rows of a run with the same number, other than 0, get the same
     * noise (common random numbers); a row with 0 gets noise of its own. No effect where the environment is
     * not stochastic. */
    const uint64_t *noise;
} ds_label;
#define DS_LABEL_SIZE_1_0 DS_SIZE_WITH(ds_label, noise)

/* How an optimizer evaluates. Made by the host, valid during run(). */
typedef struct ds_objective ds_objective;
struct ds_objective {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx; /* private to the host */

    /* Evaluates the rows of a table. Every row costs one evaluation of the budget, with or without gradient
     * and queries, failed or not. The host evaluates rows in any order and in parallel; results do not depend
     * on that. `want` is DS_WANT_GRAD or 0; the host refuses other bits. At most one query is a product:
     * request another product at the same point in another row. `label` may be NULL. A failed row has the
     * loss +INFINITY and zeros for all else. *done gets the number of rows that have results, from the first
     * on. Call it from the thread of run() only. Returns
     *   DS_OK       all rows have results
     *   DS_STOPPED  budget, time, target or the user ended the run, and the first *done rows have results:
     *               return from run() with DS_STOPPED; further calls return DS_STOPPED at once
     *   DS_E_ARG    the request breaks the contract (a point outside the bounds or not finite, a gradient
     *               wanted where the environment has none); the host has reported which row and why */
    ds_status(DS_CALL *evaluate)(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                                 const ds_results *results, uint64_t *done);

    /* Returns the table of an extension id, for other ways to evaluate; NULL where the environment or the
     * host does not offer it. */
    const void *(DS_CALL *get_extension)(const ds_objective *objective, const char *id);
};
#define DS_OBJECTIVE_SIZE_1_0 DS_SIZE_WITH(ds_objective, get_extension)

/* The functions of an optimizer plugin. create, destroy and run are required. */
typedef struct ds_optimizer_vtable {
    uint32_t struct_size;
    uint32_t reserved;

    /* [any] Makes an instance for a problem. DS_OK: *out is not NULL, and the host releases it by destroy().
     * On an error the plugin has called host->error() and leaves *out as it was. */
    ds_status(DS_CALL *create)(const ds_host *host, const ds_problem *problem, void **out);

    /* [instance] Releases an instance; accepts NULL. */
    void(DS_CALL *destroy)(void *self);

    /* [instance] Searches; the host calls it once. Returns DS_OK where the search is complete, DS_STOPPED
     * where the objective returned that, negative where it failed (host->error() has the reason). Poll
     * host->should_stop() in computations of more than 100 ms. */
    ds_status(DS_CALL *run)(void *self, const ds_objective *objective);

    /* [instance] As in ds_env_vtable; may be NULL. */
    const void *(DS_CALL *get_extension)(void *self, const char *id);
} ds_optimizer_vtable;
#define DS_OPTIMIZER_VTABLE_SIZE_1_0 DS_SIZE_WITH(ds_optimizer_vtable, get_extension)

#ifdef __cplusplus
}
#endif
#endif
