/* SPDX-License-Identifier: Apache-2.0 */
/* crashes_in_batch - dies where many points are asked for together and a gradient is wanted. */
#include <signal.h>
#define BAD_ID "crashes_in_batch"
#define BAD_ROW                                                                                              \
    if (k > 0 && (io[k]->want & DS_WANT_GRAD)) {                                                             \
        raise(SIGSEGV);                                                                                      \
    }
#include "batch_base.h"
#include "env_base.h"
