/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_minor - was compiled for another version of the interface. */
#define BAD_ID "wrong_minor"
#define BAD_MINOR (DS_ABI_MINOR + 1)
#include "env_base.h"
