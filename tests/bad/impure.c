/* SPDX-License-Identifier: Apache-2.0 */
/* impure.c - results that depend on what was called before: -DBAD_IS_NAME compiles plugin NAME (compile_bad
 * of tests/cli/lib.sh). */

/* after_loss - the gradient is right but where the loss of the same point was asked for just before. */
#ifdef BAD_IS_after_loss
#define BAD_ID "after_loss"
#define BAD_KEEPS static double at[BAD_N];
#define BAD_LOSS_ONLY memcpy(at, x, sizeof at);
#define BAD_AFTER                                                                                            \
    g[MIDDLE] *= memcmp(at, x, sizeof at) == 0 ? 0.9 : 1;                                                    \
    at[0] = 9;
#include "smooth_base.h"
#endif

/* kept_by_ends - the gradient is kept for the next call, and known again by the first and the last variable.
 */
#ifdef BAD_IS_kept_by_ends
#define BAD_ID "kept_by_ends"
#define BAD_AFTER                                                                                            \
    static double at[2] = {7, 7}, kept[N];                                                                   \
    const int same = x[0] == at[0] && x[N - 1] == at[1];                                                     \
    memcpy(same ? g : kept, same ? kept : g, sizeof g);                                                      \
    at[0] = x[0];                                                                                            \
    at[1] = x[N - 1];
#include "smooth_base.h"
#endif

/* kept_by_first - the gradient is kept for the next call, and known again by the first variable alone. */
#ifdef BAD_IS_kept_by_first
#define BAD_ID "kept_by_first"
#define BAD_AFTER                                                                                            \
    static double at = 7, kept[N];                                                                           \
    memcpy(x[0] == at ? g : kept, x[0] == at ? kept : g, sizeof g);                                          \
    at = x[0];
#include "smooth_base.h"
#endif

/* kept_by_sum - the gradient is kept for the next call, and known again by the sum of the variables. */
#ifdef BAD_IS_kept_by_sum
#define BAD_ID "kept_by_sum"
#define BAD_AFTER                                                                                            \
    static double at = 7e9, kept[N];                                                                         \
    double all = 0;                                                                                          \
    for (int t = 0; t < N; t++) {                                                                            \
        all += x[t];                                                                                         \
    }                                                                                                        \
    const int same = fabs(all - at) < 1e-12;                                                                 \
    memcpy(same ? g : kept, same ? kept : g, sizeof g);                                                      \
    at = all;
#include "smooth_base.h"
#endif

/* kept_close_by - a point closer than 1e-6 to the one before has its gradient. */
#ifdef BAD_IS_kept_close_by
#define BAD_ID "kept_close_by"
#define BAD_AFTER                                                                                            \
    static double at[N], kept[N];                                                                            \
    double far = 0;                                                                                          \
    for (int t = 0; t < N; t++) {                                                                            \
        far = fmax(far, fabs(x[t] - at[t]));                                                                 \
    }                                                                                                        \
    memcpy(far < 1e-6 ? g : kept, far < 1e-6 ? kept : g, sizeof g);                                          \
    memcpy(at, x, sizeof at);
#include "smooth_base.h"
#endif

/* once_in_many - every 400th call has another sign in a component of its gradient. */
#ifdef BAD_IS_once_in_many
#define BAD_ID "once_in_many"
#define BAD_AFTER                                                                                            \
    static int calls;                                                                                        \
    g[MIDDLE] *= ++calls % 400 == 0 ? -1 : 1;
#include "smooth_base.h"
#endif

/* wears_out - from the 300th call on a component of the gradient lacks a tenth. */
#ifdef BAD_IS_wears_out
#define BAD_ID "wears_out"
#define BAD_AFTER                                                                                            \
    static int calls;                                                                                        \
    g[MIDDLE] *= ++calls > 300 ? 0.9 : 1;
#include "smooth_base.h"
#endif
