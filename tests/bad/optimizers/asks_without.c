/* SPDX-License-Identifier: Apache-2.0 */
/* asks_without - with a parameter it wants gradients of a problem that has none. */
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
