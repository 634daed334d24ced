/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_hessian - a factor is missing in H v. */
#define BAD_ID "wrong_hessian"
#define BAD_HV(v, i) ((v)[i])
#include "channel_base.h"

#include "env_base.h"
