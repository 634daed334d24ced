/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.h - the commands in dshost itself: each parses its own arguments (argv[0] is its name) and
 * returns an exit status. */
#ifndef DS_CLI_CMD_RUN_H
#define DS_CLI_CMD_RUN_H

int ds_cmd_resume(int argc, char **argv);
int ds_cmd_run(int argc, char **argv);

#endif
