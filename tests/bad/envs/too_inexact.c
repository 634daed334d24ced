/* SPDX-License-Identifier: Apache-2.0 */
/* too_inexact - is apart by a thousand times the tolerance that it says. */
#define BAD_ID "too_inexact"
#define BAD_FLAGS (DS_ENV_GRADIENT | DS_ENV_INEXACT)
#define BAD_TOLERANCE 1e-12
static _Thread_local unsigned calls;
#define BAD_EVALUATE io->loss *= 1 + 1e-9 * (calls++ % 2);
#include "env_base.h"
