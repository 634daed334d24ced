/* SPDX-License-Identifier: Apache-2.0 */
/* no_room - with a parameter it wants gradients and gives no room for them. */
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
