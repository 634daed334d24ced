/* SPDX-License-Identifier: Apache-2.0 */
/* small_beside - the derivative of the smallest constraint of some is twice what it should be; in numbers
 * that is nothing beside the others. */
#define BAD_ID "small_beside"
#define BAD_SIZE_OF(k) pow(10, -(k) / 20)
#define BAD_JACOBIAN(k, i) ((k) == 199 ? 2 : 1)
#include "constraints_base.h"
