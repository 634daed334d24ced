/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/ask_tell.h - the optimizers inside another program, as ask and tell: diffsim says which
 * points to evaluate next, the program evaluates them in whatever way it likes and tells the losses.
 *
 *     ds_search_options o = {.struct_size = sizeof o, .n = 2, .lower = lower, .upper = upper, .budget = 200};
 *     ds_search *s = ds_search_open("cmaes", &o, why, sizeof why);
 *     while (ds_search_ask(s, &count, &x, &want) == DS_OK) {
 *         ... loss[i] of the point x + 2 * i, for i < count ...
 *         ds_search_tell(s, loss, NULL);
 *     }
 *     ds_search_best(s, &best, &best_x);
 *     ds_search_close(s);
 *
 * Link with the flags of `pkg-config --cflags --libs libdiffsim`. With `folder` in the options every
 * answer is recorded in a result folder, which `dshost report`, `compare`, `plot` and `export` read as
 * that of a run, and from which the search goes on after a crash. The optimizer is not isolated: one that
 * crashes takes the program with it, but not the record.
 *
 * The points depend on plugin, options and answers alone. A search is used by one thread at a time, which
 * may change; searches are independent of each other, and their optimizers compute at the same time where
 * several threads ask. An optimizer computes in a thread of its own, while the program waits in ask() or
 * close(). A program that forks closes its searches before. Optimizers that step through episodes (ppo,
 * sac) are refused: there is nothing here to step; those for least squares and channels get losses and
 * gradients alone.
 *
 * Units are those of the program. What comes out behind pointers belongs to the search. Where a function
 * gets NULL for what must not be NULL it returns DS_E_ARG.
 */
#ifndef DIFFSIM_SEARCH_H
#define DIFFSIM_SEARCH_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All of it is copied by ds_search_open(). */
typedef struct ds_search_options {
    uint32_t struct_size;  /* sizeof(ds_search_options) */
    uint32_t has_gradient; /* 1 where tell() can give gradients */
    uint64_t n;            /* number of variables, at least 1 */
    const double *lower;   /* n values each: bounds, finite, lower <= upper: equal ones fix a variable */
    const double *upper;
    const double *x0; /* n values: a start point inside the bounds, which is evaluated first; NULL = none */
    uint64_t budget;  /* evaluations; 0 = no limit, and the optimizer plans for none */
    uint64_t seed;
    const char *settings; /* "key = value" lines as in section [opt] of an .ini file; NULL = defaults */
    /* Result folder to record in, made by the search; it needs a budget. NULL = nothing is recorded. */
    const char *folder;
    const char *name; /* with folder: of what is evaluated, [a-z][a-z0-9_]{0,46}; NULL = "program" */
    /* With folder: 1 = go on with the search that the folder holds, or begin one where it holds none; 0 =
     * it must hold none. All other options are then as they were, but for a larger budget: recorded
     * answers are used without being asked for again, as long as the optimizer asks for the recorded
     * points. */
    uint32_t resume;
    uint32_t is_suggestion; /* 1: x0 is not evaluated first, unless the settings say use_x0 = true */
} ds_search_options;

typedef struct ds_search ds_search;

/* Starts a search. `optimizer` is an id ("boleap"), found where dshost finds it, or the path of a .so.
 * Returns NULL after writing one line to `why` (at most `size` bytes with the final NUL; may be NULL): what
 * is wrong, where, and what to do. */
ds_search *ds_search_open(const char *optimizer, const ds_search_options *options, char *why, uint64_t size);

/* The points to evaluate next: *count rows of n values at *x, inside the bounds, owned by the search and
 * valid until the next call of tell() or close(). *want is DS_WANT_GRAD where the optimizer wants gradients
 * of these rows, else 0. Asked again before tell() it gives the same rows. DS_OK; DS_STOPPED when the search
 * has ended, by the budget or by itself; negative when it failed, see ds_search_message(): DS_E_DATA where it
 * asks for other points than are recorded. */
ds_status ds_search_ask(ds_search *search, uint64_t *count, const double **x, uint32_t *want);

/* Answers all rows of the last ask(): `count` losses, to be minimised, and with DS_WANT_GRAD count x n
 * derivatives. A loss that is not finite is a failed evaluation, a row of derivatives that are not all finite
 * a missing gradient; the optimizers know how to go on. `grad` may be NULL where none was wanted. Recorded
 * answers are on the disk within 0.1 s. DS_OK; DS_E_ARG where nothing was asked or something is missing;
 * DS_E_IO where the record cannot be written: the search ends. */
ds_status ds_search_tell(ds_search *search, const double *loss, const double *grad);

/* Evaluations told so far, recorded ones included. */
uint64_t ds_search_used(const ds_search *search);

/* The lowest finite loss told so far and its point (n values, owned by the search, changed by the next
 * tell()). DS_OK, or DS_STOPPED where there is none yet. Both outputs may be NULL. */
ds_status ds_search_best(const ds_search *search, double *loss, const double **x);

/* Why ask() or tell() returned a negative status; "" where they did not, and for DS_E_ARG of tell(): there is
 * no open batch, or loss or a gradient that was asked for is NULL. Valid until close(). */
const char *ds_search_message(const ds_search *search);

/* Ends the search, finished or not, and releases it; accepts NULL. Waits for the optimizer, which is
 * asked to stop, completes the record and writes its summary.json. */
void ds_search_close(ds_search *search);

/* Why a program closes a search that would go on. */
enum {
    DS_SEARCH_STOPPED, /* it was interrupted, and can be resumed; what is said where nothing is */
    DS_SEARCH_TARGET,  /* the loss is low enough */
    DS_SEARCH_TIME     /* the time is over */
};

/* What the record of the search says of its end (`ended` in summary.json and reports: signal, target or time)
 * when it is closed before the budget is spent. It ends nothing by itself. DS_OK or DS_E_ARG. */
ds_status ds_search_end(ds_search *search, uint32_t why);

#ifdef __cplusplus
}
#endif
#endif
