/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - what all commands end with. */
#ifndef DS_CLI_COMMAND_H
#define DS_CLI_COMMAND_H

#include "base/error.h"

/* Prints "dshost: TEXT" (after "error: ") on stderr and returns the status. */
int ds_command_failed(const ds_error *e);

#endif
