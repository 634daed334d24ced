/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h - command line flags with messages in the manner of dshost: one line that says what and what
 * instead. */
#ifndef DS_CLI_ARGUMENTS_H
#define DS_CLI_ARGUMENTS_H

#include <diffsim/plugin.h>
#include <getopt.h>

#include "base/error.h"

/* One step of getopt_long with its own messages off: the option's code, -1 at the end, or '?' after filling
 * *e with an unknown flag (and the nearest known one), a missing or a superfluous value. `command` names the
 * command in messages. */
int ds_arguments_next(int argc, char **argv, const char *command, const struct option *options, ds_error *e);

/* Tests all flags, and that there are at most `most` other arguments, before any of them is acted on, and
 * puts getopt back to the start: a wrong flag is told before a wrong file that another flag names. 0, or
 * DS_EXIT_USAGE. */
int ds_arguments_check(int argc, char **argv, const char *command, const struct option *options, int most,
                       ds_error *e);

/* A flag of a command: without a value it sets *set to 1, or `usage` is printed, or take() gets the value
 * that `word` says; else its value goes to *text, or to *list, behind those of the same flag before, with
 * commas between them (the caller frees it, also after an error), or to take(), which may refuse it. With a
 * `letter` it is also -L. A switch may go without its value, which is then `true`: --flag, --flag no,
 * --flag=no. Tables end with a name of NULL; "help" is among them. In a name '_' stands for '-': keys of a
 * schema are names of flags. */
typedef int (*ds_flag_take)(void *request, const char *name, const char *value, ds_error *e);
typedef struct ds_flag {
    const char *name;
    int *set;
    const char **text;
    char **list;
    const char *usage, *word;
    ds_flag_take take;
    int is_switch;
    char letter; /* 0 = none; -h is that of help */
} ds_flag;
enum { DS_FLAGS_MAX = 48 };

/* Puts a flag for each parameter of a schema for which has() is true behind the first k of a table;
 * returns how many there are then. */
size_t ds_flags_add(ds_flag *flags, size_t k, const ds_param *const *schema, int (*has)(const ds_param *p),
                    ds_flag_take take);

/* Prints the line of such a flag on the standard output. */
void ds_flag_describe(const ds_param *p);

/* Reads the flags of a table up to their end, or to --help. `most` as in ds_arguments_check(), or
 * negative: that is not done before. 0, -1 = a usage was printed, or an exit status. */
int ds_arguments_read(int argc, char **argv, const char *command, const ds_flag *flags, int most,
                      void *request, ds_error *e);

/* No argument may be left. 0, or DS_EXIT_USAGE. */
int ds_arguments_end(int argc, char **argv, const char *command, ds_error *e);

#endif
