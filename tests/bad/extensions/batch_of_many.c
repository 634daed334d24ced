/* SPDX-License-Identifier: Apache-2.0 */
/* batch_of_many - with more than 32 points in one call the last one has another loss. */
#define BAD_ID "batch_of_many"
#define BAD_ROW                                                                                              \
    if (k > 32 && k + 1 == count) {                                                                          \
        io[k]->loss += 1e-9;                                                                                 \
    }
#include "batch_base.h"

#include "env_base.h"
