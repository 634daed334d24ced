/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/env.h - the environment interface: a simulation with decision variables
 * x, a loss and its gradient.
 *
 * An instance is made from the parameters of its schema. It is used by one thread at a time; different
 * instances of one plugin may be used by different threads at once, so a plugin keeps no mutable global
 * state. Threads that it starts end before destroy() returns, and compute only while a call is open. A
 * plugin changes nothing global: no locale, no floating-point mode, no signal handler, no working directory,
 * no output to stdout or stderr, no exit().
 *
 * A simulator that cannot keep to that (an interpreter, a graphics card, a library with globals,
 * handlers or children) says DS_ENV_OWN_PROCESS in its descriptor: each instance then has a process to
 * itself. One whose results are not the same to the last bit says DS_ENV_INEXACT, and how far they may
 * be apart in ds_env_info.tolerance.
 *
 * An environment with DS_ENV_GRADIENT has a gradient wherever it has a loss. One that lacks it at some points
 * (no derivative there, or one that overflows) returns DS_EVAL_BAD_GRAD at these points and sets
 * DS_ENV_GRADIENT_HOLES; its description says where they are. Without the flag `dshost check` refuses it.
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

/* What an instance is, for given parameters. Filled by info(). */
typedef struct ds_env_info {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* DS_INFO_*; 0 before the call */
    uint64_t n;           /* number of decision variables, at least 1 */
    uint64_t steps;       /* output steps of one episode; metrics have steps + 1 values */
    double dt;            /* seconds per output step; 0 where time has no meaning */
    double loss_floor;    /* a proven lower bound of the loss, or -INFINITY */
    /* With DS_ENV_INEXACT: results of the same call differ by at most this, relative to the size of the loss
     * (of the longest gradient component times the width of its bounds); 0 where all bits are the same. */
    double tolerance;
    DS_GROWN
} ds_env_info;
#define DS_ENV_INFO_SIZE_1_0 DS_SIZE_WITH(ds_env_info, tolerance)

/* One evaluation, in and out. All buffers belong to the caller and are dead when the call returns. */
typedef struct ds_eval {
    uint32_t struct_size; /* set by the caller */
    uint32_t want;        /* in: DS_WANT_*; bits that are not known are ignored */
    uint64_t n;           /* in: ds_env_info.n */
    const double *x;      /* in: n finite values inside the bounds */
    uint64_t noise_key;   /* in: 0 = no noise, else selects the noise of a stochastic environment */
    double *grad;         /* out: n values where DS_WANT_GRAD is set, else not to be touched (may be NULL) */
    double loss; /* out: to be minimised; finite, or +INFINITY where the outcome says that there is none */
    uint32_t outcome;    /* out: DS_EVAL_OK, _BAD_GRAD, _DIVERGED, _INFEASIBLE */
    uint32_t grad_kind;  /* out: DS_GRAD_* */
    int64_t bad_step;    /* out: first output step that went wrong, or -1 */
    uint64_t cost_steps; /* out: simulation steps spent, forward and backward, repeated ones included */
    /* in: what else is asked about the episode (diffsim/ext/channel.h): 0 and NULL unless the environment
     * lists channels. The loss does not depend on what is asked. */
    uint64_t asks;
    ds_ask *const *ask;
    DS_GROWN
} ds_eval;
#define DS_EVAL_SIZE_1_0 DS_SIZE_WITH(ds_eval, ask)

/* The functions of an environment plugin. create, destroy, info, bounds and evaluate are required. */
typedef struct ds_env_vtable {
    uint32_t struct_size;
    uint32_t reserved;

    /* [any] Makes an instance. On DS_OK *out is not NULL and is released by destroy(). On an error,
     * host->error() has said why and *out is left alone. */
    ds_status(DS_CALL *create)(const ds_host *host, void **out);

    /* [instance] Releases an instance; accepts NULL. */
    void(DS_CALL *destroy)(void *self);

    /* [instance] Fills the fields that fit into out->struct_size. The same at every call. */
    ds_status(DS_CALL *info)(void *self, ds_env_info *out);

    /* [instance] lower[i] <= upper[i], finite, n values each; equal ones fix a variable. x0, where not NULL,
     * gets a start point inside them (the middle where no point is special). */
    ds_status(DS_CALL *bounds)(void *self, uint64_t n, double *lower, double *upper, double *x0);

    /* [instance] Simulates one episode. Pure: the result depends on the parameters, x and noise_key alone,
     * bit for bit (DS_ENV_INEXACT: within the tolerance), whatever was called before, whatever else is asked,
     * and however many threads are used. The gradient is d loss / d x
     * in the units of x, neither clipped nor normalised. A simulation that leaves its valid range returns
     * DS_OK with outcome DS_EVAL_DIVERGED, loss +INFINITY and bad_step; a non-finite number is never passed
     * off as a loss. An error status means that this evaluation failed; the instance must stay usable.
     * DS_STOPPED after should_stop(). */
    ds_status(DS_CALL *evaluate)(void *self, ds_eval *io);

    /* [instance] A table of functions for an extension id, valid until destroy(); NULL where this instance
     * does not offer it. May itself be NULL. */
    const void *(DS_CALL *get_extension)(void *self, const char *id);
    DS_GROWN
} ds_env_vtable;
#define DS_ENV_VTABLE_SIZE_1_0 DS_SIZE_WITH(ds_env_vtable, get_extension)

#ifdef __cplusplus
}
#endif
#endif
