/* SPDX-License-Identifier: Apache-2.0 */
/* huge_table - the struct_size of an extension's table was never set, and holds anything. */
#define BAD_ID "huge_table"
#define BAD_TABLE_SIZE 0xcccccccc
#include "channel_base.h"

#include "env_base.h"
