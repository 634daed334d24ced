/* SPDX-License-Identifier: Apache-2.0 */
/* destroys_null - destroy() looks into the instance that is not there. */
#include <stdlib.h>
#define BAD_ID "destroys_null"
static void take_apart(void *self)
{
    *(volatile char *)self = 0;
    free(self);
}
#define BAD_DESTROY take_apart
#include "env_base.h"
