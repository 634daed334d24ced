/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_weight - the gradient has another weight of one metric of the loss. */
#define BAD_ID "wrong_weight"
#define BAD_WEIGHT 1.01
#include "smooth_base.h"
