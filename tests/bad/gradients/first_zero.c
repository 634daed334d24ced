/* SPDX-License-Identifier: Apache-2.0 */
/* first_zero - the first component is 0. */
#define BAD_ID "first_zero"
#define BAD_AFTER g[0] = 0;
#include "smooth_base.h"
