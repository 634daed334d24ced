/* SPDX-License-Identifier: Apache-2.0 */
/* batch_gradient - with several points in one call their gradients are wrong. */
#define BAD_ID "batch_gradient"
#define BAD_ROW                                                                                              \
    if (count > 1 && (io[k]->want & DS_WANT_GRAD)) {                                                         \
        io[k]->grad[1] *= 1.001;                                                                             \
    }
#include "batch_base.h"
#include "env_base.h"
