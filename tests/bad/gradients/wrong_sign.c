/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_sign - a small term has the wrong sign. */
#define BAD_ID "wrong_sign"
#define BAD_EFFORT -1
#include "smooth_base.h"
