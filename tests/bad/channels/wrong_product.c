/* SPDX-License-Identifier: Apache-2.0 */
/* wrong_product - the two products with the Jacobian belong to different matrices. */
#define BAD_ID "wrong_product"
#define BAD_JTV(w, i) (2 * (w)[i])
#include "channel_base.h"

#include "env_base.h"
