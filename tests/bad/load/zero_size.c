/* SPDX-License-Identifier: Apache-2.0 */
/* zero_size - forgets the struct_size of its descriptor. */
#define BAD_ID "zero_size"
#define BAD_SIZE 0
#include "env_base.h"
