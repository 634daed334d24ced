/* SPDX-License-Identifier: Apache-2.0 */
/* prints - prints on stdout. */
#include <stdio.h>
#define BAD_ID "prints"
#define BAD_EVALUATE printf("loss %g\n", io->loss);
#include "env_base.h"
