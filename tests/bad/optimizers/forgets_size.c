/* SPDX-License-Identifier: Apache-2.0 */
/* forgets_size - fills its table anew for every request, except for the struct_size. */
#define BAD_ID "forgets_size"
#define BAD_AFTER rows.struct_size = 0;
#include "opt_base.h"
