/* SPDX-License-Identifier: Apache-2.0 */
/* wants_gradient - wants gradients of a problem that has none. */
#define BAD_ID "wants_gradient"
#define BAD_WANT DS_WANT_GRAD
#include "opt_base.h"
