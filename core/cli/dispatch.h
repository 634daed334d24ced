/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - the commands by name: those of dshost itself, and the programs dshost-NAME that are the
 * others. */
#ifndef DS_CLI_DISPATCH_H
#define DS_CLI_DISPATCH_H

#include <stdio.h>

#include "base/error.h"

/* Prints the commands, with those that others have put on PATH. */
void ds_usage(FILE *f);

/* Does `dshost help` know it? */
int ds_is_command(const char *name);

/* Becomes the program of a command: dshost-NAME with the NULL-terminated arguments `rest`. Comes back only
 * where that fails: DS_EXIT_USAGE where there is no such command, else DS_EXIT_IO. */
int ds_dispatch(const char *name, char *const *rest, ds_error *e);

/* Becomes what prints the flags of a command. Comes back only where that fails. */
int ds_dispatch_help(const char *name, ds_error *e);

#endif
