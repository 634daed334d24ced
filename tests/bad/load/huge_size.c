/* SPDX-License-Identifier: Apache-2.0 */
/* huge_size - a struct_size that is no size: what was written there means something else. */
#define BAD_ID "huge_size"
#define BAD_SIZE 0x80000000u
#include "env_base.h"
