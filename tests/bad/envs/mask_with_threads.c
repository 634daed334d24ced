/* SPDX-License-Identifier: Apache-2.0 */
/* mask_with_threads - changes the umask where it may use several threads and a gradient is wanted. */
#include <sys/stat.h>
#define BAD_ID "mask_with_threads"
#define BAD_EVALUATE                                                                                         \
    if (b->host->threads > 1 && (io->want & DS_WANT_GRAD)) {                                                 \
        umask(0777);                                                                                         \
    }
#include "env_base.h"
