/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h - command line flags, with one-line messages that say what is wrong and what to use. */
#ifndef DS_CLI_ARGUMENTS_H
#define DS_CLI_ARGUMENTS_H

#include <diffsim/plugin.h>
#include <getopt.h>

#include "base/error.h"

/* One step of getopt_long without its own messages. Returns the option's code, -1 at the end, or '?' after
 * filling *e with an unknown flag (and the nearest known one), or a missing or superfluous value. Messages
 * call the command `command`. */
int ds_arguments_next(int argc, char **argv, const char *command, const struct option *options, ds_error *e);

/* Checks all flags, and that at most `most` other arguments follow, before any of them takes effect, and
 * rewinds getopt: so a wrong flag is reported before a wrong file that another flag names. Returns 0, or
 * DS_EXIT_USAGE. */
int ds_arguments_check(int argc, char **argv, const char *command, const struct option *options, int most,
                       ds_error *e);

/* A flag of a command. Without a value it sets *set to 1, prints `usage`, or, if `word` is set, passes `word`
 * to take(). With a value, the value goes to *text; or to *list, after those of the same flag before,
 * separated by commas (the caller frees it, also after an error); or to take(), which may refuse it. `letter`
 * adds the short form -L. A switch may omit its value, which is then `true`: --flag, --flag no, --flag=no. A
 * table ends with name NULL and contains "help". '_' in a name stands for '-', so that keys of a schema are
 * names of flags. */
typedef int (*ds_flag_take)(void *request, const char *name, const char *value, ds_error *e);
typedef struct ds_flag {
    const char *name;
    int *set;
    const char **text;
    char **list;
    const char *usage, *word;
    ds_flag_take take;
    int is_switch;
    char letter; /* 0 = none; -h means help */
} ds_flag;
enum { DS_FLAGS_MAX = 48 };

/* Adds a flag for each parameter of a schema with has() to the first k flags of a table; returns the new
 * number. */
size_t ds_flags_add(ds_flag *flags, size_t k, const ds_param *const *schema, int (*has)(const ds_param *p),
                    ds_flag_take take);

/* Prints the help line of the flag of a parameter to stdout. */
void ds_flag_describe(const ds_param *p);

/* Reads the flags of a table to their end, or to --help. `most` as in ds_arguments_check(); negative =
 * without that check. Returns 0, -1 after printing a usage text, or an exit status. */
int ds_arguments_read(int argc, char **argv, const char *command, const ds_flag *flags, int most,
                      void *request, ds_error *e);

/* For take(): the number of `value` among the `count` words of `known`, or a line with the nearest one. */
int ds_choice_read(const char *name, const char *value, const char *const *known, int count, int *to,
                   ds_error *e);

/* Refuses any argument that is left. Returns 0, or DS_EXIT_USAGE. */
int ds_arguments_end(int argc, char **argv, const char *command, ds_error *e);

#endif
