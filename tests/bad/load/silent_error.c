/* SPDX-License-Identifier: Apache-2.0 */
/* silent_error - refuses a value without saying why. */
#define BAD_ID "silent_error"
#define BAD_CREATE                                                                                           \
    if (b->centre > 0.9) {                                                                                   \
        free(b);                                                                                             \
        return DS_E_PARAM;                                                                                   \
    }
#include "env_base.h"
