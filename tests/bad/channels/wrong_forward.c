/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_forward - J v takes the components of v in the wrong order, J' v does not. */
#define BAD_ID "wrong_forward"
#define BAD_JV(v, i) ((v)[2 - (i)])
#include "channel_base.h"

#include "env_base.h"
