/* SPDX-License-Identifier: Apache-2.0 */
/* leaks_memory - forgets what it allocated. */
#include <stdlib.h>
#define BAD_ID "leaks_memory"
static void *volatile lost;
#define BAD_CREATE lost = malloc(48);
#include "env_base.h"
