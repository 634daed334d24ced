/* SPDX-License-Identifier: Apache-2.0 */
/* hidden_pair - wants gradients where two parameters are not at their defaults, one of them real. */
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
