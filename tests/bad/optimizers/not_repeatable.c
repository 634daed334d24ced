/* SPDX-License-Identifier: Apache-2.0 */
/* not_repeatable - seeds itself with the time. */
#define BAD_ID "not_repeatable"
#include <time.h>
#define BAD_X(u) (0.5 * (p->lower[i] + p->upper[i]) + (u) * (double)clock() * 1e-12)
#include "opt_base.h"
