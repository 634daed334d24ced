/* SPDX-License-Identifier: Apache-2.0 */
/* batch_warm - with many points in one call each begins from where the one before ended. */
#define BAD_ID "batch_warm"
#define BAD_ROW io[k]->loss += k > 0 ? 1e-12 * io[k - 1]->loss : 0;
#include "batch_base.h"
#include "env_base.h"
