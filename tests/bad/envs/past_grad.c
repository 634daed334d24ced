/* SPDX-License-Identifier: Apache-2.0 */
/* past_grad - writes one entry behind the gradient. */
#define BAD_ID "past_grad"
#define BAD_EVALUATE                                                                                         \
    if (io->want & DS_WANT_GRAD) {                                                                           \
        io->grad[io->n] = 0;                                                                                 \
    }
#include "env_base.h"
