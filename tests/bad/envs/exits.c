/* SPDX-License-Identifier: Apache-2.0 */
/* exits - ends the program where it should report. */
#include <stdlib.h>
#define BAD_ID "exits"
#define BAD_EVALUATE                                                                                         \
    if (io->x[0] == 2) {                                                                                     \
        exit(0);                                                                                             \
    }
#include "env_base.h"
