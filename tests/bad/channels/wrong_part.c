/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_part - the derivative of a constraint is wrong in half of the box. */
#define BAD_ID "wrong_part"
#define BAD_JACOBIAN(k, i) ((k) == 7 && (i) == 2 && e->x[4] > 0 ? 0.9 : 1)
#include "constraints_base.h"
