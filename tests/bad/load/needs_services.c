/* SPDX-License-Identifier: Apache-2.0 */
/* needs_services - calls an optional service without looking whether the host has it. */
#define BAD_ID "needs_services"
#define BAD_CREATE (void)host->get_extension(host, "ds.test.unknown/1");
#include "env_base.h"
