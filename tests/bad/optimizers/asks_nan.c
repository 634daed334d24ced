/* SPDX-License-Identifier: Apache-2.0 */
/* asks_nan - computes with the loss of failed points. */
#define BAD_ID "asks_nan"
#define BAD_X(u) (0 * (f_last - f_last) + p->lower[i] + (u) * (p->upper[i] - p->lower[i]))
#define BAD_AFTER f_last = f;
static double f_last;
#include "opt_base.h"
