/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/ask_tell.h - the optimizers inside another program, as ask and tell: diffsim says which points to
 * evaluate next, the program evaluates them in whatever way it likes and tells the losses.
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
 * Link with the flags of `pkg-config --cflags --libs libdiffsim`. Nothing is recorded and nothing is
 * isolated: a plugin that crashes takes the program with it; use dshost where that matters. The points depend
 * on plugin, options and answers alone. Functions are to be called from one thread at a time for each search;
 * searches are independent of each other and may compute at the same time. A program that forks closes its
 * searches before.
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
    const double *lower;   /* n values each: bounds, finite, lower < upper */
    const double *upper;
    const double *x0; /* n values: a start point inside the bounds; NULL = the middle of the box */
    uint64_t budget;  /* evaluations; 0 = no limit, and the optimizer plans for none */
    uint64_t seed;
    const char *settings; /* "key = value" lines as in section [opt] of an .ini file; NULL = defaults */
} ds_search_options;

typedef struct ds_search ds_search;

/* Starts a search. `optimizer` is an id ("boleap"), found where dshost finds it, or the path of a .so.
 * Returns NULL after writing one line to `why` (at most `size` bytes with the final NUL; may be NULL): what
 * is wrong, where, and what to do. */
ds_search *ds_search_open(const char *optimizer, const ds_search_options *options, char *why, uint64_t size);

/* The points to evaluate next: *count rows of n values at *x, inside the bounds, owned by the search and
 * valid until the next call of tell() or close(). *want is DS_WANT_GRAD where the optimizer wants gradients
 * of these rows, else 0. Asked again before tell() it gives the same rows. DS_OK; DS_STOPPED when the search
 * has ended, by the budget or by itself; negative when it failed, see ds_search_message(). */
ds_status ds_search_ask(ds_search *search, uint64_t *count, const double **x, uint32_t *want);

/* Answers all rows of the last ask(): `count` losses, to be minimised, and with DS_WANT_GRAD count x n
 * derivatives. A loss that is not finite is a failed evaluation, a row of derivatives that are not all finite
 * a missing gradient; the optimizers know how to go on. `grad` may be NULL where none was wanted. DS_OK, or
 * DS_E_ARG where nothing was asked or something is missing. */
ds_status ds_search_tell(ds_search *search, const double *loss, const double *grad);

/* Evaluations told so far. */
uint64_t ds_search_used(const ds_search *search);

/* The lowest finite loss told so far and its point (n values, owned by the search, changed by the next
 * tell()). DS_OK, or DS_STOPPED where there is none yet. Both outputs may be NULL. */
ds_status ds_search_best(const ds_search *search, double *loss, const double **x);

/* Why ask() returned a negative status; "" where it did not. Valid until close(). */
const char *ds_search_message(const ds_search *search);

/* Ends the search, finished or not, and releases it; accepts NULL. Waits for the optimizer, which is
 * asked to stop. */
void ds_search_close(ds_search *search);

#ifdef __cplusplus
}
#endif
#endif
