/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_magic - does not begin with the magic number. */
#define BAD_ID "wrong_magic"
#define BAD_MAGIC 0x12345678u
#include "env_base.h"
