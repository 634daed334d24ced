/* SPDX-License-Identifier: Apache-2.0 */
/* changes_mode - changes the working directory and the floating-point mode. */
#include <fenv.h>
#include <unistd.h>
#define BAD_ID "changes_mode"
#define BAD_EVALUATE                                                                                         \
    fesetround(FE_DOWNWARD);                                                                                 \
    (void)!chdir("/");
#include "env_base.h"
