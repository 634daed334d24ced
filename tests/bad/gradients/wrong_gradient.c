/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_gradient - a factor is missing in one component of the gradient. */
#define BAD_ID "wrong_gradient"
#define BAD_EVALUATE                                                                                         \
    if (io->want & DS_WANT_GRAD) {                                                                           \
        io->grad[1] *= 0.5;                                                                                  \
    }
#include "env_base.h"
