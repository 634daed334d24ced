/* SPDX-License-Identifier: Apache-2.0 */
/* ignores_stopped - goes on asking when it is told to stop. */
#define BAD_ID "ignores_stopped"
#define BAD_AFTER status = DS_OK;
#include "opt_base.h"
