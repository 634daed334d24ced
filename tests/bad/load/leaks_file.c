/* SPDX-License-Identifier: Apache-2.0 */
/* leaks_file - leaves a file open. */
#include <fcntl.h>
#define BAD_ID "leaks_file"
#define BAD_CREATE (void)!open("/dev/null", O_RDONLY);
#include "env_base.h"
