/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - how every command begins and ends, and the table of commands: some are in dshost itself, the
 * others are programs dshost-NAME. */
#ifndef DS_CLI_COMMAND_H
#define DS_CLI_COMMAND_H

#include <stdio.h>

#include "base/error.h"

/* The main() of every program: prepares the process, answers --version, and calls `command`, which returns
 * its exit status, or -1 after it printed its help. Then checks that all output was written, prints the
 * error, if there is one ("dshost: error: TEXT" on stderr), and returns the exit status. */
int ds_command_main(int argc, char **argv, int (*command)(int argc, char **argv, ds_error *e));

/* Prints the commands, including third-party ones on PATH. */
void ds_usage(FILE *f);

/* Is this a command that `dshost help` describes? */
int ds_is_command(const char *name);

/* Becomes the program of a command, dshost-NAME with the NULL-terminated arguments `rest`. Returns only on
 * failure: DS_EXIT_USAGE where there is no such command, else DS_EXIT_IO. */
int ds_dispatch(const char *name, char *const *rest, ds_error *e);

/* Becomes the program that prints the flags of a command. Returns only on failure. */
int ds_dispatch_help(const char *name, ds_error *e);

#endif
