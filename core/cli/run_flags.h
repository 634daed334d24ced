/* SPDX-License-Identifier: Apache-2.0 */
/* run_flags.h - flags of `dshost run` and `dshost resume`: every setting of [run] is a flag, with '-' for
 * '_'. */
#ifndef DS_CLI_RUN_FLAGS_H
#define DS_CLI_RUN_FLAGS_H

#include <diffsim/plugin.h>
#include <jansson.h>

#include "config/settings.h"

typedef struct ds_run_flags {
    ds_settings settings; /* the caller clears it, also after a failure */
    int json;
    int repair; /* for a resumed run */
    int help;
} ds_run_flags;

/* Reads the whole command line. With `resume`, accepts only the settings that a resumed run takes, and one
 * argument, the folder, which goes to *folder. */
int ds_run_flags_read(int argc, char **argv, int resume, ds_run_flags *out, const char **folder, ds_error *e);

/* A ds_flag_take for --set, --config and flags of [run]; `settings` is a ds_settings. */
int ds_run_flag_take(void *settings, const char *name, const char *value, ds_error *e);

/* Refuses a --set of a section that the command does not use; `used` has bit k for section k. */
int ds_run_sets_check(const ds_settings *settings, const char *command, unsigned used, ds_error *e);

/* A ds_flag_take for --trust-plugin (evaluate/trust.h), of commands that run what a record names. */
int ds_trust_flag_take(void *request, const char *name, const char *value, ds_error *e);

/* Is this setting of [run] also a flag of the measuring commands (landscape, gradients)? */
int ds_run_flag_of_measures(const ds_param *p);

/* Prints one line per flag. */
void ds_run_flags_help(int resume);

/* Prints the result of a run to stdout: its folder, or its summary as JSON; nothing without a summary.
 * Returns `rc`, or the failure of stdout. */
int ds_run_print(int json, const char *folder, const json_t *summary, int rc, ds_error *e);

#endif
