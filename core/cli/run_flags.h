/* SPDX-License-Identifier: Apache-2.0 */
/* run_flags.h - the flags of `dshost run` and `dshost resume`: every setting of [run] is a flag, with '-' for
 * '_'. */
#ifndef DS_CLI_RUN_FLAGS_H
#define DS_CLI_RUN_FLAGS_H

#include <diffsim/plugin.h>
#include <jansson.h>

#include "config/settings.h"

typedef struct ds_run_flags {
    ds_settings settings; /* to be cleared by the caller, also after a failure */
    int json;
    int repair; /* of a resumed run */
    int help;
} ds_run_flags;

/* Reads the command line up to its end. With `resume`, only the settings that a resumed run takes, and one
 * argument, the folder, which goes to *folder. */
int ds_run_flags_read(int argc, char **argv, int resume, ds_run_flags *out, const char **folder, ds_error *e);

/* Takes --set, --config or a flag of [run] for a ds_settings (arguments.h). */
int ds_run_flag_take(void *settings, const char *name, const char *value, ds_error *e);

/* Refuses a --set of a section that the command does not use; `used` has bit k for section k. */
int ds_run_sets_check(const ds_settings *settings, const char *command, unsigned used, ds_error *e);

/* Takes --trust-plugin (evaluate/trust.h), a flag of the commands that run what a record names. */
int ds_trust_flag_take(void *request, const char *name, const char *value, ds_error *e);

/* Is this setting of [run] a flag of the commands that measure (landscape, gradients), too? */
int ds_run_flag_of_measures(const ds_param *p);

/* Prints one line per flag. */
void ds_run_flags_help(int resume);

/* Prints what a run leaves on stdout: its folder, or its summary; nothing where there is no summary. Passes
 * `rc` on, or the failure of stdout. */
int ds_run_print(int json, const char *folder, const json_t *summary, int rc, ds_error *e);

#endif
