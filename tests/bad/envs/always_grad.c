/* SPDX-License-Identifier: Apache-2.0 */
/* always_grad - writes to the gradient although none is wanted. */
#define BAD_ID "always_grad"
#define BAD_EVALUATE                                                                                         \
    if (io->grad != NULL && (io->want & DS_WANT_GRAD) == 0) {                                                \
        io->grad[0] = 1;                                                                                     \
    }
#include "env_base.h"
