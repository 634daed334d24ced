/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_outside - a component is wrong in the outer tenth of the box. */
#define BAD_ID "wrong_outside"
#define BAD_AFTER g[MIDDLE] *= x[MIDDLE] > 0.9 ? 0.9 : 1;
#include "smooth_base.h"
