/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - what all commands begin and end with. */
#ifndef DS_CLI_COMMAND_H
#define DS_CLI_COMMAND_H

#include "base/error.h"

/* Prints "dshost: TEXT" (after "error: ") on stderr and returns the status. */
int ds_command_failed(const ds_error *e);

/* What the main() of each program does: settles in, answers --version, and calls `command`, whose exit
 * status it returns after a look at whether all that was printed has arrived. */
int ds_command_main(int argc, char **argv, int (*command)(int argc, char **argv));

#endif
