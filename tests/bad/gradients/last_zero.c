/* SPDX-License-Identifier: Apache-2.0 */
/* last_zero - the last component is 0. */
#define BAD_ID "last_zero"
#define BAD_AFTER g[N - 1] = 0;
#include "smooth_base.h"
