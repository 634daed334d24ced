/* SPDX-License-Identifier: Apache-2.0 */
/* rare_sign - a penalty that few episodes meet has the wrong sign in the gradient. */
#define BAD_ID "rare_sign"
#define BAD_LIMIT 1.2
#define BAD_PENALTY -1
#include "smooth_base.h"
