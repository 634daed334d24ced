/* SPDX-License-Identifier: Apache-2.0 */
/* short_grad - leaves the last entry of the gradient unwritten. */
#define BAD_ID "short_grad"
#define BAD_ENTRIES (io->n - 1)
#include "env_base.h"
