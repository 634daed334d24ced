/* SPDX-License-Identifier: Apache-2.0 */
/* first_of_many - of 1000 steps the small term of the first is forgotten: 8e-9 of one component. */
#define BAD_ID "first_of_many"
#define BAD_N 1000
#define BAD_TERM(t) ((t) > 0)
#include "smooth_base.h"
