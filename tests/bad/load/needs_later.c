/* SPDX-License-Identifier: Apache-2.0 */
/* needs_later - needs a service that this host does not have. */
#define BAD_ID "needs_later"
#define BAD_NEEDS "ds.host.later/1"
#include "env_base.h"
