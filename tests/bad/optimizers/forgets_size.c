/* SPDX-License-Identifier: Apache-2.0 */
/* forgets_size - fills its batch anew for every question, but for the struct_size. */
#define BAD_ID "forgets_size"
#define BAD_AFTER batch.struct_size = 0;
#include "opt_base.h"
