/* SPDX-License-Identifier: Apache-2.0 */
/* one_of_many - the derivative of one constraint of many is a thousandth too large. */
#define BAD_ID "one_of_many"
#define BAD_JACOBIAN(k, i) ((k) == 137 ? 1.001 : 1)
#include "constraints_base.h"
