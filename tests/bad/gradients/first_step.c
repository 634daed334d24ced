/* SPDX-License-Identifier: Apache-2.0 */
/* first_step - the small term of the first step is forgotten. */
#define BAD_ID "first_step"
#define BAD_TERM(t) ((t) > 0)
#include "smooth_base.h"
