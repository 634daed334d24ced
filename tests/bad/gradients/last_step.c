/* SPDX-License-Identifier: Apache-2.0 */
/* last_step - the small term of the last step is forgotten. */
#define BAD_ID "last_step"
#define BAD_TERM(t) ((t) < N - 1)
#include "smooth_base.h"
