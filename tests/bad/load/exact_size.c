/* SPDX-License-Identifier: Apache-2.0 */
/* exact_size - works with a host that was compiled with its own headers only. */
#define BAD_ID "exact_size"
#define BAD_CREATE                                                                                           \
    if (host->struct_size != sizeof *host) {                                                                 \
        host->error(host, DS_E_UNSUPPORTED, "a host of another version");                                    \
        free(b);                                                                                             \
        return DS_E_UNSUPPORTED;                                                                             \
    }
#include "env_base.h"
