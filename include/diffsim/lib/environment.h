/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/environment.h - the environments inside another program: losses, gradients and metrics of a scene
 * as plain function calls, for optimizers that are no diffsim plugins.
 *
 *     ds_environment *e = ds_environment_open("torus", "preset = small", 1, 1, why, sizeof why);
 *     ds_environment_evaluate(e, x, 0, &loss, grad, NULL);
 *     ds_environment_close(e);
 *
 * Link with the flags of `pkg-config --cflags --libs libdiffsim`. Evaluations happen in this process: a
 * plugin that crashes takes the program with it; use dshost where that matters. An environment is used by one
 * thread at a time; several may be open and used at once. One that wants a process for each instance is
 * refused.
 */
#ifndef DIFFSIM_ENVIRONMENT_H
#define DIFFSIM_ENVIRONMENT_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ds_environment ds_environment;

/* Opens an environment: an id ("torus"), found where dshost finds it, or the path of a .so. `settings` are
 * "key = value" lines as in section [env] of an .ini file, NULL = defaults; `threads` is how many one
 * evaluation may use, at least 1. Returns NULL after writing one line to `why` (at most `size` bytes with the
 * final NUL; may be NULL): what is wrong, where, and what to do. */
ds_environment *ds_environment_open(const char *environment, const char *settings, uint64_t seed,
                                    uint32_t threads, char *why, uint64_t size);

/* The search problem; the arrays have n values and belong to the environment. */
typedef struct ds_environment_box {
    uint32_t struct_size; /* in: sizeof(ds_environment_box) */
    uint32_t has_gradient;
    uint64_t n;
    const double *lower, *upper; /* bounds */
    const double *x0;            /* a start point inside them */
    double loss_floor;           /* proven lower bound of the loss, or -INFINITY */
} ds_environment_box;

/* Fills *box. DS_OK, or DS_E_ARG where its struct_size is wrong. */
ds_status ds_environment_describe(const ds_environment *environment, ds_environment_box *box);

/* Evaluates x (n values inside the bounds). *loss is finite, or +INFINITY where there is none; grad (n
 * values) may be NULL, and is zero where there is none; *outcome (may be NULL) is DS_EVAL_*. Equal noise keys
 * give equal noise, where the environment has any. DS_OK also for failed simulations: look at the outcome,
 * and at ds_environment_message() for the reason. DS_E_ARG: a value is outside of its bounds;
 * DS_E_UNSUPPORTED: no gradient exists. */
ds_status ds_environment_evaluate(ds_environment *environment, const double *x, uint64_t noise_key,
                                  double *loss, double *grad, uint32_t *outcome);

/* Why the last evaluation failed; "" where it did not. Valid until the next one. */
const char *ds_environment_message(const ds_environment *environment);

/* Accepts NULL. */
void ds_environment_close(ds_environment *environment);

#ifdef __cplusplus
}
#endif
#endif
