/* SPDX-License-Identifier: Apache-2.0 */
/* maximises - stays where the loss is large. */
#define BAD_ID "maximises"
#define BAD_X(u) (p->lower[i] + 1e-3 * (u))
#include "opt_base.h"
