/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/ask_tell.h - the optimizers inside another program, by ask and tell: diffsim chooses the points
 * to evaluate next, the program evaluates them in any way it likes and tells the losses.
 *
 *     ds_search_options o = {.struct_size = sizeof o, .n = 2, .lower = lower, .upper = upper, .budget = 200};
 *     ds_search *s = ds_search_open("cmaes", &o, why, sizeof why);
 *     while (ds_search_ask(s, &count, &x, &want) == DS_OK) {
 *         for (uint64_t i = 0; i < count; i++) {
 *             loss[i] = f(x + 2 * i);
 *         }
 *         ds_search_tell(s, loss, NULL);
 *     }
 *     ds_search_best(s, &best, &best_x);
 *     ds_search_close(s);
 *
 * Link with the flags of `pkg-config --cflags --libs libdiffsim`. With `folder` in the options the search
 * records every loss in a result folder, which `dshost report`, `compare`, `plot` and `export` read as the
 * folder of a run, and from which the search resumes after a crash. The optimizer is not isolated: one that
 * crashes ends the program, but the record stays.
 *
 * The points depend on the plugin, the options and the losses alone. One thread at a time uses a search, and
 * the thread may change. Searches are independent; several threads may use different searches at once. An
 * optimizer computes in a thread of its own, while the program waits in ask() or close(). A program closes
 * its searches before it forks. ds_search_open() refuses optimizers that need stepwise control (ppo, sac): a
 * search has no episodes. Optimizers that use residuals or channels get losses and gradients alone.
 *
 * Units are those of the program. Data behind pointers that a function returns belong to the search. A
 * function that gets NULL where NULL is not allowed returns DS_E_ARG.
 */
#ifndef DIFFSIM_SEARCH_H
#define DIFFSIM_SEARCH_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ds_search_open() copies all of it. */
typedef struct ds_search_options {
    uint32_t struct_size;  /* sizeof(ds_search_options) */
    uint32_t has_gradient; /* 1 where tell() can give gradients */
    uint64_t n;            /* number of variables, at least 1 */
    const double *lower;   /* n values each: bounds, finite, lower <= upper; equal bounds fix a variable */
    const double *upper;
    const double *x0; /* n values: start point inside the bounds, evaluated first; NULL = none */
    uint64_t budget;  /* evaluations; 0 = no limit, and the optimizer plans for none */
    uint64_t seed;
    const char *settings; /* "key = value" lines as in section [opt] of an .ini file; NULL = defaults */
    /* Result folder for the record, which the search makes; requires a budget. NULL = no record. */
    const char *folder;
    const char *name; /* with folder: name of the problem, [a-z][a-z0-9_]{0,46}; NULL = "program" */
    /* With folder: 1 = resume the search in the folder, or begin one where it holds none; 0 = the folder must
     * not hold one. To resume, give the same options as before; only the budget may be larger. The search
     * uses recorded losses and does not ask for them again, while the optimizer requests the recorded
     * points. */
    uint32_t resume;
    uint32_t is_suggestion; /* 1: x0 is evaluated first only where the settings have use_x0 = true */
} ds_search_options;

typedef struct ds_search ds_search;

/* Starts a search. `optimizer` is an id ("boleap") on the plugin path of dshost, or the path of a .so. On an
 * error it returns NULL and writes one line to `why` (at most `size` bytes with the final NUL; may be NULL):
 * what is wrong, where, and what to do. */
ds_search *ds_search_open(const char *optimizer, const ds_search_options *options, char *why, uint64_t size);

/* Gets the points to evaluate next: *count rows of n values at *x, inside the bounds, owned by the search and
 * valid until the next call of tell() or close(). *want is DS_WANT_GRAD where the optimizer wants gradients
 * of these rows, else 0. A second call before tell() returns the same rows. Returns DS_OK; DS_STOPPED when
 * the search has ended, by the budget or by itself; negative when it failed, see ds_search_message():
 * DS_E_DATA where the optimizer requests other points than the recorded ones. */
ds_status ds_search_ask(ds_search *search, uint64_t *count, const double **x, uint32_t *want);

/* Tells the results of all rows of the last ask(): `count` losses, to be minimised, and with DS_WANT_GRAD
 * count x n derivatives. A loss that is not finite is a failed evaluation, a row of derivatives that are not
 * all finite a missing gradient; every optimizer handles both. `grad` may be NULL where the optimizer wants
 * no gradient. Recorded results are on the disk within 0.1 s. Returns DS_OK; DS_E_ARG where ask() was not
 * called or an argument is missing; DS_E_IO where the record cannot be written: the search ends. */
ds_status ds_search_tell(ds_search *search, const double *loss, const double *grad);

/* Number of evaluations told so far, recorded ones included. */
uint64_t ds_search_used(const ds_search *search);

/* Gets the lowest finite loss told so far and its point (n values, owned by the search, valid until the next
 * tell()). Returns DS_OK, or DS_STOPPED where there is none yet. Both outputs may be NULL. */
ds_status ds_search_best(const ds_search *search, double *loss, const double **x);

/* Reason of a negative status of ask() or tell(); "" where they returned none, and for DS_E_ARG of tell()
 * (ask() was not called, or `loss` or a gradient that the optimizer wants is NULL). Valid until close(). */
const char *ds_search_message(const ds_search *search);

/* Ends the search, complete or not, and releases it; accepts NULL. Stops the optimizer and waits for it,
 * completes the record and writes its summary.json. */
void ds_search_close(ds_search *search);

/* Reason why a program closes a search that is not complete. */
enum {
    DS_SEARCH_STOPPED, /* interrupted, can be resumed; the default */
    DS_SEARCH_TARGET,  /* the loss is low enough */
    DS_SEARCH_TIME     /* the time limit is reached */
};

/* Sets the reason that the record gives (`ended` in summary.json and reports: signal, target or time) where
 * the program closes the search before the budget is spent. Does not end the search. DS_OK or DS_E_ARG. */
ds_status ds_search_end(ds_search *search, uint32_t why);

#ifdef __cplusplus
}
#endif
#endif
