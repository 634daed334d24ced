/* SPDX-License-Identifier: Apache-2.0 */
/* four_threads - sums in another order where it may use 4 threads. */
#define BAD_ID "four_threads"
#define BAD_EVALUATE io->loss += b->host->threads == 4 ? 1e-15 * io->loss : 0;
#include "env_base.h"
