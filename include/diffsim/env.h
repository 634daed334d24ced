/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/env.h - the environment interface: a simulation with decision variables x, a loss and its gradient.
 *
 * The host makes an instance from the parameters of the schema. One thread at a time uses an instance, and
 * several threads may use different instances of one plugin at once: a plugin keeps no mutable global state.
 * Threads that a plugin starts compute only during a call and end before destroy() returns. A plugin changes
 * nothing global: no locale, no floating-point mode, no signal handler, no working directory, no output to
 * stdout or stderr, no exit().
 *
 * A simulator that cannot follow these rules (an interpreter, a graphics card, a library with globals, signal
 * handlers or child processes) sets DS_ENV_OWN_PROCESS in its descriptor: each instance then owns a process.
 * A simulator whose results are not the same to the last bit sets DS_ENV_INEXACT and reports the largest
 * difference in ds_env_info.tolerance.
 *
 * An environment with DS_ENV_GRADIENT has a gradient wherever it has a loss. One that lacks it at some points
 * (no derivative there, or one that overflows) returns DS_EVAL_BAD_GRAD at these points and sets
 * DS_ENV_GRADIENT_HOLES; its description says where they are. Without the flag `dshost check` refuses it.
 *
 * evaluate() of an environment that takes one row per call (max_rows 0), here with a gradient:
 *
 *     static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
 *     {
 *         const double *x = rows->x, loss = x[0] * x[0];
 *         (void)self;
 *         results->loss[0] = isfinite(loss) ? loss : INFINITY;
 *         results->outcome[0] = isfinite(loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
 *         if (rows->want & DS_WANT_GRAD) {
 *             results->grad[0] = 2 * x[0];
 *             results->grad_kind[0] = DS_GRAD_ADJOINT;
 *         }
 *         results->cost_steps[0] = 1;
 *         return DS_OK;
 *     }
 *
 * diffsim/helper/eval.h has a loop over the rows of a table, with one struct for each row.
 */
#ifndef DIFFSIM_ENV_H
#define DIFFSIM_ENV_H

#include <diffsim/base.h>
#include <diffsim/host.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of an instance. */
enum {
    DS_INFO_NO_GRADIENT = 1 /* no gradient with these parameters, though the descriptor has DS_ENV_GRADIENT */
};

/* Size and properties of an instance. Filled by info(). */
typedef struct ds_env_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* DS_INFO_*; 0 before the call */
    uint64_t n;           /* number of decision variables, at least 1 */
    uint64_t steps;       /* output steps of one episode; metrics have steps + 1 values */
    double dt;            /* seconds per output step; 0 where time has no meaning */
    double loss_floor;    /* a proven lower bound of the loss, or -INFINITY */
    /* DS_ENV_INEXACT: largest difference of two results of the same call. For the loss it is relative to the
     * size of the loss, for the gradient to its largest component, each component times the width of its
     * bounds. 0 = all bits are the same. */
    double tolerance;
    /* Most rows of one call of evaluate(). 0 or 1 = one: then ds_rows.count is always 1, and row 0 is the
     * whole table. */
    uint64_t max_rows;
    uint64_t good_rows; /* rows per call that use the hardware well, at most max_rows; 0 = max_rows */
} ds_env_info;
#define DS_ENV_INFO_SIZE_1_0 DS_SIZE_WITH(ds_env_info, good_rows)

/* The functions of an environment plugin. create, destroy, info, bounds and evaluate are required. */
typedef struct ds_env_vtable {
    uint32_t struct_size;
    uint32_t reserved;

    /* [any] Makes an instance. DS_OK: *out is not NULL, and the host releases it by destroy(). On an error
     * the plugin has called host->error() and leaves *out as it was. */
    ds_status(DS_CALL *create)(const ds_host *host, void **out);

    /* [instance] Releases an instance; accepts NULL. */
    void(DS_CALL *destroy)(void *self);

    /* [instance] Fills the fields that fit into out->struct_size. The same values at every call. */
    ds_status(DS_CALL *info)(void *self, ds_env_info *out);

    /* [instance] Writes the bounds, n finite values each, lower[i] <= upper[i]; equal bounds fix a variable.
     * x0 (may be NULL) gets a start point inside them, the middle where no other point is better. */
    ds_status(DS_CALL *bounds)(void *self, uint64_t n, double *lower, double *upper, double *x0);

    /* [instance] Simulates one episode for each row, 1 <= rows->count <= max_rows, and writes the results.
     *
     * Pure: the results of a row depend on the parameters, its x and its noise key alone, bit for bit
     * (DS_ENV_INEXACT: within the tolerance). They do not depend on the other rows, on earlier calls, on the
     * other things that the call wants, or on the number of threads.
     *
     * The gradient is d loss / d x in the units of x, neither clipped nor normalised. A row may fail while
     * others succeed: a simulation that leaves its valid range has the outcome DS_EVAL_DIVERGED, the loss
     * +INFINITY and bad_step. Never report a number that is not finite as the loss of a successful row. Where
     * a row of several fails, the host evaluates it once more, alone, to get its message.
     *
     * An error status means that no row has results: the host then evaluates the rows one by one, and the
     * instance must stay usable. Return DS_STOPPED after should_stop(). */
    ds_status(DS_CALL *evaluate)(void *self, const ds_rows *rows, const ds_results *results);

    /* [instance] Returns the table of an extension id, valid until destroy(); NULL where this instance does
     * not offer the extension. The entry may be NULL. */
    const void *(DS_CALL *get_extension)(void *self, const char *id);
} ds_env_vtable;
#define DS_ENV_VTABLE_SIZE_1_0 DS_SIZE_WITH(ds_env_vtable, get_extension)

#ifdef __cplusplus
}
#endif
#endif
