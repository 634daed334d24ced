/* SPDX-License-Identifier: Apache-2.0 */
/* hidden_gradient - wants gradients with a parameter, and its descriptor does not say so. */
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
