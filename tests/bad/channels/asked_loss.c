/* SPDX-License-Identifier: Apache-2.0 */
/* asked_loss - the loss is rounded in another way where something is asked. */
#define BAD_ID "asked_loss"
#define BAD_ANSWER io->loss *= 1 + 0x1p-50;
#include "channel_base.h"

#include "env_base.h"
