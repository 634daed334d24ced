/* SPDX-License-Identifier: Apache-2.0 */
/* outside - leaves the box. */
#define BAD_ID "outside"
#define BAD_X(u) (p->lower[i] + 1.1 * (u) * (p->upper[i] - p->lower[i]))
#include "opt_base.h"
