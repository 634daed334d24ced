/* SPDX-License-Identifier: Apache-2.0 */
/* optimizers.c - faults of optimizers: -DBAD_IS_NAME compiles plugin NAME (compile_bad of
 * tests/cli/lib.sh). */

/* asks_nan - computes with the loss of failed points. */
#ifdef BAD_IS_asks_nan
#define BAD_ID "asks_nan"
#define BAD_X(u) (0 * (f_last - f_last) + p->lower[i] + (u) * (p->upper[i] - p->lower[i]))
#define BAD_AFTER f_last = f;
static double f_last;
#include "opt_base.h"
#endif

/* asks_without - with a parameter it wants gradients of a problem that has none. */
#ifdef BAD_IS_asks_without
#define BAD_ID "asks_without"
#define BAD_PARAMS DS_REAL("share", "0", 0, 1, "", "Share of steps of descent.")
#define BAD_WANT (!p->has_gradient && share_of(s) > 0 ? DS_WANT_GRAD : 0)
#define BAD_CODE                                                                                             \
    static double share_of(const search *s)                                                                  \
    {                                                                                                        \
        double share = 0;                                                                                    \
        s->host->get_real(s->host, "share", &share);                                                         \
        return share;                                                                                        \
    }
#include "opt_base.h"
#endif

/* forgets_size - fills its table anew for every request, except for the struct_size. */
#ifdef BAD_IS_forgets_size
#define BAD_ID "forgets_size"
#define BAD_AFTER rows.struct_size = 0;
#include "opt_base.h"
#endif

/* hidden_pair - wants gradients where two parameters are not at their defaults, one of them real. */
#ifdef BAD_IS_hidden_pair
#define BAD_ID "hidden_pair"
#define BAD_PARAMS                                                                                           \
    DS_REAL("share", "0", 0, 1, "", "Share of steps of descent."),                                           \
        DS_INT("steps", "0", 0, 10, "", "Steps of descent behind each point.")
#define BAD_WANT (p->has_gradient && descends(s) ? DS_WANT_GRAD : 0)
#define BAD_CODE                                                                                             \
    static int descends(const search *s)                                                                     \
    {                                                                                                        \
        int64_t steps = 0;                                                                                   \
        double share = 0;                                                                                    \
        s->host->get_int(s->host, "steps", &steps);                                                          \
        s->host->get_real(s->host, "share", &share);                                                         \
        return steps > 0 && share > 0;                                                                       \
    }
#include "opt_base.h"
#endif

/* ignores_stopped - goes on asking when it is told to stop. */
#ifdef BAD_IS_ignores_stopped
#define BAD_ID "ignores_stopped"
#define BAD_AFTER status = DS_OK;
#include "opt_base.h"
#endif

/* maximises - stays where the loss is large. */
#ifdef BAD_IS_maximises
#define BAD_ID "maximises"
#define BAD_X(u) (p->lower[i] + 1e-3 * (u))
#include "opt_base.h"
#endif

/* no_room - with a parameter it wants gradients and gives no room for them. */
#ifdef BAD_IS_no_room
#define BAD_ID "no_room"
#define BAD_PARAMS DS_INT("j", "0", 0, 5, "", "Steps of descent behind each point.")
#define BAD_WANT (p->has_gradient && j_of(s) > 0 ? DS_WANT_GRAD : 0)
#define BAD_USES DS_HAS_GRADIENT
#define BAD_GRAD NULL
#define BAD_CODE                                                                                             \
    static int64_t j_of(const search *s)                                                                     \
    {                                                                                                        \
        int64_t j = 0;                                                                                       \
        s->host->get_int(s->host, "j", &j);                                                                  \
        return j;                                                                                            \
    }
#include "opt_base.h"
#endif

/* not_repeatable - seeds itself with the time. */
#ifdef BAD_IS_not_repeatable
#define BAD_ID "not_repeatable"
#include <time.h>
#define BAD_X(u) (0.5 * (p->lower[i] + p->upper[i]) + (u) * (double)clock() * 1e-12)
#include "opt_base.h"
#endif

/* outside - leaves the box. */
#ifdef BAD_IS_outside
#define BAD_ID "outside"
#define BAD_X(u) (p->lower[i] + 1.1 * (u) * (p->upper[i] - p->lower[i]))
#include "opt_base.h"
#endif

/* wants_gradient - wants gradients of a problem that has none. */
#ifdef BAD_IS_wants_gradient
#define BAD_ID "wants_gradient"
#define BAD_WANT DS_WANT_GRAD
#include "opt_base.h"
#endif

/* hidden_gradient - wants gradients with a parameter, and its descriptor does not say so. */
#ifdef BAD_IS_hidden_gradient
#define BAD_ID "hidden_gradient"
#define BAD_PARAMS DS_INT("steps", "0", 0, 10, "", "Steps of descent behind each point.")
#define BAD_WANT (p->has_gradient && steps_of(s) > 0 ? DS_WANT_GRAD : 0)
#define BAD_CODE                                                                                             \
    static int64_t steps_of(const search *s)                                                                 \
    {                                                                                                        \
        int64_t steps = 0;                                                                                   \
        s->host->get_int(s->host, "steps", &steps);                                                          \
        return steps;                                                                                        \
    }
#include "opt_base.h"
#endif
