/* SPDX-License-Identifier: Apache-2.0 */
/* rewrites - puts the gradient elsewhere, and leaves a NaN where the host looks for it. */
#define BAD_ID "rewrites"
#define BAD_EVALUATE                                                                                         \
    static double elsewhere[3];                                                                              \
    if (io->want & DS_WANT_GRAD) {                                                                           \
        io->grad[1] = NAN;                                                                                   \
        io->grad = elsewhere;                                                                                \
    }
#include "env_base.h"
