/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.h - the commands in dshost itself: each parses its own arguments (argv[0] is its name) and
 * returns an exit status (command.h). */
#ifndef DS_CLI_CMD_RUN_H
#define DS_CLI_CMD_RUN_H

#include "base/error.h"

int ds_cmd_resume(int argc, char **argv, ds_error *e);
int ds_cmd_run(int argc, char **argv, ds_error *e);

#endif
