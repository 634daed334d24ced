/* SPDX-License-Identifier: Apache-2.0 */
/* one_component - one component of 40 is 1.001 times what it should be. */
#define BAD_ID "one_component"
#define BAD_AFTER g[MIDDLE] *= 1.001;
#include "smooth_base.h"
