/* SPDX-License-Identifier: Apache-2.0 */
/* half_term - a factor of 2 is missing in a small term. */
#define BAD_ID "half_term"
#define BAD_TERM(t) 0.5
#include "smooth_base.h"
