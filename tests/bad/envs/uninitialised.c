/* SPDX-License-Identifier: Apache-2.0 */
/* uninitialised - uses memory that it never wrote. */
#include <stdlib.h>
#define BAD_ID "uninitialised"
#define BAD_EVALUATE                                                                                         \
    {                                                                                                        \
        unsigned char *volatile p = malloc(100000);                                                          \
        io->loss += p[50000];                                                                                \
        free(p);                                                                                             \
    }
#include "env_base.h"
