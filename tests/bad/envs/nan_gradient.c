/* SPDX-License-Identifier: Apache-2.0 */
/* nan_gradient - announces gradients and never has a finite one. */
#define BAD_ID "nan_gradient"
#define BAD_EVALUATE                                                                                         \
    if (io->want & DS_WANT_GRAD) {                                                                           \
        io->grad[1] = NAN;                                                                                   \
    }
#include "env_base.h"
