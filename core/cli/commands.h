/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the commands of dshost: each parses its own arguments (argv[0] is its name) and returns an
 * exit status. */
#ifndef DS_CLI_COMMANDS_H
#define DS_CLI_COMMANDS_H

#include <stdio.h>

#include "base/error.h"

int ds_cmd_bench(int argc, char **argv);
int ds_cmd_bench_run(int argc, char **argv); /* hidden: one run of a bench */
int ds_cmd_check(int argc, char **argv);
int ds_cmd_compare(int argc, char **argv);
int ds_cmd_doctor(int argc, char **argv);
int ds_cmd_eval(int argc, char **argv);
int ds_cmd_export(int argc, char **argv);
int ds_cmd_help(int argc, char **argv);
int ds_cmd_landscape(int argc, char **argv);
int ds_cmd_list(int argc, char **argv);
int ds_cmd_merge(int argc, char **argv);
int ds_cmd_plot(int argc, char **argv);
int ds_cmd_report(int argc, char **argv);
int ds_cmd_resume(int argc, char **argv);
int ds_cmd_run(int argc, char **argv);
int ds_cmd_template(int argc, char **argv);

/* Prints the commands. */
void ds_usage(FILE *f);

/* Prints what `dshost NAME --help` does; -1 where there is no such command. */
int ds_command_usage(const char *name);

#endif
