/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - what all commands begin and end with. */
#ifndef DS_CLI_COMMAND_H
#define DS_CLI_COMMAND_H

#include "base/error.h"

/* What the main() of each program does: settles in, answers --version, and calls `command`, which returns
 * its exit status, or -1 where it has printed its help. Looks whether all that was printed has arrived,
 * shows the error, if there is one to show ("dshost: error: TEXT" on stderr), and returns the status. */
int ds_command_main(int argc, char **argv, int (*command)(int argc, char **argv, ds_error *e));

#endif
